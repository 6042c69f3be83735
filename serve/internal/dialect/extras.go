package dialect

// What other servers call their sampling and the forms of an answer: vLLM's and llama-server's
// names, in every dialect.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"atenia"
	"atenia/serve/internal/host"
)

// Extras are fields that the body of a request embeds, or its options. Those that no row of
// [host.Unbuilt] fills are of [extras.into].
type extras struct {
	MinTokens      *int     `json:"min_tokens"`
	StopIDs        []int32  `json:"stop_token_ids"`
	XTCProbability *float32 `json:"xtc_probability"`
	XTCThreshold   *float32 `json:"xtc_threshold"`
	DRYMultiplier  *float32 `json:"dry_multiplier"`
	DRYBase        *float32 `json:"dry_base"`
	DRYLength      *int     `json:"dry_allowed_length"`
	DRYLast        *int     `json:"dry_penalty_last_n"`

	DRYBreakers   []string        `json:"dry_sequence_breakers"` // nil = llama.cpp's
	Samplers      samplers        `json:"samplers"`
	JSONSchema    json.RawMessage `json:"json_schema"` // llama-server's
	GuidedJSON    json.RawMessage `json:"guided_json"`
	GuidedRegex   string          `json:"guided_regex"`
	GuidedChoice  []string        `json:"guided_choice"`
	GuidedGrammar string          `json:"guided_grammar"`
	Structured    *structured     `json:"structured_outputs"`
	host.Unbuilt
}

// structured is vLLM's newer name of the guided fields.
type structured struct {
	JSON    json.RawMessage `json:"json"`
	Regex   string          `json:"regex"`
	Choice  []string        `json:"choice"`
	Grammar string          `json:"grammar"`
	Object  bool            `json:"json_object"`
}

// samplers are the stages of sampling in order, by llama.cpp's names: a list, or a text of names with
// ";" between them.
type samplers []string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *samplers) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		var text string
		err := json.Unmarshal(b, &text)
		*s = strings.Split(text, ";")
		return err
	}
	return json.Unmarshal(b, (*[]string)(s))
}

// stageNames are llama.cpp's names that are others.
var stageNames = map[string]string{"top_k": "top-k", "typ_p": "typical", "typical_p": "typical", "top_p": "top-p", "min_p": "min-p"}

// into sets options by the fields that need more than a row of the table. at goes before the
// names of fields in errors.
func (x *extras) into(o *atenia.Options, m *atenia.Model, at string) error {
	for i, name := range x.Samplers {
		if plain := stageNames[name]; plain != "" {
			name = plain
		}
		st, err := atenia.ParseStage(name)
		if err != nil {
			return host.Invalid(at+"samplers", "%ssamplers[%d]: %v", at, i, err)
		}
		o.Sampling.Order = append(o.Sampling.Order, st)
	}
	if d := &o.Sampling.DRY; d.Multiplier > 0 {
		if x.DRYLast != nil && *x.DRYLast == 0 { // llama.cpp's 0 looks at no tokens, ours at all
			d.Multiplier = 0
		}
		t, err := m.Tokenizer()
		if err != nil {
			return err
		}
		if len(x.DRYBreakers) > mostStops {
			return host.Invalid(at+"dry_sequence_breakers", "%sdry_sequence_breakers has %d texts, at most %d", at, len(x.DRYBreakers), mostStops)
		}
		d.Breakers = t.Breakers(x.DRYBreakers)
	}
	return x.form(o, at)
}

// form gives the answer the form that one of several fields asks for.
func (x *extras) form(o *atenia.Options, at string) error {
	s := x.Structured
	if s == nil {
		s = &structured{}
	}
	given := func(b json.RawMessage) bool { return len(b) > 0 && !bytes.Equal(b, []byte("null")) }
	if s.Grammar != "" && o.Grammar == s.Grammar { // of the same name as a field of bodies
		o.Grammar = ""
	}
	var form *answerForm
	if o.Schema != nil || o.Grammar != "" {
		form = &answerForm{name: "another field"}
	}
	for _, f := range []struct {
		name string
		on   bool
		answerForm
	}{
		{"json_schema", given(x.JSONSchema), answerForm{schema: x.JSONSchema}},
		{"guided_json", given(x.GuidedJSON), answerForm{schema: x.GuidedJSON}},
		{"guided_regex", x.GuidedRegex != "", answerForm{regex: x.GuidedRegex}},
		{"guided_choice", x.GuidedChoice != nil, answerForm{choice: x.GuidedChoice}},
		{"guided_grammar", x.GuidedGrammar != "", answerForm{grammar: x.GuidedGrammar}},
		{"structured_outputs.json", given(s.JSON), answerForm{schema: s.JSON}},
		{"structured_outputs.json_object", s.Object, answerForm{schema: json.RawMessage(`{"type":"object"}`)}},
		{"structured_outputs.regex", s.Regex != "", answerForm{regex: s.Regex}},
		{"structured_outputs.choice", s.Choice != nil, answerForm{choice: s.Choice}},
		{"structured_outputs.grammar", s.Grammar != "", answerForm{grammar: s.Grammar}},
	} {
		if !f.on {
			continue
		}
		if form != nil {
			return host.Invalid(at+f.name, "%s%s and %s both say which form the answer has: leave one", at, f.name, form.name)
		}
		f.answerForm.name = f.name
		form = &f.answerForm
	}
	if form == nil || form.name == "another field" {
		return nil
	}
	return form.into(o, at)
}

// An answerForm is what an answer must be: JSON of a schema, a text of a grammar or of a regular
// expression, or one of some texts.
type answerForm struct {
	name           string // of the field
	schema         json.RawMessage
	grammar, regex string
	choice         []string
}

// mostChoice is how many texts an answer may be one of.
const mostChoice = 4096

func (f *answerForm) into(o *atenia.Options, at string) error {
	switch {
	case f.schema != nil:
		o.Schema = f.schema
		if len(o.Schema) > 0 && o.Schema[0] == '"' { // vLLM takes a schema that is a text
			var text string
			if err := json.Unmarshal(f.schema, &text); err != nil {
				return err
			}
			o.Schema = json.RawMessage(text)
		}
	case f.grammar != "":
		o.Grammar = f.grammar
	case f.regex != "":
		g, err := atenia.RegexGrammar(f.regex)
		if err != nil {
			return host.Invalid(at+f.name, "%s%s: %v", at, f.name, err)
		}
		o.Grammar = g
	case len(f.choice) == 0 || len(f.choice) > mostChoice:
		return host.Invalid(at+f.name, "%s%s has %d texts, want 1 to %d", at, f.name, len(f.choice), mostChoice)
	default:
		texts := make([]string, len(f.choice))
		for i, c := range f.choice {
			texts[i] = gbnf(c)
		}
		o.Grammar = "root ::= " + strings.Join(texts, " | ")
	}
	return nil
}

// gbnf returns a text as it is written in a grammar.
func gbnf(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ':
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
