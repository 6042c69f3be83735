package dialect

// The options of a request: how an answer is sampled and bounded.

import (
	"encoding/json"
	"math/rand/v2"

	"atenia"
	"atenia/serve/internal/host"
)

// ollamaOptions are Ollama's, by its names. nil is not given.
type ollamaOptions struct {
	NumPredict       *int      `json:"num_predict"`
	NumCtx           *int      `json:"num_ctx"`
	Seed             *int64    `json:"seed"`
	Stop             oneOrMore `json:"stop"`
	Temperature      *float32  `json:"temperature"`
	TopK             *int      `json:"top_k"`
	TopP             *float32  `json:"top_p"`
	MinP             *float32  `json:"min_p"`
	TypicalP         *float32  `json:"typical_p"`
	RepeatLastN      *int      `json:"repeat_last_n"`
	RepeatPenalty    *float32  `json:"repeat_penalty"`
	PresencePenalty  *float32  `json:"presence_penalty"`
	FrequencyPenalty *float32  `json:"frequency_penalty"`
	Mirostat         *int      `json:"mirostat"`
	MirostatTau      *float32  `json:"mirostat_tau"`
	MirostatEta      *float32  `json:"mirostat_eta"`

	// How a model is loaded is for the server's own flags to say: these are read and
	// ignored.
	NumKeep         json.RawMessage `json:"num_keep"`
	NumBatch        json.RawMessage `json:"num_batch"`
	NumGPU          json.RawMessage `json:"num_gpu"`
	MainGPU         json.RawMessage `json:"main_gpu"`
	NumThread       json.RawMessage `json:"num_thread"`
	NUMA            json.RawMessage `json:"numa"`
	LowVRAM         json.RawMessage `json:"low_vram"`
	F16KV           json.RawMessage `json:"f16_kv"`
	UseMmap         json.RawMessage `json:"use_mmap"`
	UseMlock        json.RawMessage `json:"use_mlock"`
	LogitsAll       json.RawMessage `json:"logits_all"`
	VocabOnly       json.RawMessage `json:"vocab_only"`
	EmbeddingOnly   json.RawMessage `json:"embedding_only"`
	PenalizeNewline json.RawMessage `json:"penalize_newline"`
	extras
}

// ollamaLimits is what a request may ask of a model.
type ollamaLimits struct {
	name     string
	context  int             // tokens of a sequence
	sampling atenia.Sampling // of a request that says nothing about it
}

// answer sets the options of an answer.
func (in *ollamaCommon) answer(o *atenia.Options, m ollamaLimits) error {
	s := &in.Options
	if s.NumCtx != nil && *s.NumCtx > m.context {
		return host.Invalid("num_ctx", "num_ctx: %d is more than the %d tokens that the model %q was opened with: start the server with a larger --ctx, or leave num_ctx out", *s.NumCtx, m.context, m.name)
	}
	var err error
	if o.Schema, err = in.schema(); err != nil {
		return err
	}
	o.Sampling, o.Sampling.Seed = m.sampling, rand.Uint64()
	if s.Seed != nil && *s.Seed < 0 { // a random one
		s.Seed = nil
	}
	if s.Mirostat == nil || *s.Mirostat <= 0 {
		s.MirostatTau, s.MirostatEta = nil, nil
	} else {
		o.Sampling.Mirostat = atenia.Mirostat{Tau: 5} // llama.cpp's
	}
	if err := host.Fill(in, o); err != nil {
		return err
	}
	o.MaxTokens = max(o.MaxTokens, 0)                // -1 and -2 are as much as fits
	if s.RepeatLastN != nil && *s.RepeatLastN == 0 { // Ollama's 0 looks at no tokens, ours at 64
		o.Sampling.RepeatPenalty, o.Sampling.PresencePenalty, o.Sampling.FrequencyPenalty = 0, 0, 0
	}
	if in.LogProbs {
		if in.TopLogProbs < 0 || in.TopLogProbs > mostLogProbs {
			return host.Invalid("top_logprobs", "top_logprobs: %d is not from 0 to %d", in.TopLogProbs, mostLogProbs)
		}
		o.Sampling.LogProbs = max(1, in.TopLogProbs)
	}
	return nil
}
