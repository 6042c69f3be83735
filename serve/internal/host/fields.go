package host

// Fields of bodies: how clients call what the library is given, where each goes, and which are
// refused.

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"atenia"
)

// Unbuilt is the table of the fields that change an answer, of all dialects and of other servers.
// The tag "to" of a row names what [Fill] sets by it, a field of [atenia.Sampling], whose Validate
// has the bounds, or of [atenia.Options]; "of" names what else the library is given by it.
//
// The body of a request embeds Unbuilt, and so does what it has options in: a field that is built
// there comes before that of Unbuilt, and any other is refused by [Refuse], since a client that
// sends one must know that it does nothing.
type Unbuilt struct {
	Temperature       json.RawMessage `json:"temperature" to:"Temperature"`
	TopP              json.RawMessage `json:"top_p" to:"TopP"`
	TopK              json.RawMessage `json:"top_k" to:"TopK"`
	TopA              json.RawMessage `json:"top_a"`
	TopNSigma         json.RawMessage `json:"top_n_sigma"`
	TailFree          json.RawMessage `json:"tfs_z"`
	MinP              json.RawMessage `json:"min_p" to:"MinP"`
	TypicalP          json.RawMessage `json:"typical_p" to:"Typical"`
	DynaTempRange     json.RawMessage `json:"dynatemp_range"`
	RepeatPenalty     json.RawMessage `json:"repeat_penalty" to:"RepeatPenalty"`
	RepetitionPenalty json.RawMessage `json:"repetition_penalty" to:"RepeatPenalty"`
	RepeatLastN       json.RawMessage `json:"repeat_last_n" to:"RepeatLast"`
	PresencePenalty   json.RawMessage `json:"presence_penalty" to:"PresencePenalty"`
	FrequencyPenalty  json.RawMessage `json:"frequency_penalty" to:"FrequencyPenalty"`
	LengthPenalty     json.RawMessage `json:"length_penalty"`
	LogitBias         json.RawMessage `json:"logit_bias" of:"LogitBias"`
	Seed              json.RawMessage `json:"seed" to:"Seed"`
	Stop              json.RawMessage `json:"stop" to:"Stop"`
	StopIDs           json.RawMessage `json:"stop_token_ids" to:"StopIDs"`
	IgnoreEnd         json.RawMessage `json:"ignore_eos" to:"IgnoreEnd"`
	BadWords          json.RawMessage `json:"bad_words"`
	AllowedTokenIDs   json.RawMessage `json:"allowed_token_ids"`
	N                 json.RawMessage `json:"n"`
	BestOf            json.RawMessage `json:"best_of"`
	UseBeamSearch     json.RawMessage `json:"use_beam_search"`
	MinTokens         json.RawMessage `json:"min_tokens" to:"MinTokens"`
	TruncatePrompt    json.RawMessage `json:"truncate_prompt_tokens"`
	Grammar           json.RawMessage `json:"grammar" to:"Grammar"`
	ResponseFormat    json.RawMessage `json:"response_format" of:"Schema"`
	JSONSchema        json.RawMessage `json:"json_schema" of:"Schema"`
	Structured        json.RawMessage `json:"structured_outputs" of:"Schema"`
	GuidedJSON        json.RawMessage `json:"guided_json" of:"Schema"`
	GuidedRegex       json.RawMessage `json:"guided_regex" of:"Grammar"`
	GuidedChoice      json.RawMessage `json:"guided_choice" of:"Grammar"`
	GuidedGrammar     json.RawMessage `json:"guided_grammar" of:"Grammar"`
	GuidedBackend     json.RawMessage `json:"guided_decoding_backend"`
	GuidedSpace       json.RawMessage `json:"guided_whitespace_pattern"`
	DRYMultiplier     json.RawMessage `json:"dry_multiplier" to:"DRY.Multiplier"`
	DRYBase           json.RawMessage `json:"dry_base" to:"DRY.Base"`
	DRYLength         json.RawMessage `json:"dry_allowed_length" to:"DRY.AllowedLength"`
	DRYLast           json.RawMessage `json:"dry_penalty_last_n" to:"DRY.Range"`
	DRYBreakers       json.RawMessage `json:"dry_sequence_breakers"`
	XTCProbability    json.RawMessage `json:"xtc_probability" to:"XTCProbability"`
	XTCThreshold      json.RawMessage `json:"xtc_threshold" to:"XTCThreshold"`
	Mirostat          json.RawMessage `json:"mirostat"`
	Samplers          json.RawMessage `json:"samplers"`
	TimeLimit         json.RawMessage `json:"t_max_predict_ms"`
	MirostatTau       json.RawMessage `json:"mirostat_tau" to:"Mirostat.Tau"`
	MirostatEta       json.RawMessage `json:"mirostat_eta" to:"Mirostat.Eta"`
}

