package atenia_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"atenia"
	"atenia/internal/golden/await"
)

// TestMustCall: an answer that must be a call is one, of a tool that was named or of one
// of several, and its arguments are valid by a judge that is not ours, whatever the
// temperature.
func TestMustCall(t *testing.T) {
	m, err := atenia.Open(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r := rand.New(rand.NewPCG(8, 9))
	n := 12
	if await.Long() {
		n = 40
	}
	for i := range n {
		c := atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: "Tell me about a dog."}}, MustCall: atenia.AnyTool}
		schemas := map[string]string{}
		for k := range 1 + r.IntN(3) {
			name := fmt.Sprintf("tool_%d", k)
			schemas[name] = fmt.Sprintf(`{"type":"object","properties":{"x":%s,"y":%s},"required":["x"],"additionalProperties":false,"$defs":{"d":{"type":["boolean","array"],"items":{"$ref":"#/$defs/d"},"maxItems":2}}}`,
				randomSchema(r, r.IntN(2)), randomSchema(r, r.IntN(2)))
			c.Tools = append(c.Tools, atenia.Tool{Name: name, Parameters: []byte(schemas[name])})
		}
		if r.IntN(2) == 0 {
			c.MustCall = c.Tools[r.IntN(len(c.Tools))].Name
		}
		c.Sampling = atenia.Sampling{Temperature: 1.5, Seed: uint64(i)}
		c.MaxTokens = 600
		a, err := m.Reply(t.Context(), c)
		if err != nil {
			t.Fatalf("%v: %+v", err, schemas)
		}
		if len(a.ToolCalls) != 1 || a.Text != "" || a.Finish != "stop" {
			t.Errorf("%+v of %v", a, schemas)
			continue
		}
		call := a.ToolCalls[0]
		if schemas[call.Name] == "" || c.MustCall != atenia.AnyTool && call.Name != c.MustCall {
			t.Errorf("a call of %s, want %s", call.Name, c.MustCall)
		} else if err := judge(schemas[call.Name], string(call.Arguments)); err != nil {
			t.Errorf("%s of %s: %v", call.Arguments, schemas[call.Name], err)
		}
	}
}

// TestMustCallFaults: what cannot be enforced is refused before anything is generated.
func TestMustCallFaults(t *testing.T) {
	m, err := atenia.Open(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	base := atenia.Conversation{
		Messages: []atenia.Message{{Role: "user", Content: "Hello."}},
		Tools:    []atenia.Tool{{Name: "now"}, {Name: "not", Parameters: []byte(`{"not":{}}`)}},
		MustCall: "now", Options: atenia.Options{MaxTokens: 40},
	}
	for name, change := range map[string]func(c *atenia.Conversation){
		"an unknown tool": func(c *atenia.Conversation) { c.MustCall = "then" },
		"no tools":        func(c *atenia.Conversation) { c.Tools, c.MustCall = nil, atenia.AnyTool },
		"a schema":        func(c *atenia.Conversation) { c.Schema = []byte(`{}`) },
		"raw":             func(c *atenia.Conversation) { c.Raw = true },
	} {
		c := base
		c.Tools = slices.Clone(base.Tools)
		change(&c)
		if _, err := m.Reply(t.Context(), c); err == nil {
			t.Errorf("%s: no error", name)
		} else if e, ok := errors.AsType[*atenia.ConfigError](err); !ok || e.Field != "MustCall" {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := base
	c.MustCall = "not"
	if _, err := m.Reply(t.Context(), c); err == nil {
		t.Error("a schema that cannot be enforced is taken")
	} else if _, ok := errors.AsType[*atenia.GrammarError](err); !ok {
		t.Errorf("%T %v", err, err)
	}
	if a, err := m.Reply(t.Context(), base); err != nil || len(a.ToolCalls) != 1 || string(a.ToolCalls[0].Arguments) != "{}" {
		t.Errorf("%+v, %v", a, err)
	}
}
