package answer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
)

// A turn is an assistant's turn as a published template writes it.
type turn struct {
	Template string
	Marks    []string
	Prompt   string
	Turn     string

	Text, Reasoning string
	Calls           []call
}

type call struct {
	Name      string
	Arguments json.RawMessage
}

func turns(t testing.TB) []turn {
	data, err := os.ReadFile("testdata/turns.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []turn
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		var c turn
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	if len(all) < 200 {
		t.Fatalf("%d turns", len(all))
	}
	return all
}

var testTools = func() []Tool {
	parameters := json.RawMessage(`{"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "text": {"type": "string"},
		"n": {"type": "number"}, "ok": {"type": "boolean"}, "tags": {"type": "array"}, "o": {"type": "object"}}}`)
	return []Tool{{"get_weather", parameters}, {"make", parameters}, {"now", parameters}}
}()

// A reply collects events.
type reply struct {
	text, reasoning string
	calls           []call
	broken          int
}

func (r *reply) add(t testing.TB, events []Event) {
	for _, e := range events {
		r.text += e.Text
		r.reasoning += e.Reasoning
		if e.Call == nil {
			continue
		}
		switch {
		case e.Call.Name != "":
			if e.Call.Index != len(r.calls)+r.broken || e.Call.ID == "" {
				t.Fatalf("call %d %q after %d calls", e.Call.Index, e.Call.ID, len(r.calls))
			}
			r.calls = append(r.calls, call{Name: e.Call.Name})
		case e.Call.Index != len(r.calls)+r.broken-1:
			t.Fatalf("a part of call %d, of %d", e.Call.Index, len(r.calls))
		}
		last := &r.calls[len(r.calls)-1]
		last.Arguments = append(last.Arguments, e.Call.Arguments...)
		if e.Call.Broken {
			r.calls = r.calls[:len(r.calls)-1]
			r.broken++
		}
	}
}

// parse reads an answer in pieces.
func parse(t testing.TB, d *Dialect, o Options, pieces ...string) reply {
	p := New(d, o)
	var r reply
	for _, piece := range pieces {
		r.add(t, p.Write(piece))
	}
	r.add(t, p.Close())
	return r
}

func same(t testing.TB, a, b json.RawMessage) bool {
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Errorf("%s: %v", a, err)
		return false
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

// formats names what a dialect has.
func formats(d *Dialect) []string {
	if d.harmony {
		return []string{"harmony"}
	}
	var names []string
	for _, t := range d.thoughts {
		names = append(names, strings.TrimSpace(t.begin))
	}
	for _, s := range d.calls {
		names = append(names, s.name)
	}
	return names
}

func (c *turn) dialect() *Dialect { return Detect(strings.Join(c.Marks, "\n"), nil) }

// TestTurns reads the turns of published templates back, in two pieces cut at every
// place and byte by byte.
func TestTurns(t *testing.T) {
	for _, c := range turns(t) {
		d := c.dialect()
		o := Options{Tools: testTools, Prompt: c.Prompt}
		check := func(pieces ...string) bool {
			got := parse(t, d, o, pieces...)
			ok := strings.TrimSpace(got.text) == c.Text && got.reasoning == c.Reasoning && len(got.calls) == len(c.Calls) && got.broken == 0
			for i := range min(len(got.calls), len(c.Calls)) {
				ok = ok && got.calls[i].Name == c.Calls[i].Name && same(t, got.calls[i].Arguments, c.Calls[i].Arguments)
			}
			if !ok {
				t.Errorf("%s %v:\n%q after %q:\ngot  %q %q %s\nwant %q %q %s", c.Template, formats(d), pieces, c.Prompt, got.text, got.reasoning, got.calls, c.Text, c.Reasoning, c.Calls)
			}
			return ok
		}
		if !check(c.Turn) {
			continue
		}
		for i := range c.Turn {
			if !check(c.Turn[:i], c.Turn[i:]) {
				break
			}
		}
		check(strings.Split(c.Turn, "")...)
	}
}
