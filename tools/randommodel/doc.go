// Command randommodel writes a model with random weights in the Hugging Face
// layout, for measurements at the size of real models:
//
//	go run -C tools ./randommodel -preset tinyllama-1.1b ../out
//	go run -C tools ./randommodel -hidden 512 -layers 6 -heads 8 -kv-heads 4 -ffn 1536 -vocab 4096 ../out
//	go run -C tools ./randommodel -preset qwen3-moe-1b ../out
//
// The same flags write the same bytes. Matrices have a deviation of one over
// the root of their columns, so that activations keep their size from layer to
// layer, and norms are one: logits are finite and differ from token to token.
// The tokenizer has a token for every byte.
//
// main.go reads the flags, model.go lists tensors, weights.go fills them,
// files.go writes the small files.
package main
