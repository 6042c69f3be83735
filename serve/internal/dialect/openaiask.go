package dialect

// The fields that shape an answer, which chat and completions share.

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"atenia"
	"atenia/serve/internal/host"
)

// An openaiAsk is what both chat and completions take. A nil field was not given: the model's
// own recommendation stands.
type openaiAsk struct {
	Model             string             `json:"model"`
	Temperature       *float32           `json:"temperature"`
	TopP              *float32           `json:"top_p"`
	TopK              *int               `json:"top_k"`
	MinP              *float32           `json:"min_p"`
	TypicalP          *float32           `json:"typical_p"`
	RepeatPenalty     *float32           `json:"repeat_penalty"`
	RepetitionPenalty *float32           `json:"repetition_penalty"` // vLLM's name of it
	PresencePenalty   *float32           `json:"presence_penalty"`
	FrequencyPenalty  *float32           `json:"frequency_penalty"`
	LogitBias         map[string]float32 `json:"logit_bias"`
	Seed              *int64             `json:"seed"`
	Stop              texts              `json:"stop"`
	N                 *int               `json:"n"`
	MaxTokens         *int               `json:"max_tokens"`
	IgnoreEnd         bool               `json:"ignore_eos"`
	Speculate         string             `json:"speculate"`
	Grammar           string             `json:"grammar"` // llama-server's: GBNF
	Stream            bool               `json:"stream"`
	Receipt           host.ReceiptWish   `json:"receipt"`
	ParallelCalls     *bool              `json:"parallel_tool_calls"` // false: one call an answer
	StreamOptions     *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	// LoRA is llama-server's: adapters by their numbers in GET /lora-adapters.
	LoRA []struct {
		ID    int     `json:"id"`
		Scale float32 `json:"scale"`
	} `json:"lora"`

	// Accepted because clients send them; they change nothing here.
	User             json.RawMessage `json:"user"`
	Store            json.RawMessage `json:"store"`
	Metadata         json.RawMessage `json:"metadata"`
	ServiceTier      json.RawMessage `json:"service_tier"`
	SafetyIdentifier json.RawMessage `json:"safety_identifier"`
	PromptCacheKey   json.RawMessage `json:"prompt_cache_key"`
	extras
}

// texts are a text or several.
type texts []string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *texts) UnmarshalJSON(b []byte) error {
	*t = nil
	if len(b) > 0 && b[0] == '"' {
		*t = texts{""}
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]string)(t))
}

const (
	mostChoices  = 64
	mostLogProbs = 20
	mostStops    = 64
	mostBiases   = 4096
	biasLimit    = 100 // OpenAI's: it bans a token, or leaves no other
)

// choices returns n.
func (a *openaiAsk) choices() (int, error) {
	if a.N == nil {
		return 1, nil
	}
	if *a.N < 1 || *a.N > mostChoices {
		return 0, host.Invalid("n", "n is %d, want 1 to %d", *a.N, mostChoices)
	}
	if a.Receipt != "" && *a.N > 1 {
		return 0, host.Unsupported("receipt", "receipt is of one answer, and n is %d: send further requests for further answers", *a.N)
	}
	return *a.N, nil
}

// options returns what a body says, of which a is a part, over what the model's makers recommend.
func (a *openaiAsk) options(m *atenia.Model, body any, logProbs int) (atenia.Options, error) {
	o := atenia.Options{Sampling: m.Sampling()}
	o.Sampling.Seed = rand.Uint64()
	if len(a.Stop) > mostStops {
		return o, host.Invalid("stop", "stop has %d texts, at most %d", len(a.Stop), mostStops)
	}
	if slices.Contains(a.Stop, "") {
		return o, host.Invalid("stop", "a stop text is empty")
	}
	if err := host.Fill(body, &o); err != nil {
		return o, err
	}
	if o.Sampling.LogProbs = logProbs; logProbs > mostLogProbs {
		return o, &atenia.ConfigError{Field: "LogProbs", Got: logProbs, Want: fmt.Sprintf("at most %d", mostLogProbs)}
	}
	var err error
	if o.Adapter, o.AdapterScale, err = a.adapter(m); err != nil {
		return o, err
	}
	if o.Sampling.LogitBias, err = a.bias(m.Vocab()); err != nil {
		return o, err
	}
	if err := a.extras.into(&o, m, ""); err != nil {
		return o, err
	}
	return o, o.Sampling.Validate()
}

// bias returns the ids of logit_bias with their values: -100 forbids a token.
func (a *openaiAsk) bias(vocab int) (map[int32]float32, error) {
	if len(a.LogitBias) > mostBiases {
		return nil, host.Invalid("logit_bias", "logit_bias has %d tokens, at most %d", len(a.LogitBias), mostBiases)
	}
	var out map[int32]float32
	for key, v := range a.LogitBias {
		id, err := strconv.ParseInt(key, 10, 32)
		if err != nil || id < 0 || id >= int64(vocab) {
			return nil, host.Invalid("logit_bias", "logit_bias has the token %q, want an id below %d", key, vocab)
		}
		if v < -biasLimit || v > biasLimit {
			return nil, host.Invalid("logit_bias", "logit_bias of token %d is %v, want -%d to %d", id, v, biasLimit, biasLimit)
		}
		if v == -biasLimit {
			v = float32(math.Inf(-1))
		}
		if out == nil {
			out = make(map[int32]float32, len(a.LogitBias))
		}
		out[int32(id)] = v
	}
	return out, nil
}

// includesUsage reports whether a stream ends with a chunk of usage.
func (a *openaiAsk) includesUsage() bool {
	return a.StreamOptions != nil && a.StreamOptions.IncludeUsage
}

// An openaiUsage counts tokens in OpenAI's form.
type openaiUsage struct {
	Prompt  int `json:"prompt_tokens"`
	Answer  int `json:"completion_tokens"`
	Total   int `json:"total_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	AnswerDetails struct {
		Accepted int `json:"accepted_prediction_tokens"`
		Rejected int `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

// openaiTotal sums usage. The prompt of n answers counts once.
func openaiTotal(answers []*openaiAnswer, n int) *openaiUsage {
	sum := &openaiUsage{}
	for each := range slices.Chunk(answers, n) {
		prompt, cached := 0, 0
		for _, a := range each {
			u := &a.said.Usage
			prompt, cached = max(prompt, u.Prompt), max(cached, u.Cached)
			sum.Answer += u.Answer
			sum.AnswerDetails.Accepted += u.Accepted
			sum.AnswerDetails.Rejected += u.Drafted - u.Accepted
		}
		sum.Prompt += prompt
		sum.Details.Cached += cached
	}
	sum.Total = sum.Prompt + sum.Answer
	return sum
}

// oneCall reports whether an answer may have no second call.
func (a *openaiAsk) oneCall() bool { return a.ParallelCalls != nil && !*a.ParallelCalls }
