package chat

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"atenia/internal/golden"
)

// goldenNow is the time at which the cases were made.
var goldenNow = time.Date(2025, 3, 9, 14, 5, 6, 0, time.UTC)

// contextOf turns the context of a case into a Context.
func contextOf(m *Map) *Context {
	c := &Context{Vars: &Map{}, Now: goldenNow}
	for k, v := range m.All() {
		switch k {
		case "messages":
			c.Messages = v
		case "tools":
			c.Tools = v
		case "documents":
			c.Documents = v
		case "add_generation_prompt":
			c.AddGenerationPrompt = truth(v)
		default:
			c.Vars.Set(k, v)
		}
	}
	return c
}

// kindOf names an error as the cases do.
func kindOf(err error) string {
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[*RaiseError](err); ok {
		return "raise"
	}
	if _, ok := errors.AsType[*SyntaxError](err); ok {
		return "syntax"
	}
	if e, ok := errors.AsType[*RuntimeError](err); ok {
		if e.Kind == KindUndefined || e.Kind == KindSecurity {
			return string(e.Kind)
		}
		return "runtime"
	}
	return "untyped"
}

func render(name, template string, c *Context) (Result, error) {
	t, err := Parse(name, template)
	if err != nil {
		return Result{}, err
	}
	return t.Render(c)
}

func TestGoldenChat(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(golden.Family(t, "chat"), "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	cases := v.(*List).Items
	if len(cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases {
		c := c.(*Map)
		str := func(key string) string { v, _ := c.Get(key); s, _ := v.(string); return s }
		t.Run(str("name"), func(t *testing.T) {
			ctx, _ := c.Get("context")
			got, err := render(str("name"), str("template"), contextOf(ctx.(*Map)))
			if kind := kindOf(err); kind != str("error_kind") {
				t.Fatalf("error %v (%s), want kind %q with %q", err, kind, str("error_kind"), str("error"))
			}
			if err != nil {
				if str("error_kind") == "raise" && err.Error() != str("error") {
					t.Fatalf("message %q, want %q", err, str("error"))
				}
				return
			}
			if got.Text != str("expected") {
				t.Errorf("got  %q\nwant %q", got.Text, str("expected"))
			}
			var want [][2]int
			if spans, ok := c.Get("assistant"); ok {
				for _, s := range spans.(*List).Items {
					p := s.(*List).Items
					want = append(want, [2]int{int(p[0].(int64)), int(p[1].(int64))})
				}
			}
			if !slices.Equal(got.Assistant, want) {
				t.Errorf("assistant %v, want %v", got.Assistant, want)
			}
		})
	}
}
