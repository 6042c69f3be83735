package host

// Fields of bodies: which are refused, and how they are called.

import (
	"encoding/json"
	"reflect"
	"strings"
)

// Unbuilt has the fields of all dialects and of other servers that would change an answer. The
// body of a request embeds it, and so does what it has options in: a field that is built there
// comes before that of Unbuilt, and any other is refused by [Refuse], since a client that sends
// one must know that it does nothing.
type Unbuilt struct {
	Temperature       json.RawMessage `json:"temperature"`
	TopP              json.RawMessage `json:"top_p"`
	TopK              json.RawMessage `json:"top_k"`
	TopA              json.RawMessage `json:"top_a"`
	TopNSigma         json.RawMessage `json:"top_n_sigma"`
	TailFree          json.RawMessage `json:"tfs_z"`
	MinP              json.RawMessage `json:"min_p"`
	TypicalP          json.RawMessage `json:"typical_p"`
	DynaTempRange     json.RawMessage `json:"dynatemp_range"`
	RepeatPenalty     json.RawMessage `json:"repeat_penalty"`
	RepetitionPenalty json.RawMessage `json:"repetition_penalty"`
	RepeatLastN       json.RawMessage `json:"repeat_last_n"`
	PresencePenalty   json.RawMessage `json:"presence_penalty"`
	FrequencyPenalty  json.RawMessage `json:"frequency_penalty"`
	LengthPenalty     json.RawMessage `json:"length_penalty"`
	LogitBias         json.RawMessage `json:"logit_bias"`
	Seed              json.RawMessage `json:"seed"`
	Stop              json.RawMessage `json:"stop"`
	StopIDs           json.RawMessage `json:"stop_token_ids"`
	IgnoreEnd         json.RawMessage `json:"ignore_eos"`
	BadWords          json.RawMessage `json:"bad_words"`
	AllowedTokenIDs   json.RawMessage `json:"allowed_token_ids"`
	N                 json.RawMessage `json:"n"`
	BestOf            json.RawMessage `json:"best_of"`
	UseBeamSearch     json.RawMessage `json:"use_beam_search"`
	MinTokens         json.RawMessage `json:"min_tokens"`
	TruncatePrompt    json.RawMessage `json:"truncate_prompt_tokens"`
	Grammar           json.RawMessage `json:"grammar"`
	ResponseFormat    json.RawMessage `json:"response_format"`
	JSONSchema        json.RawMessage `json:"json_schema"`
	Structured        json.RawMessage `json:"structured_outputs"`
	GuidedJSON        json.RawMessage `json:"guided_json"`
	GuidedRegex       json.RawMessage `json:"guided_regex"`
	GuidedChoice      json.RawMessage `json:"guided_choice"`
	GuidedGrammar     json.RawMessage `json:"guided_grammar"`
	GuidedBackend     json.RawMessage `json:"guided_decoding_backend"`
	GuidedSpace       json.RawMessage `json:"guided_whitespace_pattern"`
	DRYMultiplier     json.RawMessage `json:"dry_multiplier"`
	DRYBase           json.RawMessage `json:"dry_base"`
	DRYLength         json.RawMessage `json:"dry_allowed_length"`
	DRYLast           json.RawMessage `json:"dry_penalty_last_n"`
	DRYBreakers       json.RawMessage `json:"dry_sequence_breakers"`
	XTCProbability    json.RawMessage `json:"xtc_probability"`
	XTCThreshold      json.RawMessage `json:"xtc_threshold"`
	Mirostat          json.RawMessage `json:"mirostat"`
	MirostatTau       json.RawMessage `json:"mirostat_tau"`
	MirostatEta       json.RawMessage `json:"mirostat_eta"`
}

// Refuse refuses a body that was decoded to v if it has a field of [Unbuilt] that is not null.
// One answer, of one, is what there is.
func Refuse(v any) (err error) {
	walk(reflect.ValueOf(v), "", func(path string, f reflect.Value, of reflect.Type) {
		if err != nil || of != reflect.TypeFor[Unbuilt]() {
			return
		}
		value := string(f.Bytes())
		if single := path == "n" || path == "best_of"; value != "" && value != "null" && !(single && value == "1") {
			err = Unsupported(path, "%s is not supported: leave it out", path)
		}
	})
	return err
}

// walk calls visit with each field that a body may have, as far as its structs go: not into lists.
func walk(v reflect.Value, at string, visit func(path string, f reflect.Value, of reflect.Type)) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case f.Anonymous && name == "":
			walk(v.Field(i), at, visit)
		case f.IsExported() && name != "":
			visit(at+name, v.Field(i), v.Type())
			walk(v.Field(i), at+name+".", visit)
		}
	}
}
