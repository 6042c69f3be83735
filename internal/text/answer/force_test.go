package answer

import (
	"strings"
	"testing"
)

// TestForce: what an answer begins with, and what the model writes under the schema, are
// read as the call, in every dialect, with the name given and chosen.
func TestForce(t *testing.T) {
	own := 0
	for i := range syntaxes {
		s := &syntaxes[i]
		d := Detect(strings.Join(s.shown, " "), nil)
		for _, name := range []string{"", "get_weather"} {
			f := d.Force("<user>", name)
			written := `{"city":"São Paulo","days":[1,2]}`
			if !f.Arguments {
				written = `{"name":"get_weather","` + f.Key + `":` + written + `}`
			}
			if f.Begin != "" {
				own++
			}
			if at := strings.Index(f.Begin, "get_weather"); max(at, 0) != f.NameAt {
				t.Errorf("%s: the name stands at %d of %q, not %d", s.name, at, f.Begin, f.NameAt)
			}
			for _, cut := range []int{0, 1, 7, len(written) - 1} {
				p := New(f.Dialect, Options{Tools: []Tool{{Name: "get_weather"}}})
				var name, arguments, rest string
				take := func(events []Event) {
					for _, e := range events {
						rest += e.Text + e.Reasoning
						if e.Call != nil {
							name, arguments = name+e.Call.Name, arguments+e.Call.Arguments
						}
						if e.Call != nil && e.Call.Broken {
							t.Errorf("%s: broken", s.name)
						}
					}
				}
				for _, piece := range []string{f.Read, written[:cut], written[cut:]} {
					take(p.Write(piece))
				}
				take(p.Close())
				if name != "get_weather" || arguments != `{"city":"São Paulo","days":[1,2]}` || strings.TrimSpace(rest) != "" {
					t.Errorf("%s, begin %q: call %q %q, besides %q", s.name, f.Begin, name, arguments, rest)
				}
			}
		}
	}
	if own < 30 {
		t.Errorf("%d ways to begin", own)
	}
	d := Detect("<think></think><tool_call>", nil)
	if f := d.Force("<|im_start|>assistant\n<think>\n", "f"); f.Begin != "</think>\n\n<tool_call>\n" {
		t.Errorf("after a thought: %q", f.Begin)
	}
	if f := d.Force("<think>no</think>\n", "f"); f.Begin != "<tool_call>\n" {
		t.Errorf("after an ended thought: %q", f.Begin)
	}
}
