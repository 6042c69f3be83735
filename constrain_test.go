package atenia_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden/await"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// randomSchema returns a schema, with references to definition d, which is
// recursive, at most depth deep.
func randomSchema(r *rand.Rand, depth int) string {
	if depth == 0 {
		return [...]string{
			`{"type":"boolean"}`, `{"type":"null"}`, `{"type":"integer"}`, `{"type":"number"}`, `{"type":"string"}`,
			`{"enum":["red",1,null,[true],{"a":"é\n"}]}`, `{"const":"fixed \"text\""}`, `true`, `{}`,
			`{"type":"string","format":"date"}`, `{"type":"string","format":"date-time"}`, `{"type":"string","format":"uuid"}`,
			`{"type":"string","format":"time"}`, `{"type":"string","format":"ipv4"}`, `{"type":"string","format":"email"}`, `{"type":"string","format":"hostname"}`,
			`{"type":"string","format":"duration"}`, `{"type":"string","format":"uri"}`, `{"type":"string","format":"ipv6"}`,
			`{"type":"string","pattern":"^[A-Z]{2}[0-9]+(-x|é)?$"}`, `{"type":"string","pattern":"ab?c"}`, `{"$ref":"#/$defs/d"}`,
			fmt.Sprintf(`{"type":"integer","minimum":%d,"exclusiveMaximum":%d}`, r.IntN(200)-150, r.IntN(3000)+60),
			fmt.Sprintf(`{"type":"number","minimum":%.2f,"maximum":%.3f}`, float64(r.IntN(2000)-1000)/100, 10+float64(r.IntN(5000))/1000),
			fmt.Sprintf(`{"type":"number","exclusiveMinimum":0.0%d,"exclusiveMaximum":0.%d}`, 1+r.IntN(400), 5+r.IntN(4)),
			fmt.Sprintf(`{"type":["string","null"],"minLength":%d,"maxLength":%d}`, r.IntN(6), 6+r.IntN(20)),
		}[r.IntN(26)]
	}
	sub := func() string { return randomSchema(r, depth-1-r.IntN(depth)) }
	switch r.IntN(7) {
	case 0:
		least := r.IntN(3)
		return fmt.Sprintf(`{"type":"array","items":%s,"minItems":%d,"maxItems":%d}`, sub(), least, least+r.IntN(4))
	case 1:
		return fmt.Sprintf(`{"type":"array","prefixItems":[%s,%s],"items":%s,"minItems":%d}`, sub(), sub(), sub(), r.IntN(4))
	case 2:
		return fmt.Sprintf(`{"anyOf":[%s,%s]}`, sub(), sub())
	case 3:
		return fmt.Sprintf(`{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":%s},"required":["kind"]},{"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]}]}`, sub())
	case 4:
		return fmt.Sprintf(`{"allOf":[{"type":"object","properties":{"p":%s},"required":["p"]},{"properties":{"q":%s},"additionalProperties":true}]}`, sub(), sub())
	}
	var props, required []string
	for i := range 1 + r.IntN(5) {
		name := strconv.Quote(fmt.Sprintf([...]string{"p%d", "name é %d", "a/b~%d", "quo\"te%d"}[r.IntN(4)], i))
		props = append(props, name+":"+sub())
		if r.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	extra := [...]string{"", `,"additionalProperties":false`, `,"additionalProperties":{"type":"integer"}`}[r.IntN(3)]
	return fmt.Sprintf(`{"type":"object","properties":{%s},"required":[%s]%s}`, strings.Join(props, ","), strings.Join(required, ","), extra)
}

// TestSchemaAnswers generates answers for random schemas at temperature 1.5:
// each ends by itself and is valid by a judge that is not ours. ATENIA_SCHEMAS is
// the number of schemas.
func TestSchemaAnswers(t *testing.T) {
	m, err := atenia.Open(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	n := 15
	if await.Long() {
		n = 60
	}
	if s := os.Getenv("ATENIA_SCHEMAS"); s != "" {
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 17))
		schema := randomSchema(r, 1+r.IntN(3))
		if schema == "true" {
			schema = "{}"
		}
		schema = schema[:len(schema)-1]
		if schema != "{" {
			schema += ","
		}
		schema += `"$defs":{"d":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/d"}},"required":["v"],"additionalProperties":false}}}`
		var text strings.Builder
		finish := ""
		p := atenia.Prompt{Text: "Once upon a time", Options: atenia.Options{MaxTokens: 300 + r.IntN(200), Schema: json.RawMessage(schema),
			Sampling: atenia.Sampling{Temperature: 1.5, Seed: seed}}}
		for tok, err := range m.Generate(t.Context(), p) {
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, schema)
			}
			text.WriteString(tok.Text)
			finish = tok.Finish
		}
		if finish != "stop" {
			t.Errorf("seed %d: ended with %q: %s\n%s", seed, finish, text.String(), schema)
			continue
		}
		if err := judge(schema, text.String()); err != nil {
			t.Errorf("seed %d: %v\n%s\n%s", seed, err, text.String(), schema)
		}
	}
}

// judge validates an answer.
func judge(schema, answer string) error {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return err
	}
	if err := c.AddResource("schema.json", s); err != nil {
		return err
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(answer))
	if err != nil {
		return err
	}
	return compiled.Validate(v)
}

// TestGrammarAnswers: GBNF, greedy, is followed too, and errors come first.
func TestGrammarAnswers(t *testing.T) {
	m, err := atenia.Open(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ask := func(o atenia.Options) (string, string, error) {
		var b strings.Builder
		for tok, err := range m.Generate(t.Context(), atenia.Prompt{Text: "Once upon a time", Options: o}) {
			if err != nil {
				return "", "", err
			}
			b.WriteString(tok.Text)
			if tok.Finish != "" {
				return b.String(), tok.Finish, nil
			}
		}
		return b.String(), "", nil
	}
	text, finish, err := ask(atenia.Options{Grammar: `root ::= "yes, " [a-z]{3,9} | "no"`, MaxTokens: 20})
	if err != nil || finish != "stop" || text != "no" && !strings.HasPrefix(text, "yes, ") {
		t.Errorf("%q, %q, %v", text, finish, err)
	}
	if _, _, err := ask(atenia.Options{Grammar: "root ::= x"}); err == nil {
		t.Error("a grammar with a rule that is not there is accepted")
	} else if e, ok := errors.AsType[*atenia.GrammarError](err); !ok || e.Offset != 9 {
		t.Errorf("%T %v", err, err)
	}
	_, _, err = ask(atenia.Options{Schema: json.RawMessage(`{"properties":{"a":{"disallow":"null"}}}`)})
	if e, ok := errors.AsType[*atenia.GrammarError](err); !ok || e.Pointer != "/properties/a/disallow" {
		t.Errorf("%T %v", err, err)
	}
	_, _, err = ask(atenia.Options{Schema: json.RawMessage(`{"properties":{"a":{"enum":["` + strings.Repeat("x", 1<<19) + `"]}}}`)})
	if e, ok := errors.AsType[*atenia.GrammarError](err); !ok || e.Pointer != "/properties/a" || e.States == 0 || e.Took == 0 {
		t.Errorf("a schema of too many states: %T %v", err, err)
	}
	_, _, err = ask(atenia.Options{Schema: json.RawMessage(`{}`), Grammar: "root ::= \"a\""})
	if _, ok := errors.AsType[*atenia.ConfigError](err); !ok {
		t.Errorf("%T %v", err, err)
	}
}
