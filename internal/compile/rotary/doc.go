// Package rotary computes the inverse frequencies of rotary position embeddings.
//
//	Table        the configuration: base, type of scaling and its numbers
//	Frequencies  θ^(−2i/dim), scaled; each step rounded as in the reference
//	Divisors     the same, as divisors of the plain frequencies (GGUF)
//
// The scalings are those of Hugging Face's modeling_rope_utils: linear, dynamic,
// llama3, yarn (arXiv 2309.00071) and longrope; and the two forms in which GGUF
// files state frequencies directly.
package rotary
