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
	host.Unbuilt
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
	if s.NumPredict != nil && *s.NumPredict > 0 { // -1 and -2 are as much as fits
		o.MaxTokens = *s.NumPredict
	}
	var err error
	if o.Schema, err = in.schema(); err != nil {
		return err
	}
	o.Stop = s.Stop
	o.Sampling = s.sampling(m.sampling)
	if in.LogProbs {
		if in.TopLogProbs < 0 || in.TopLogProbs > mostLogProbs {
			return host.Invalid("top_logprobs", "top_logprobs: %d is not from 0 to %d", in.TopLogProbs, mostLogProbs)
		}
		o.Sampling.LogProbs = max(1, in.TopLogProbs)
	}
	return nil
}

// sampling returns base with what was asked for.
func (in *ollamaOptions) sampling(base atenia.Sampling) atenia.Sampling {
	s := base
	s.Seed = rand.Uint64()
	if in.Seed != nil && *in.Seed >= 0 { // -1 is a random one
		s.Seed = uint64(*in.Seed)
	}
	host.Set(&s.Temperature, in.Temperature)
	host.Set(&s.TopK, in.TopK)
	host.Set(&s.TopP, in.TopP)
	host.Set(&s.MinP, in.MinP)
	host.Set(&s.Typical, in.TypicalP)
	host.Set(&s.RepeatPenalty, in.RepeatPenalty)
	host.Set(&s.PresencePenalty, in.PresencePenalty)
	host.Set(&s.FrequencyPenalty, in.FrequencyPenalty)
	host.Set(&s.RepeatLast, in.RepeatLastN)
	if in.RepeatLastN != nil && *in.RepeatLastN == 0 { // Ollama's 0 looks at no tokens, ours at 64
		s.RepeatPenalty, s.PresencePenalty, s.FrequencyPenalty = 0, 0, 0
	}
	if in.Mirostat != nil && *in.Mirostat > 0 {
		s.Mirostat = atenia.Mirostat{Tau: 5} // llama.cpp's
		host.Set(&s.Mirostat.Tau, in.MirostatTau)
		host.Set(&s.Mirostat.Eta, in.MirostatEta)
	}
	return s
}
