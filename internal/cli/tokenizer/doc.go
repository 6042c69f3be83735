// Package tokenizer is the command "atenia tokenizer", which makes tokenizers.
//
//	train   texts → tokenizer.json
package tokenizer
