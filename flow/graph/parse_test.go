package graph_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"atenia/flow/graph"
)

// seedNode and seedEdge are examples of the format's text.
const (
	seedNode = `{
  "name": "GainNode",
  "oversample_ratio": 4,
  "declared_delay": 64,
  "supports_v2": true,
  "params": {
    "gain": 0.5,
    "thermo.heat": 0.0
  }
}`
	seedEdge = `{
  "source": "Oscillator.A",
  "target": "Filter.B",
  "delay_frames": 128,
  "synchrony_gates": [0, 3]
}`
	seedGraph = `{
  "graph": {
    "descriptor_version": 2,
    "nodes": [
      {
        "name": "OversampledOsc",
        "oversample_ratio": 8,
        "declared_delay": 192,
        "supports_v2": true,
        "params": {
          "frequency_hz": 220.0,
          "thermo.heat": 0.0
        }
      }
    ],
    "edges": [
      {
        "source": "OversampledOsc.out",
        "target": "Downsample.in",
        "delay_frames": 192,
        "synchrony_gates": []
      }
    ]
  }
}`
)

func parse(t testing.TB, text string) *graph.Plan {
	t.Helper()
	p, err := graph.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%.400s", err, text)
	}
	return p
}

func TestParseExamples(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"nodes":[`+seedNode+`],"edges":[`+seedEdge+`]}`)
	n, e := p.Nodes[0], p.Edges[0]
	t.Run("A17", func(t *testing.T) {
		if n.Name != "GainNode" || n.Type != "GainNode" || n.OversampleRatio != 4 || n.DeclaredDelay != 64 || !n.SupportsV2 {
			t.Errorf("%+v", n)
		}
		for name, want := range map[string]float64{"gain": .5, "thermo.heat": 0} {
			if got := n.Param(name).Value; !reflect.DeepEqual(got, &graph.Tensor{B: 1, C: 1, F: 1, Data: []float64{want}}) {
				t.Errorf("%s: %v", name, got)
			}
		}
	})
	t.Run("A18", func(t *testing.T) {
		if e.Source != "Oscillator.A" || e.Target != "Filter.B" || e.DelayFrames != 128 || !reflect.DeepEqual(e.Gates, []int{0, 3}) {
			t.Errorf("%+v", e)
		}
	})
	t.Run("A23", func(t *testing.T) {
		for text, want := range map[string]bool{"": false, `,"supports_v2":false`: false, `,"supports_v2":true`: true} {
			if got := parse(t, `{"nodes":[{"name":"a"`+text+`}],"edges":[]}`).Nodes[0].SupportsV2; got != want {
				t.Errorf("%q: %v", text, got)
			}
		}
	})
}

// TestParseRatio is the table of oversampling ratios.
func TestParseRatio(t *testing.T) {
	t.Parallel()
	t.Run("A20", func(t *testing.T) {
		for _, ratio := range strings.Fields(`1 2 4 8 16 32 64 65536 0 3 6 -2 "4" 2.5 131072 4.0 4e0 null`) {
			_, err := graph.Parse([]byte(`{"graph":{"nodes":[{"name":"a"},{"name":"b","oversample_ratio":` + ratio + `}],"edges":[]}}`))
			if strings.Contains(" 1 2 4 8 16 32 64 65536 ", " "+ratio+" ") {
				if err != nil {
					t.Errorf("%s: %v", ratio, err)
				}
				continue
			}
			if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Malformed || e.Path != "$.graph.nodes[1].oversample_ratio" {
				t.Errorf("%s: %v", ratio, err)
			}
		}
	})
}

// TestVersions checks how versions are written and read.
func TestVersions(t *testing.T) {
	t.Parallel()
	written := func(t *testing.T, text string) float64 {
		t.Helper()
		out, err := parse(t, text).Encode()
		var g map[string]any
		if err == nil {
			err = json.Unmarshal(out, &g)
		}
		if err != nil {
			t.Fatal(err)
		}
		v, _ := g["descriptor_version"].(float64)
		return v
	}
	t.Run("A49", func(t *testing.T) {
		for _, c := range []struct {
			node, edge, rest string
			want             float64
		}{
			{"", "", "", 0},
			{`,"oversample_ratio":1,"declared_delay":0,"supports_v2":false`, `,"delay_frames":0,"synchrony_gates":[]`, `,"gates":[]`, 0},
			{`,"params":{"gain":1},"executor":"cpu","prefill_frames":4`, `,"scale":2,"mode":"add","channel":0`, "", 0},
			{`,"oversample_ratio":2`, "", "", 2}, {`,"declared_delay":1`, "", "", 2}, {`,"supports_v2":true`, "", "", 2}, {`,"pdc":"trim"`, "", "", 2},
			{"", `,"delay_frames":1`, "", 2}, {"", `,"synchrony_gates":[0]`, "", 2}, {"", `,"delay_kind":"hold"`, "", 2}, {"", `,"capacity_frames":1`, "", 2},
			{"", "", `,"gates":[{"id":1}]`, 2}, {"", "", `,"ipls":{"stages":[{"cohorts":[]}]}`, 2}, {"", "", `,"required_features":["pdc"]`, 2},
		} {
			text := `{"nodes":[{"name":"a"` + c.node + `}],"edges":[{"source":"a","target":"a"` + c.edge + `}]` + c.rest + `}`
			if got := written(t, text); got != c.want {
				t.Errorf("%s: version %v, want %v", text, got, c.want)
			}
		}
	})
	t.Run("A50", func(t *testing.T) {
		const unknown = `{"descriptor_version":2,"maker":{"x":[1,"é"]},"nodes":[{"name":"a","color":"red","params":{"m":{"shape":[1,1,1],"data":[2],"unit":"dB"}}}],"edges":[{"source":"a","target":"a","note":null}],"gates":[{"id":1,"label":"g"}],"ipls":{"by":"hand","stages":[{"n":1,"cohorts":[{"type":"a","nodes":["a"],"k":2}]}]}}`
		for _, text := range []string{unknown, `{"graph":` + unknown + `,"saved":"today"}`} {
			out, err := parse(t, text).Encode()
			for _, key := range []string{`"maker": {"x":[1,"é"]}`, `"color": "red"`, `"unit": "dB"`, `"note": null`, `"label": "g"`, `"by": "hand"`, `"n": 1`, `"k": 2`} {
				if err != nil || !bytes.Contains(out, []byte(key)) {
					t.Errorf("%s is lost: %v\n%s", key, err, out)
				}
			}
			if strings.Contains(text, "saved") != bytes.Contains(out, []byte(`"saved": "today"`)) {
				t.Errorf("keys beside the graph: %s", out)
			}
		}
		old := parse(t, `{"descriptor_version":1,"nodes":[{"name":"a","oversample_ratio":3,"declared_delay":"?"}],"edges":[{"source":"a","target":"a","delay_frames":-9}],"gates":7}`)
		if old.Edges[0].DelayFrames != 0 || old.Nodes[0].OversampleRatio != 1 || old.Nodes[0].DeclaredDelay != 0 || len(old.Gates) > 0 {
			t.Errorf("version 1: %+v", old)
		}
		newer := parse(t, `{"descriptor_version":3,"nodes":[],"edges":[],"required_features":["gates"]}`)
		if len(newer.Warnings) != 1 {
			t.Errorf("version 3: warnings %q", newer.Warnings)
		}
		_, err := graph.Parse([]byte(`{"descriptor_version":3,"nodes":[],"edges":[],"required_features":["gates","telepathy"]}`))
		if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Malformed || e.Path != "$.required_features[1]" {
			t.Errorf("an unknown feature: %v", err)
		}
	})
}

// TestAliases reads older names and writes the newer.
func TestAliases(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"nodes":[{"name":"a","oversample":8,"declared_delay_frames":5,"params":{"thermo.heat_param":0.25}}],"edges":[]}`)
	if n := p.Nodes[0]; n.OversampleRatio != 8 || n.DeclaredDelay != 5 || n.Param("thermo.heat").Value.Data[0] != .25 {
		t.Errorf("%+v", n)
	}
	if len(p.Warnings) != 4 { // three names, and the version
		t.Errorf("warnings %q", p.Warnings)
	}
	out, err := p.Encode()
	if err != nil || !bytes.Contains(out, []byte(`"oversample_ratio": 8, "declared_delay": 5, "params": {"thermo.heat": 0.25}`)) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestParseFaults checks paths of faults that are about JSON itself.
