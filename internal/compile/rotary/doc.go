// Package rotary computes the inverse frequencies of rotary position
// embeddings.
//
//	Table        what a configuration says: base, scaling and its numbers
//	Frequencies  θ^(−2i/dim), scaled; each step rounded as the reference does
//	Divisors     the same as what plain frequencies are divided by (GGUF)
//
// The scalings are those of Hugging Face's modeling_rope_utils: linear,
// dynamic, llama3, yarn (arXiv 2309.00071) and longrope; and the two forms in
// which GGUF files state frequencies themselves.
package rotary
