// Package text reads from a model file everything about text: the tokenizer, the
// chat template, the stop tokens, and the recommended sampling.
//
//	Hugging Face folder                    GGUF
//	tokenizer.json                         tokenizer.ggml.*
//	tokenizer_config.json (chat_template)  tokenizer.chat_template
//	chat_template.jinja                    general.sampling.*
//	generation_config.json                 tokenizer.ggml.eos_token_id, eot …
//
// Read text.go first.
package text
