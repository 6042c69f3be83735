package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A matrix is perf/matrix.json: what is measured of each backend, kind of model and weights.
type matrix struct {
	Models map[string]string // kind → folder of testdata/golden/parity
	Works  map[string]string // name → command
	Limits map[string]float64
	Cells  map[string]string // backend/model/weights → works, or why there are none
}

// A counts is what a program did for a prompt and a token, which does not depend on how busy
// the machine is.
type counts struct {
	Instructions uint64 `json:"instructions"`
	Launches     uint64 `json:"launches"`
}

// A cell is one work of a cell of the matrix, a line of the results.
type cell struct {
	Cell    string             `json:"cell"`
	Work    string             `json:"work"`
	Commit  string             `json:"commit"`
	Base    string             `json:"base"`
	Verdict string             `json:"verdict"` // the worst of its figures and counts, or why there is none
	Ratios  map[string]float64 `json:"ratios,omitempty"`
	Counts  map[string]counts  `json:"counts,omitempty"` // of prefill and decode
	Was     map[string]counts  `json:"counts_base,omitempty"`
}

// judgeMatrix measures the cells of the matrix for the processor and writes a line for each
// of their works to the results. verdicts counts the works by what became of them.
func judgeMatrix(w io.Writer, o *options, root, commit, older, newer string) (lost bool, verdicts map[string]int, err error) {
	b, err := os.ReadFile(filepath.Join(root, "perf", "matrix.json"))
	if err != nil {
		return false, nil, err
	}
	var m matrix
	if err := json.Unmarshal(b, &m); err != nil {
		return false, nil, err
	}
	if err := os.MkdirAll(o.results, 0o777); err != nil {
		return false, nil, err
	}
	f, err := os.Create(filepath.Join(o.results, commit[:12]+".jsonl"))
	if err != nil {
		return false, nil, err
	}
	defer f.Close()
	models, err := os.MkdirTemp("", "cells")
	if err != nil {
		return false, nil, err
	}
	defer os.RemoveAll(models)
	verdicts = map[string]int{}
	lines := json.NewEncoder(f)
	for _, key := range slices.Sorted(maps.Keys(m.Cells)) {
		kind, weights, ok := cellOf(key)
		if !ok || strings.HasPrefix(m.Cells[key], "not present") {
			continue
		}
		model, why := modelOf(newer, o.cases(root, m.Models[kind]), filepath.Join(models, kind+"-"+weights+".gguf"), weights)
		for _, work := range strings.Fields(m.Cells[key]) {
			c := cell{Cell: key, Work: work, Commit: commit, Base: o.base, Verdict: why}
			if why == "" {
				args := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(m.Works[work], "atenia "), "MODEL", model))
				if err := c.measure(o, args, older, newer, m.Limits["launches"]); err != nil {
					return false, nil, fmt.Errorf("%s %s: %w", key, work, err)
				}
			}
			lost = lost || c.Verdict == loses
			kind, _, _ := strings.Cut(c.Verdict, ":")
			verdicts[kind]++
			fmt.Fprintf(w, "%-24s %-12s %s %v\n", key, work, c.Verdict, c.Ratios)
			if err := lines.Encode(&c); err != nil {
				return false, nil, err
			}
		}
	}
	return lost, verdicts, f.Close()
}

// cellOf splits the name of a cell of the processor.
func cellOf(key string) (kind, weights string, ok bool) {
	rest, ok := strings.CutPrefix(key, "cpu/")
	kind, weights, two := strings.Cut(rest, "/")
	return kind, weights, ok && two
}

// cases returns the folder of a reference model: that of more cases, if they have it.
func (o *options) cases(root, model string) string {
	for _, dir := range []string{filepath.Join(o.golden, "parity", model), filepath.Join(root, "testdata", "golden", "parity", model)} {
		if _, err := os.Stat(filepath.Join(dir, "config.json")); err == nil {
			return dir
		}
	}
	return ""
}

// modelOf returns a model with weights of a kind, or why there is none.
func modelOf(program, folder, to, weights string) (path, why string) {
	switch {
	case folder == "":
		return "", "not present: no such reference model here"
	case weights == "f32":
		return folder, ""
	}
	types := map[string]string{"q8_0": "q8_0", "q4_k": "q4_k_m"}
	if _, err := output("", program, "quantize", folder, to, "--type", types[weights]); err != nil {
		return "", "not present: " + err.Error()
	}
	return to, ""
}

// measure lets both programs do a work in turns, and counts what each does once.
func (c *cell) measure(o *options, args []string, older, newer string, launches float64) error {
	var a, b, again []record
	for range o.rounds {
		for _, turn := range []struct {
			program string
			to      *[]record
		}{{older, &a}, {newer, &b}, {older, &again}} {
			var r record
			if err := call(turn.program, &r, args...); err != nil {
				return err
			}
			*turn.to = append(*turn.to, r)
		}
	}
	c.Verdict, c.Ratios = passes, map[string]float64{}
	for _, g := range gates {
		if x, y, z := values(a, g.of), values(b, g.of), values(again, g.of); x != nil && y != nil {
			v := judge(ratios(x, y, g.less), ratios(x, z, g.less), g.least)
			c.Ratios[g.name] = v.ratio
			c.Verdict = worse(c.Verdict, v.verdict)
		}
	}
	if slices.Contains(args, "images") || strings.HasPrefix(c.Work, "encode") { // they have no counters
		return nil
	}
	var err error
	if c.Was, err = countsOf(older, args); err != nil {
		return err
	}
	if c.Counts, err = countsOf(newer, args); err != nil {
		return err
	}
	for part, was := range c.Was {
		now := c.Counts[part]
		if now.Instructions > was.Instructions || float64(now.Launches) > launches*float64(was.Launches) {
			c.Verdict = loses // however busy the machine is
		}
	}
	return nil
}

// worse returns the verdict that matters of two.
func worse(a, b string) string {
	for _, v := range []string{loses, inconclusive} {
		if a == v || b == v {
			return v
		}
	}
	return passes
}

// countsOf counts what a work does.
func countsOf(program string, args []string) (map[string]counts, error) {
	var r struct{ Counters map[string]counts }
	err := call(program, &r, append(slices.Clone(args), "--counters")...)
	return r.Counters, err
}

// call runs a command of a program and reads its JSON.
func call(program string, to any, args ...string) error {
	text, err := output("", program, append(slices.Clone(args), "--json")...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(text), to)
}
