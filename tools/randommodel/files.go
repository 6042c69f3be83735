package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"atenia/tensor"
)

// Tokens: three special ones, then the bytes.
const (
	pad    = 0
	bos    = 1
	eos    = 2
	first  = 3
	tokens = first + 256
)

var specials = [...]string{pad: "<pad>", bos: "<s>", eos: "</s>"}

// write writes the model's files into dir.
func write(dir string, s shapes, d tensor.DType, seed uint64) error {
	s, err := s.complete()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, v := range map[string]any{
		"config.json": s.config(d), "tokenizer.json": tokenizer(),
		"tokenizer_config.json": object{"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": specials[pad], "bos_token": specials[bos], "eos_token": specials[eos]},
	} {
		b, err := json.MarshalIndent(v, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), append(b, '\n'), 0o666); err != nil {
			return err
		}
	}
	f, err := os.Create(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	return errors.Join(writeWeights(w, s.weights(), d, seed), w.Flush(), f.Close())
}

type object map[string]any

func (s shapes) config(d tensor.DType) object {
	arch, name := "LlamaForCausalLM", "bfloat16"
	if s.Family == "qwen2" {
		arch = "Qwen2ForCausalLM"
	}
	switch s.Family {
	case "qwen3_moe":
		arch = "Qwen3MoeForCausalLM"
	case "mixtral":
		arch = "MixtralForCausalLM"
	}
	if d == tensor.F16 {
		name = "float16"
	}
	o := object{
		"architectures": []string{arch}, "model_type": s.Family, "torch_dtype": name, "hidden_act": "silu",
		"hidden_size": s.Hidden, "num_hidden_layers": s.Layers, "num_attention_heads": s.Heads, "num_key_value_heads": s.KV,
		"intermediate_size": s.FFN, "vocab_size": s.Vocab, "max_position_embeddings": s.Context,
		"rope_theta": s.Theta, "rms_norm_eps": s.Eps, "tie_word_embeddings": s.Tied,
		"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad,
	}
	if s.mixture() {
		o["num_experts_per_tok"] = s.Chosen
		if s.Family == "mixtral" {
			o["num_local_experts"], o["intermediate_size"] = s.Experts, s.Width
		} else {
			o["num_experts"], o["moe_intermediate_size"], o["norm_topk_prob"], o["head_dim"] = s.Experts, s.Width, true, s.Hidden/s.Heads
		}
	}
	return o
}

// tokenizer is a byte-level tokenizer without merges: a token is a byte.
func tokenizer() object {
	vocab := object{}
	var added []object
	for id, s := range specials {
		vocab[s] = id
		added = append(added, object{"id": id, "content": s, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true})
	}
	for b, s := range byteTexts() {
		vocab[s] = first + b
	}
	bytes := func(regex bool) object {
		return object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": regex}
	}
	return object{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": nil,
		"pre_tokenizer": bytes(true), "post_processor": nil, "decoder": bytes(true),
		"model": object{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": vocab, "merges": []string{},
		},
	}
}

// byteTexts returns the characters by which byte-level vocabularies write
// bytes: printable ones of Latin-1 themselves, the others from U+0100 on, in
// order (bytes_to_unicode of GPT-2).
func byteTexts() (texts [256]string) {
	next := rune(256)
	for b := range texts {
		c := rune(b)
		if !strconv.IsPrint(c) || c == ' ' || c == '\u00ad' {
			c = next
			next++
		}
		texts[b] = string(c)
	}
	return texts
}