// A row says that clients call a field of the library by a name.
type row struct {
	name, of string
	fill     bool // by [Fill]
	least    int  // that may be sent; 0 = the library says
}

// rows are the whole table: the fields of [Unbuilt], and those that a dialect without them
// ignores. Of several names of one field the first counts that was sent, or else the first that
// the dialect has.
var rows = slices.Concat(unbuiltRows(),
	named("Stop", true, 0, "stop_sequences"), named("Speculate", true, 0, "speculate"),
	named("MaxTokens", true, 1, "max_completion_tokens", "max_output_tokens", "max_tokens"), named("MaxTokens", true, 0, "num_predict", "n_predict"),
	named("LogProbs", false, 0, "top_logprobs", "logprobs"), named("AdapterScale", false, 0, "lora"), named("Schema", false, 0, "format"),
	named("Continue", false, 0, "continue_final_message", "messages"), named("MustCall", false, 0, "tool_choice"),
	named("Receipt", true, 0, "receipt"),
	named("Pooling", false, 0, "pooling"), named("Prompt", false, 0, "prompt"),
	named("messages", false, 0, "messages", "input", "prompt", "documents"), // what the model reads
)

func named(of string, fill bool, least int, names ...string) (list []row) {
	for _, name := range names {
		list = append(list, row{name, of, fill, least})
	}
	return list
}

func unbuiltRows() (list []row) {
	for i := range reflect.TypeFor[Unbuilt]().NumField() {
		tag := reflect.TypeFor[Unbuilt]().Field(i).Tag
		if to, of := tag.Get("to"), tag.Get("of"); to+of != "" {
			list = append(list, row{tag.Get("json"), to + of, to != "", 0})
		}
	}
	return list
}

// built calls visit with each field that a body has, but for those of [Unbuilt], and its name.
func built(body any, visit func(path, name string, f reflect.Value)) {
	walk(reflect.ValueOf(body), "", func(path string, f reflect.Value, of reflect.Type) {
		if of != reflect.TypeFor[Unbuilt]() {
			visit(path, path[strings.LastIndexByte(path, '.')+1:], f)
		}
	})
}

// Fill gives options what a body says in fields of the table; they keep what it leaves out. What
// is less than may be sent is a *[atenia.ConfigError].
func Fill(body any, o *atenia.Options) error {
	sent := map[string]reflect.Value{}
	built(body, func(_, name string, f reflect.Value) {
		if !f.IsZero() {
			sent[name] = reflect.Indirect(f)
		}
	})
	done := map[string]bool{}
	for _, r := range rows {
		v, ok := sent[r.name]
		if !ok || !r.fill || done[r.of] {
			continue
		}
		done[r.of] = true
		if r.least > 0 && v.Int() < int64(r.least) {
			return &atenia.ConfigError{Field: r.of, Got: int(v.Int()), Want: strconv.Itoa(r.least) + " or more"}
		}
		to := target(o, r.of)
		to.Set(v.Convert(to.Type()))
	}
	return nil
}

// target returns a field of options or of their sampling.
func target(o *atenia.Options, path string) reflect.Value {
	first, rest, nested := strings.Cut(path, ".")
	v := reflect.ValueOf(o).Elem().FieldByName(first)
	if !v.IsValid() {
		v = reflect.ValueOf(&o.Sampling).Elem().FieldByName(first)
	}
	if nested {
		v = v.FieldByName(rest)
	}
	return v
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
