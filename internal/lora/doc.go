// Package lora reads, makes, writes and merges low-rank adapters (Hu and
// others, arXiv 2106.09685) in the form of the library huggingface/peft.
//
//	adapter_config.json         r, lora_alpha, target_modules, use_rslora …   [Config]
//	adapter_model.safetensors   base_model.model.MODULE.lora_A.weight [r, in]
//	                            base_model.model.MODULE.lora_B.weight [out, r]  [Pair]
//
//	            y = W·x  +  scale · B·(A·x)        scale = alpha/r, or alpha/√r (rsLoRA)
//
//	[New]      pairs for the modules that [Targets] names: A at random, B zero
//	[Open]     a folder, whatever it holds: everything is checked
//	[Overlay]  an opened model reads W + scale·B·A in place of W, from a file beside it
//	[Merge]    a folder in which W + scale·B·A is written, of the type that W had
//
// What an adapter may have and this package does not compute is refused with
// [ErrUnsupported]: running a model without it would be another model.
package lora
