package graph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"atenia/flow/graph"
	"atenia/internal/golden"
)

// everything is a plan with every kind of line and field, as text.
const everything = `graph bare heat=2.5 requires=gates requires=pdc +maker={"x":[1,"é"]}
node x Input :batches=2
node "two words" Gain ratio=4 delay=64 prefill=8 pdc=trim executor=cpu v2 :gain=[1 1 2: 0.5 1e-09] ++unit="dB" :thermo.heat=0.25 :on=true :kind="" +color=null
edge x.out -> "two words.in" delay=128 capacity=300 kind=prefill gates=0,3
edge x -> "two words.gain" channel=1 mode=mul scale=-0.5 +note={}
gate 3 tempo period=100 +label="g"
gate 4 host
ipls +by="hand"
stage
cohort Input x
stage +n=1
cohort Gain ratio=4 "two words" +k=2
`

func TestText(t *testing.T) {
	t.Parallel()
	p, err := graph.ParseText(everything)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.String(); got != everything {
		t.Errorf("reads back as\n%s", got)
	}
	n, e := p.Nodes[1], p.Edges[1]
	if n.Param("gain").Value.Data[1] != 1e-9 || *n.Param("kind").Text != "" || !*n.Param("on").Flag || e.Scale != -.5 || e.Channel != 1 || p.Root != "$" || n.Path != "$.nodes[1]" {
		t.Errorf("%+v\n%+v", n, e)
	}
}

func TestTextFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, path, says string }{
		{"", "line 1", "graph"}, {"node x Input", "line 1", "first line"}, {"graph\n\n# why\nknot x", "line 4", "not one of"}, {"graph\nnode x", "line 2", "word"},
		{"graph\nnode x Gain :gain=1x", "line 2", "not a number"}, {"graph\nnode x Gain speed=1", "line 2", "unknown field"}, {"graph\nedge x > y", "line 2", `"->"`},
		{"graph\ngate 3 sometimes", "line 2", "tempo"}, {"graph\nnode x Gain :m=[1 1 2: 1", "line 2", "word"}, {"graph\nnode x Gain ++a=1", "line 2", "without a parameter"}, {"graph\ncohort Gain x", "line 2", "stage"},
		{"graph\nnode x Gain ratio=3", "$.graph.nodes[0].oversample_ratio", "(line 2)"}, {"graph\nnode x Gain\nedge x -> y delay=-1", "$.graph.edges[0].delay_frames", "(line 3)"},
		{"graph\nnode x Gain :m=[1 2 1: 1]", "$.graph.nodes[0].params.m.data", "(line 2)"},
	} {
		_, err := graph.ParseText(c.text)
		if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Malformed || e.Path != c.path || !strings.Contains(e.Text, c.says) {
			t.Errorf("%q: %v, want %s and %q", c.text, err, c.path, c.says)
		}
	}
}

// TestTextCases takes the plans of golden graphs through text and back.
func TestTextCases(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct {
			Name string
			Plan json.RawMessage
		}
	}
	golden.JSON(t, filepath.Join(golden.Family(t, "flow"), "graph.json"), &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		p := parse(t, string(c.Plan))
		throughText(t, p)
	}
}

// throughText checks that a plan survives printing and parsing.
func throughText(t *testing.T, p *graph.Plan) {
	t.Helper()
	text := p.String()
	q, err := graph.ParseText(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	a, err := p.Encode()
	b, err2 := q.Encode()
	if err != nil || err2 != nil || !bytes.Equal(a, b) || q.String() != text {
		t.Fatalf("%v %v\n%s\n%s\n%s\n%s", err, err2, text, q.String(), a, b)
	}
}

// FuzzParseText requires a plan that survives printing and parsing, or a typed
// error.
func FuzzParseText(f *testing.F) {
	f.Add(everything)
	f.Add("graph\nnode x Input\nedge x -> x +a=[1,{}]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := graph.ParseText(text)
		if err != nil {
			if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Malformed && e.Path != "" {
				t.Fatalf("%v", err)
			}
			return
		}
		throughText(t, p)
	})
}
