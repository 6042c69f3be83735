package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// A report sums up the verdicts of a campaign.
type report struct {
	formats  map[string]*figures
	findings []verdict
	log      io.Writer // a line for each finding, as it comes
	verdicts io.Writer // nil, or all of them in JSON
}

// read adds the verdicts of an earlier part of a campaign.
func (r *report) read(f io.Reader) error {
	for d := json.NewDecoder(f); ; {
		var v verdict
		switch err := d.Decode(&v); err {
		case nil:
			r.add(v)
		case io.EOF:
			return nil
		default:
			return err
		}
	}
}

type figures struct {
	cases, accepted, panics int
	nanos                   []int32 // microseconds of each case
	bytes                   int64
}

func (r *report) add(v verdict) {
	f := r.formats[v.Format]
	if f == nil {
		f = &figures{}
		r.formats[v.Format] = f
	}
	f.cases++
	if v.Accepted {
		f.accepted++
	}
	f.nanos = append(f.nanos, int32(min(v.Nanos/1000, 1<<31-1)))
	f.bytes = max(f.bytes, v.Bytes)
	if r.verdicts != nil {
		if v.Fault == "" {
			v.Text = ""
		}
		b, _ := json.Marshal(v) // numbers and texts
		_, _ = r.verdicts.Write(append(b, '\n'))
	}
	if v.Fault == "" {
		return
	}
	if v.Fault == "panic" {
		f.panics++
	}
	if len(r.findings) < 1000 {
		r.findings = append(r.findings, v)
	}
	fmt.Fprintf(r.log, "FINDING %s in %s, index %d: %v, %.1f MiB of %d bytes\n%s\n", v.Fault, v.Format, v.Index,
		time.Duration(v.Nanos).Round(time.Millisecond), float64(v.Bytes)/(1<<20), v.Input, first(v.Text, 4000))
}

// print writes a table in Markdown.
func (r *report) print(w io.Writer, c *campaign, took time.Duration) {
	all := &figures{}
	row := func(name string, f *figures) {
		slices.Sort(f.nanos)
		at := func(q float64) string {
			if len(f.nanos) == 0 {
				return "–"
			}
			return fmt.Sprintf("%.2f", float64(f.nanos[int(q*float64(len(f.nanos)-1))])/1000)
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %s | %s | %s | %.1f | %d |\n", name, f.cases, f.accepted, f.cases-f.accepted,
			at(.5), at(.99), at(1), float64(f.bytes)/(1<<20), f.panics)
	}
	fmt.Fprintln(w, "| format | cases | accepted | refused | p50 ms | p99 ms | max ms | most MiB | panics |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, f := range formats {
		x := r.formats[f.name]
		if x == nil {
			continue
		}
		row(f.name, x)
		all.cases, all.accepted, all.panics = all.cases+x.cases, all.accepted+x.accepted, all.panics+x.panics
		all.bytes = max(all.bytes, x.bytes)
		all.nanos = append(all.nanos, x.nanos...)
	}
	row("all", all)
	fmt.Fprintf(w, "\nseed %d, from %d: %d cases in %v, %.0f a second; %d findings\n", c.seed, c.from, all.cases,
		took.Round(time.Second), float64(all.cases)/took.Seconds(), len(r.findings))
	for _, v := range r.findings {
		fmt.Fprintf(w, "  %s in %s: mutate-files -seed %d -index %d\n", v.Fault, v.Format, c.seed, v.Index)
	}
}
