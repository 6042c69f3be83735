// Package lora reads, creates, writes and merges low-rank adapters (Hu and
// others, arXiv 2106.09685) in the format of the library huggingface/peft.
//
//	adapter_config.json         r, lora_alpha, target_modules, use_rslora …   [Config]
//	adapter_model.safetensors   base_model.model.MODULE.lora_A.weight [r, in]
//	                            base_model.model.MODULE.lora_B.weight [out, r]  [Pair]
//
//	            y = W·x  +  scale · B·(A·x)        scale = alpha/r, or alpha/√r (rsLoRA)
//
//	[New]      pairs for the modules selected by [Targets]: A at random, B zero
//	[Open]     reads a directory, or a .gguf file of llama.cpp's, and checks everything
//	[Adapter.Bind]  what it adds to the products of a model whose weights stay as they are
//	[Overlay]  makes an opened model read W + scale·B·A instead of W, from a temporary file
//	[Merge]    writes a model with W + scale·B·A, in the type of W
//
// Unsupported features are rejected with [ErrUnsupported], because ignoring them
// would run a different model.
package lora
