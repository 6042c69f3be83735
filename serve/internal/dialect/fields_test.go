package dialect

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"atenia"
	"atenia/serve/internal/host"
)

// filled returns the fields of options and of their sampling that differ from those of none.
func filled(o atenia.Options) (names []string) {
	var look func(v reflect.Value, at string)
	look = func(v reflect.Value, at string) {
		for i := range v.NumField() {
			switch f, name := v.Field(i), v.Type().Field(i).Name; {
			case f.IsZero():
			case f.Kind() == reflect.Struct && name == "Sampling":
				look(f, at)
			case f.Kind() == reflect.Struct:
				look(f, at+name+".")
			default:
				names = append(names, at+name)
			}
		}
	}
	look(reflect.ValueOf(o), "")
	return names
}

// TestFields: what a client calls a field, in which dialect it is built and where it goes.
func TestFields(t *testing.T) {
	const want = `
temperature           chat Temperature, complete Temperature, respond Temperature, anthropic Temperature, ollama refused, options Temperature
top_p                 chat TopP, complete TopP, respond TopP, anthropic TopP, ollama refused, options TopP
top_k                 chat TopK, complete TopK, respond TopK, anthropic TopK, ollama refused, options TopK
min_p                 chat MinP, complete MinP, respond MinP, anthropic refused, ollama refused, options MinP
typical_p             chat Typical, complete Typical, respond Typical, anthropic refused, ollama refused, options Typical
repeat_penalty        chat RepeatPenalty, complete RepeatPenalty, respond RepeatPenalty, anthropic refused, ollama refused, options RepeatPenalty
repetition_penalty    chat RepeatPenalty, complete RepeatPenalty, respond RepeatPenalty, anthropic refused, ollama refused, options refused
repeat_last_n         chat refused, complete refused, respond refused, anthropic refused, ollama refused, options RepeatLast
presence_penalty      chat PresencePenalty, complete PresencePenalty, respond PresencePenalty, anthropic refused, ollama refused, options PresencePenalty
frequency_penalty     chat FrequencyPenalty, complete FrequencyPenalty, respond FrequencyPenalty, anthropic refused, ollama refused, options FrequencyPenalty
logit_bias            chat, complete, respond, anthropic refused, ollama refused, options refused
seed                  chat Seed, complete Seed, respond Seed, anthropic refused, ollama refused, options Seed
stop                  chat Stop, complete Stop, respond Stop, anthropic refused, ollama refused, options Stop
stop_sequences        chat, complete, respond, anthropic Stop, ollama, options
ignore_eos            chat IgnoreEnd, complete IgnoreEnd, respond IgnoreEnd, anthropic refused, ollama refused, options refused
grammar               chat Grammar, complete Grammar, respond Grammar, anthropic refused, ollama refused, options refused
speculate             chat Speculate, complete Speculate, respond Speculate, anthropic, ollama, options
mirostat              chat refused, complete refused, respond refused, anthropic refused, ollama refused, options
mirostat_tau          chat refused, complete refused, respond refused, anthropic refused, ollama refused, options Mirostat.Tau
mirostat_eta          chat refused, complete refused, respond refused, anthropic refused, ollama refused, options Mirostat.Eta
max_completion_tokens chat MaxTokens, complete, respond, anthropic, ollama, options
max_output_tokens     chat, complete, respond MaxTokens, anthropic, ollama, options
max_tokens            chat MaxTokens, complete MaxTokens, respond MaxTokens, anthropic MaxTokens, ollama, options
num_predict           chat, complete, respond, anthropic, ollama, options MaxTokens
top_logprobs          chat, complete, respond, anthropic, ollama, options
n                     chat, complete, respond, anthropic refused, ollama refused, options refused
min_tokens            chat MinTokens, complete MinTokens, respond MinTokens, anthropic MinTokens, ollama refused, options MinTokens
guided_json           chat, complete, respond, anthropic, ollama refused, options
dry_multiplier        chat DRY.Multiplier, complete DRY.Multiplier, respond DRY.Multiplier, anthropic DRY.Multiplier, ollama refused, options DRY.Multiplier
bad_words             chat refused, complete refused, respond refused, anthropic refused, ollama refused, options refused
`
	bodies := []struct {
		name, form string
		body       func() any
	}{
		{"chat", "{%s}", func() any { return new(openaiChatRequest) }},
		{"complete", "{%s}", func() any { return new(completeRequest) }},
		{"respond", "{%s}", func() any { return new(respondRequest) }},
		{"anthropic", "{%s}", func() any { return new(anthropicRequest) }},
		{"ollama", "{%s}", func() any { return new(ollamaChatRequest) }},
		{"options", `{"options": {%s}}`, func() any { return new(ollamaChatRequest) }},
	}
	for line := range strings.Lines(strings.TrimSpace(want)) {
		name, _, _ := strings.Cut(line, " ")
		var got []string
		for _, b := range bodies {
			var in any
			for _, value := range []string{"3", `"a"`, `["a"]`, "true", `{"1": 2}`} {
				in = b.body()
				if json.Unmarshal(fmt.Appendf(nil, b.form, fmt.Sprintf("%q: %s", name, value)), in) == nil {
					break
				}
			}
			var o atenia.Options
			says := b.name
			if host.Refuse(in) != nil {
				says += " refused"
			} else if err := host.Fill(in, &o); err != nil {
				t.Errorf("%s of %s: %v", name, b.name, err)
			}
			got = append(got, strings.Join(append([]string{says}, filled(o)...), " "))
		}
		if s := fmt.Sprintf("%-21s %s", name, strings.Join(got, ", ")); s != strings.TrimSpace(line) {
			t.Errorf("\n%s, want\n%s", s, line)
		}
	}
}

// TestFieldNames: of several names of one field the first of the table counts, what is not sent
// stays, and a number that is less than may be sent is an error by the name that was.
func TestFieldNames(t *testing.T) {
	for body, want := range map[string]string{
		`{"repetition_penalty": 1.5, "repeat_penalty": 1.25}`: "1.25 7 <nil>",
		`{"repetition_penalty": 1.5}`:                         "1.5 7 <nil>",
		`{"max_tokens": 5, "repeat_penalty": null}`:           "1 5 <nil>",
		`{"max_tokens": 0, "max_completion_tokens": 3}`:       "1 3 <nil>",
		`{"max_tokens": 3, "max_completion_tokens": 0}`:       "1 7 max_completion_tokens is 0, want 1 or more",
		`{"max_tokens": -2}`:                                  "1 7 max_tokens is -2, want 1 or more",
	} {
		in := parseOllama[openaiChatRequest](t, body)
		o := atenia.Options{MaxTokens: 7, Sampling: atenia.Sampling{RepeatPenalty: 1}}
		var said any
		if err := host.Fill(in, &o); err != nil {
			r := host.New(host.Config{}).Begin(t.Context(), "", "")
			r.Said = in
			said = r.Problem(err)
			r.End("test", err)
		}
		if got := fmt.Sprint(o.Sampling.RepeatPenalty, o.MaxTokens, " ", said); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}
