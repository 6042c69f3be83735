package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/text/token"

	"atenia/tensor"
)

// upOf returns a matrix of the first layer with rows as long as the model is wide.
func upOf(w map[string]tensor.View) tensor.View {
	if v, ok := w["blk.0.ffn_up_exps"]; ok {
		return v
	}
	return w["blk.0.ffn_up"]
}

// TestWrite wants a model that compiles, of the same bytes every time, whose
// weights have the deviation that keeps activations in size.
func TestWrite(t *testing.T) {
	for _, s := range []shapes{
		{Family: "llama", Hidden: 64, Layers: 2, Heads: 4, KV: 2, Vocab: 512, Context: 128},
		{Family: "qwen2", Hidden: 48, Layers: 1, Heads: 2, FFN: 100, Vocab: 300, Context: 64, Tied: true},
		{Family: "qwen3_moe", Hidden: 64, Layers: 2, Heads: 4, KV: 2, Experts: 6, Chosen: 2, Width: 32, Vocab: 300, Context: 64},
		{Family: "mixtral", Hidden: 64, Layers: 1, Heads: 4, KV: 2, FFN: 96, Experts: 4, Chosen: 2, Vocab: 300, Context: 64},
	} {
		for _, d := range []tensor.DType{tensor.BF16, tensor.F16} {
			dir := t.TempDir()
			if err := write(dir, s, d, 7); err != nil {
				t.Fatal(err)
			}
			f, err := file.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			m, err := compile.Compile(f, compile.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(m.Diagnostics) > 0 {
				t.Error(m.Diagnostics)
			}
			w, err := compile.Materialize(m, f)
			if err != nil {
				t.Fatal(err)
			}
			up, err := compile.WeightToF32(upOf(w))
			if err != nil {
				t.Fatal(err)
			}
			sum := 0.0
			x, _ := up.F32()
			for _, v := range x {
				sum += float64(v) * float64(v)
			}
			if v := sum / float64(len(x)) * float64(s.Hidden); v < 0.8 || v > 1.2 {
				t.Errorf("the variance is %.2f of what it should be", v)
			}
			if err := f.ReadVocabularies("tokenizer.json"); err != nil {
				t.Fatal(err)
			}
			tok, err := token.Load(f.Files["tokenizer.json"])
			if err != nil {
				t.Fatal(err)
			}
			const text = "é </s>\n"
			if ids := tok.Encode(text, true); len(ids) != 5 || tok.Decode(ids, false) != text {
				t.Errorf("%q becomes %v", text, ids)
			}
			if _, err := tok.ToGGUF(); err != nil {
				t.Error(err)
			}

			var again bytes.Buffer
			completed, _ := s.complete()
			if err := writeWeights(&again, completed.weights(), d, 7); err != nil {
				t.Fatal(err)
			}
			if b, err := os.ReadFile(filepath.Join(dir, "model.safetensors")); err != nil || !bytes.Equal(b, again.Bytes()) {
				t.Error("the second file differs", err)
			}
			if !json.Valid(f.Config) {
				t.Error("config.json is not JSON")
			}
		}
	}
}

func TestRefuses(t *testing.T) {
	for name, s := range map[string]shapes{
		"vocabulary": {Family: "llama", Hidden: 64, Layers: 2, Heads: 4, Vocab: 100, Context: 128},
		"heads":      {Family: "llama", Hidden: 65, Layers: 2, Heads: 4, Vocab: 300, Context: 128},
		"kv heads":   {Family: "llama", Hidden: 64, Layers: 2, Heads: 4, KV: 3, Vocab: 300, Context: 128},
		"family":     {Family: "gpt2", Hidden: 64, Layers: 2, Heads: 4, Vocab: 300, Context: 128},
	} {
		if err := write(t.TempDir(), s, tensor.BF16, 1); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
