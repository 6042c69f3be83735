// Package embedded holds the model that is part of the program, so that the
// first command works with nothing to download.
//
// story.gguf is a language model of 1.4 million parameters, trained from
// nothing by the program itself on text that package tools/internal/story makes. It
// tells little children's stories whose heroes keep their names, and answers
// a few simple chat messages.
//
//	network      llama: 4 layers, width 128, feed-forward 384, 4 heads of 32, own output matrix
//	context      512 positions, trained on texts of up to 320 tokens
//	tokenizer    byte-level BPE of 2048 tokens, Llama 3 split pattern, nothing before a text
//	ends with    <|endoftext|> after a text, <|im_end|> after a chat message
//	template     ChatML; a system message is not needed
//	sampling     temperature 0.8, top-p 0.95
//	weights      bfloat16
//	licence      Apache-2.0, as all of the project, the text too
//
// Its limits: it knows twenty names and copies others badly, and no words but
// those of its text. docs/embedded-model.md tells how it was made and what it
// is worth.
//
// The file is what the program's own writer makes of the trained folder:
//
//	atenia quantize examples/story/out internal/embedded/story.gguf --type bf16
//
// testdata/golden/story holds reference results of the same weights, and
// TestStory of package atenia compares with them.
package embedded
