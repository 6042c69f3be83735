package graph_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"

	"atenia/flow/graph"
	"atenia/internal/golden"
)

// A verdict is what a golden case says of a text.
type verdict struct {
	Name, Kind, Text, Stage, Path string
	BlockFrames                   int `json:"block_frames"`
	Strict                        bool
	Code                          int
	Names                         []string
	WrittenVersion                int `json:"written_version"`
	Edges                         []struct{ Hold, Prefill int }
	NodeStage                     map[string]int     `json:"node_stage"`
	SubBlock                      map[string]float64 `json:"sub_block"`
}

// TestLinkCases links the texts of the golden cases with a catalogue of ports.
func TestLinkCases(t *testing.T) {
	t.Parallel()
	dir := golden.Family(t, "flow")
	for _, f := range []string{"plan_errors.json", "schedule.json"} {
		var file struct{ Cases []json.RawMessage }
		golden.JSON(t, filepath.Join(dir, f), &file)
		for _, raw := range file.Cases {
			var c verdict
			if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&c); err != nil && c.Text != "" {
				t.Fatal(err)
			}
			if f == "schedule.json" && c.Kind != "link" {
				continue
			}
			t.Run(c.Name, func(t *testing.T) { check(t, &c) })
		}
	}
}

func check(t *testing.T, c *verdict) {
	stage := "parse"
	var l *graph.Linked
	p, err := graph.Parse([]byte(c.Text))
	if err == nil {
		stage = "link"
		l, err = graph.Link(p, catalog{}, graph.Options{BlockFrames: c.BlockFrames, Strict: c.Strict})
	}
	if err != nil {
		e := err.(*graph.Error)
		if stage != c.Stage || int(e.Code) != c.Code || len(e.Path) < len(c.Path) || e.Path[:len(c.Path)] != c.Path {
			t.Fatalf("%s: %v; want %s %d %s", stage, err, c.Stage, c.Code, c.Path)
		}
		if c.Code == -66 && len(c.Names) > 0 && !reflect.DeepEqual(e.Names, c.Names) {
			t.Fatalf("%v, want %v", e.Names, c.Names)
		}
		return
	}
	if c.Stage != "ok" {
		t.Fatalf("fine; want %s %d %s", c.Stage, c.Code, c.Path)
	}
	for i := range l.Edges {
		if e := &l.Edges[i]; e.Hold != c.Edges[i].Hold || e.Prefill != c.Edges[i].Prefill {
			t.Errorf("edge %d: %d %d, want %v", i, e.Hold, e.Prefill, c.Edges[i])
		}
	}
	sub := map[string]float64{}
	for i := range l.Nodes {
		n := &l.Nodes[i]
		if n.Stage != c.NodeStage[n.Name] {
			t.Errorf("node %s: stage %d, want %d", n.Name, n.Stage, c.NodeStage[n.Name])
		}
		if n.Comp >= 0 {
			sub[n.Name] = l.Sub[n.Comp].Float()
		}
	}
	if !reflect.DeepEqual(sub, c.SubBlock) {
		t.Errorf("sub-blocks %v, want %v", sub, c.SubBlock)
	}
	out, err := p.Encode()
	if v := bytes.Contains(out, []byte(`"descriptor_version": 2`)); err != nil || v != (c.WrittenVersion == 2) {
		t.Errorf("%v %s", err, out)
	}
}
