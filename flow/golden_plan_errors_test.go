package flow_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"atenia/flow"
	"atenia/flow/graph"
)

func init() { topics["plan_errors"] = runVerdict }

// A verdict is the expected result of linking a plan's text.
type verdict struct {
	Text           string
	BlockFrames    int `json:"block_frames"`
	Strict         bool
	Stage          string // parse or link, where it fails; or ok
	Code           graph.Code
	Path           string
	Names          []string
	WrittenVersion int `json:"written_version"`
	Edges          []struct{ Hold, Prefill int }
	NodeStage      map[string]int     `json:"node_stage"`
	SubBlock       map[string]float64 `json:"sub_block"`
}

// runVerdict parses and links a text and compares stage, code, path and names of
// the error, or delays, stages and sub-blocks of the result, with the case.
func runVerdict(t *testing.T, c json.RawMessage) {
	t.Parallel()
	want := decode[verdict](t, c)
	stage := "parse"
	var l *graph.Linked
	p, err := graph.Parse([]byte(want.Text))
	if err == nil {
		stage = "link"
		l, err = graph.Link(p, flow.ShippedTypes(), graph.Options{BlockFrames: want.BlockFrames, Strict: want.Strict})
	}
	if err != nil {
		want.refused(t, stage, err)
		return
	}
	if want.Stage != "ok" {
		t.Fatalf("accepted, want %v at %s while to %s\n%s", want.Code, want.Path, want.Stage, want.Text)
	}
	want.accepted(t, p, l)
}

func (want *verdict) refused(t *testing.T, stage string, err error) {
	t.Helper()
	got, ok := errors.AsType[*graph.Error](err)
	if !ok || stage != want.Stage || got.Code != want.Code || !strings.HasPrefix(got.Path, want.Path) {
		t.Fatalf("%s: %v\nwant %s: %v at %s\n%s", stage, err, want.Stage, want.Code, want.Path, want.Text)
	}
	switch {
	case got.Code == graph.Deadlock && len(want.Names) > 0 && !slices.Equal(got.Names, want.Names):
		t.Errorf("the cycle is %v, want %v", got.Names, want.Names)
	case got.Code == graph.UnknownNode && !slices.ContainsFunc(want.Names, func(s string) bool { return slices.Contains(got.Names, s) }):
		t.Errorf("names %v, want one of %v", got.Names, want.Names)
	}
}

func (want *verdict) accepted(t *testing.T, p *graph.Plan, l *graph.Linked) {
	t.Helper()
	for i, e := range want.Edges {
		if got := &l.Edges[i]; got.Hold != e.Hold || got.Prefill != e.Prefill {
			t.Errorf("edge %d: hold %d and prefill %d, want %+v", i, got.Hold, got.Prefill, e)
		}
	}
	stages, subs := map[string]int{}, map[string]float64{}
	for i := range l.Nodes {
		n := &l.Nodes[i]
		if stages[n.Name] = n.Stage; n.Comp >= 0 {
			subs[n.Name] = l.Sub[n.Comp].Float()
		}
	}
	if !maps.Equal(stages, want.NodeStage) {
		t.Errorf("stages %v, want %v", stages, want.NodeStage)
	}
	if !maps.Equal(subs, want.SubBlock) {
		t.Errorf("sub-blocks %v, want %v", subs, want.SubBlock)
	}
	out, err := p.Encode()
	if v := bytes.Contains(out, []byte(`"descriptor_version": 2,`)); err != nil || v != (want.WrittenVersion == 2) {
		t.Errorf("written version 2: %v, want %d: %v\n%s", v, want.WrittenVersion, err, out)
	}
}