func TestParseFaults(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[`, 100000)
	for _, c := range []struct{ text, path, says string }{
		{"", "$", "byte 0"}, {" ", "$", "byte 1"}, {`{"nodes":[]`, "$", "byte 11"}, {`{"nodes":[],}`, "$", "byte 12"}, {`{"a":01}`, "$", "byte 6"},
		{`{"a":1.}`, "$", "byte 7"}, {`{"a":.5}`, "$", "byte 5"}, {`{"a":1e}`, "$", "byte 7"}, {`{"a":+1}`, "$", "byte 5"}, {`{"a":NaN}`, "$", "byte 5"},
		{"{\"a\":\"\n\"}", "$", "byte 6"}, {`{"a":"\x"}`, "$", "byte 7"}, {`{"a":"\ud800"}`, "$", "escape"}, {"{\"a\xff\":1}", "$", "UTF-8"}, {`{} {}`, "$", "byte 3"},
		{`{"a":` + deep, "$", "deeper"}, {`[]`, "$", "object"}, {`{"graph":[]}`, "$.graph", "object"}, {`{'a':1}`, "$", "double quotes"}, {`{"a" 1}`, "$", "colon"},
		{`{"nodes":[{"name":"a","params":{"thermo.heat":null}}],"edges":[]}`, `$.nodes[0].params["thermo.heat"]`, "finite"},
		{`{"nodes":[{"name":"a","params":{"gain":1e999}}],"edges":[]}`, `$.nodes[0].params.gain`, "finite"},
		{`{"nodes":[{"name":"a","params":{"m":{"shape":[1,2147483647,2147483647],"data":[]}}}],"edges":[]}`, `$.nodes[0].params.m.data`, "values"},
		{`{"nodes":[],"edges":[],"heat_budget_joules_per_second":-1}`, "$.heat_budget_joules_per_second", "joules"},
	} {
		_, err := graph.Parse([]byte(c.text))
		e, ok := errors.AsType[*graph.Error](err)
		if !ok || e.Code != graph.Malformed || e.Path != c.path || !strings.Contains(e.Text, c.says) {
			t.Errorf("%.60s: %v, want %s and %q", c.text, err, c.path, c.says)
		}
	}
}

// TestDuplicateKeys: the last value of a key counts, with a warning.
func TestDuplicateKeys(t *testing.T) {
	t.Parallel()
	p := parse(t, `{"nodes":[{"name":"a","name":"b"}],"edges":[]}`)
	if p.Nodes[0].Name != "b" || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], `"name"`) {
		t.Errorf("%q, warnings %q", p.Nodes[0].Name, p.Warnings)
	}
	var many strings.Builder
	for range 3 {
		for i := range 40 {
			many.WriteString(`,"k` + string(rune('α'+i)) + `":1`)
		}
	}
	p = parse(t, `{"nodes":[],"edges":[]`+many.String()+`}`)
	if len(p.Extra) != 40 || len(p.Warnings) != 2*40 {
		t.Errorf("%d unknown keys, %d warnings", len(p.Extra), len(p.Warnings))
	}
}

// FuzzParse requires a plan that survives encoding and parsing, or a typed
// error.
func FuzzParse(f *testing.F) {
	for _, s := range []string{seedGraph, `{"nodes":[` + seedNode + `],"edges":[` + seedEdge + `]}`,
		`{"nodes":[{"name":"a","params":{"k":"s","b":true,"m":{"shape":[1,2,1],"data":[1,2e3]}}}],"edges":[],"gates":[{"id":3,"kind":"tempo","period_frames":9}],"x":"\u00e9\ud83d\ude00"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := graph.Parse(text)
		if err != nil {
			if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Malformed || !strings.HasPrefix(e.Path, "$") {
				t.Fatalf("%v", err)
			}
			return
		}
		out, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		throughText(t, p)
		q, err := graph.Parse(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		again, err := q.Encode()
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%v\n%s\n%s", err, out, again)
		}
		p.Version, p.Warnings, q.Version, q.Warnings = 0, nil, 0, nil
		compact(p)
		compact(q)
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("\n%+v\n%+v", p, q)
		}
	})
}

// compact removes blanks from the text of unknown keys.
func compact(p *graph.Plan) {
	each := func(all []graph.Extra) {
		for i := range all {
			var b bytes.Buffer
			if json.Compact(&b, all[i].JSON) == nil {
				all[i].JSON = b.Bytes()
			}
		}
	}
	each(p.Extra)
	each(p.Outer)
	for i := range p.Nodes {
		each(p.Nodes[i].Extra)
		for j := range p.Nodes[i].Params {
			each(p.Nodes[i].Params[j].Extra)
		}
	}
	for i := range p.Edges {
		each(p.Edges[i].Extra)
	}
	for i := range p.Gates {
		each(p.Gates[i].Extra)
	}
	if p.IPLS != nil {
		each(p.IPLS.Extra)
		for i := range p.IPLS.Stages {
			each(p.IPLS.Stages[i].Extra)
			for j := range p.IPLS.Stages[i].Cohorts {
				each(p.IPLS.Stages[i].Cohorts[j].Extra)
			}
		}
	}
}
