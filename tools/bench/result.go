package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"atenia/internal/machine/cpu"
)

// A result is what was measured. Results of equal What are compared.
type result struct {
	What      string  `json:"what"`
	Processor string  `json:"processor"`
	Threads   int     `json:"threads"`
	Values    []value `json:"values"`
}

// A value is a figure of a result.
type value struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit,omitempty"`
	Value float64 `json:"value"`
}

func newResult(threads int, what string, values ...value) *result {
	return &result{what, cpu.Name(), threads, values}
}

func (r *report) result() *result {
	if r == nil {
		return nil
	}
	return newResult(r.Threads, fmt.Sprintf("train %s, %d x %d tokens a step", r.Size, r.Rows, r.Length),
		value{"step", "s", r.Step}, value{"forward", "s", r.Forward}, value{"backward", "s", r.Backward}, value{"optimizer", "s", r.Update},
		value{"tokens", "/s", float64(r.Rows*r.Length) / r.Step}, value{"share of multiply-adds", "", r.Share}, value{"peak", "MiB", float64(r.PeakBytes) / (1 << 20)}, value{"loss", "nats", r.Loss})
}

func (r *budgetReport) result() *result {
	if r == nil {
		return nil
	}
	out := newResult(r.Threads, fmt.Sprintf("train %s, %d x %d tokens a step, in %d bytes (%s)", r.Size, r.Rows, r.Length, r.RAM, r.Memory),
		value{"step", "s", r.Step}, value{"computing", "s", r.Compute}, value{"moved", "MiB", float64(r.Moved) / (1 << 20)}, value{"disk", "MB/s", r.Disk / 1e6},
		value{"times the longer of computing and moving", "", r.Ratio}, value{"peak", "MiB", float64(r.PeakBytes) / (1 << 20)}, value{"loss", "nats", r.Loss})
	if r.InMemory > 0 {
		out.Values = append(out.Values, value{"step in memory, the same model", "s", r.InMemory})
	}
	return out
}

// mostResult is far more than a result has.
const mostResult = 1 << 20

func readResult(path string) (*result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &result{}
	if err := json.NewDecoder(io.LimitReader(f, mostResult)).Decode(r); err != nil || r.What == "" {
		return nil, fmt.Errorf("%s is not a result of this command: %v", path, err)
	}
	return r, nil
}

func (r *result) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// write prints a result, beside an earlier one of the same work.
func (r *result) write(w io.Writer, old *result) error {
	fmt.Fprintf(w, "%s; %s, %d threads\n", r.What, r.Processor, r.Threads)
	switch {
	case old != nil && old.What != r.What:
		fmt.Fprintf(w, "nothing to compare with: %s\n", old.What)
		old = nil
	case old != nil && (old.Processor != r.Processor || old.Threads != r.Threads):
		fmt.Fprintf(w, "compared with another machine: %s, %d threads\n", old.Processor, old.Threads)
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, v := range r.Values {
		fmt.Fprintf(t, "%s\t%.4g %s", v.Name, v.Value, v.Unit)
		if old != nil {
			if k := slices.IndexFunc(old.Values, func(o value) bool { return o.Name == v.Name }); k >= 0 && old.Values[k].Value != 0 {
				fmt.Fprintf(t, "\tbefore %.4g\t%+.1f %%", old.Values[k].Value, 100*(v.Value/old.Values[k].Value-1))
			}
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}
