// Package text finds what a model file says about text and joins it: the
// tokenizer, the chat template, the tokens that end an answer, and the
// sampling its makers recommend.
//
//	Hugging Face folder                    GGUF
//	tokenizer.json                         tokenizer.ggml.*
//	tokenizer_config.json (chat_template)  tokenizer.chat_template
//	chat_template.jinja                    general.sampling.*
//	generation_config.json                 tokenizer.ggml.eos_token_id, eot …
//
// Read text.go first.
package text
