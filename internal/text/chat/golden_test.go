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
		if e.Kind == kindUndefined || e.Kind == kindSecurity {
			return string(e.Kind)
		}
		return "runtime"
	}
	return "untyped"
}

// render parses and renders. It terminates for any template, since the limits
// count all work.
func render(name, template string, c *Context) (r Result, err error) {
	t, err := Parse(name, template)
	if err != nil {
		return r, err
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
		t.Run(str(c, "name"), func(t *testing.T) {
			ctx, _ := c.Get("context")
			check(t, c, ctx.(*Map))
		})
	}
}

func str(c *Map, key string) string {
	v, _ := c.Get(key)
	s, _ := v.(string)
	return s
}

// controls are a control that traces marks, and one that traces words of all kinds, too.
func controls() []*Control {
	return []*Control{marked("<[|{/"), marked("<[|{/ three hello world user you type object string name get weather what is the in a b c content value key one 1 2 3 x y")}
}

// check renders one case and compares text, spans or the kind of error.
func check(t *testing.T, c, vars *Map) {
	t.Helper()
	got, err := render(str(c, "name"), str(c, "template"), contextOf(vars))
	want := str(c, "error_kind")
	if kind := kindOf(err); kind != want {
		t.Fatalf("error %v (%s), want kind %q %s", err, kind, want, str(c, "error"))
	}
	if err != nil {
		if want == "raise" && err.Error() != str(c, "error") {
			t.Fatalf("message %q, want %q", err, str(c, "error"))
		}
		for _, control := range controls() {
			traced := contextOf(vars)
			traced.Control = control
			if _, again := render(str(c, "name"), str(c, "template"), traced); again == nil || again.Error() != err.Error() {
				t.Errorf("traced: %v, want %v", again, err)
			}
		}
		return
	}
	if got.Text != str(c, "expected") {
		t.Errorf("got  %q\nwant %q", got.Text, str(c, "expected"))
	}
	var spans [][2]int
	if v, ok := c.Get("assistant"); ok {
		for _, s := range v.(*List).Items {
			p := s.(*List).Items
			spans = append(spans, [2]int{int(p[0].(int64)), int(p[1].(int64))})
		}
	}
	for _, control := range controls() {
		traced := contextOf(vars)
		traced.Control = control
		if again, err := render(str(c, "name"), str(c, "template"), traced); err != nil || again.Text != got.Text || !slices.Equal(again.Assistant, got.Assistant) {
			t.Errorf("traced: %q, %v, %v", again.Text, again.Assistant, err)
		}
	}
	if !slices.Equal(got.Assistant, spans) {
		t.Errorf("assistant %v, want %v", got.Assistant, spans)
	}
}

// TestLanguage holds the interpreter to Jinja 3.1.6 on Python 3.11, one
// construct of the language at a time; testdata/language.json was rendered
// there, in the environment that doc.go describes.
func TestLanguage(t *testing.T) {
	data, err := os.ReadFile("testdata/language.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	vars, _ := v.(*Map).Get("vars")
	cases, _ := v.(*Map).Get("cases")
	if len(cases.(*List).Items) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range cases.(*List).Items {
		t.Run(str(c.(*Map), "template"), func(t *testing.T) { check(t, c.(*Map), vars.(*Map)) })
	}
}
