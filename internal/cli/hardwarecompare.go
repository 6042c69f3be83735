package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"atenia/internal/bench/machine"
	"atenia/internal/cli/command"
	"atenia/internal/store/durable"
)

// A hardwareResult is what bench prints with --json.
type hardwareResult struct {
	*machine.Report
	Compare *hardwareComparison `json:"compare,omitempty"`
}

// A hardwareComparison is what --compare adds: the tests that both results have.
type hardwareComparison struct {
	File        string       `json:"file"`
	SameMachine bool         `json:"same_machine"`
	Tests       []comparedTo `json:"tests"`
}

type comparedTo struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Before  float64 `json:"before"` // medians
	Now     float64 `json:"now"`
	Ratio   float64 `json:"ratio"`
	Verdict string  `json:"verdict"` // "more", "less", or "within noise": each has samples that the other could have had
}

// compareHardware looks at every test of now that before has, too, with the same unit.
func compareHardware(file string, before, now *machine.Report) *hardwareComparison {
	c := &hardwareComparison{File: file, SameMachine: before.Machine == now.Machine}
	for _, n := range now.Tests {
		for _, b := range before.Tests {
			if b.Name != n.Name || b.Unit != n.Unit {
				continue
			}
			t := comparedTo{n.Name, n.Unit, b.Median, n.Median, n.Median / b.Median, "within noise"}
			switch {
			case n.Min > b.Max:
				t.Verdict = "more"
			case n.Max < b.Min:
				t.Verdict = "less"
			}
			c.Tests = append(c.Tests, t)
			break
		}
	}
	return c
}

// Results are short: these are far more than one has.
const (
	maxHardwareResultBytes = 1 << 20
	maxTests               = 1000
)

// readBefore reads an earlier result; none if there is no file to compare with.
func readBefore(path string) (*machine.Report, error) {
	if path == "" {
		return nil, nil
	}
	f, err := durable.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--compare: %w", err)
	}
	defer f.Close()
	b, err := command.ReadMost(f, maxHardwareResultBytes)
	var r *machine.Report
	if err == nil {
		r, err = parseHardwareResult(b)
	}
	if err != nil {
		return nil, fmt.Errorf("--compare: %s is not a result of this command with --json: %w", path, err)
	}
	return r, nil
}

func parseHardwareResult(b []byte) (*machine.Report, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	r := hardwareResult{Report: &machine.Report{}}
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("offset %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("offset %d: something follows the result", d.InputOffset())
	}
	if r.Report == nil || len(r.Tests) == 0 || len(r.Tests) > maxTests {
		return nil, fmt.Errorf("want 1 to %d tests", maxTests)
	}
	for i, t := range r.Tests {
		ok := t.Min > 0 && t.Min <= t.Median && t.Median <= t.Max && !math.IsInf(t.Max, 0)
		if t.Name == "" || !ok {
			return nil, fmt.Errorf("test %d: want a name and 0 < min <= median <= max, got %q %v %v %v", i, t.Name, t.Min, t.Median, t.Max)
		}
	}
	return r.Report, nil
}
