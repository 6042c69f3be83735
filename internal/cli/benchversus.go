package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"atenia"
)

// A versus is another program that is measured in turns with this one: it
// takes the options of llama-bench and prints its JSON.
type versus struct {
	program string
	rounds  int
	model   string
	threads int
	found   []versusEntry // of all rounds
}

// A versusEntry is one test of llama-bench -o json; it has more fields.
type versusEntry struct {
	Commit  string    `json:"build_commit"`
	Prompt  int       `json:"n_prompt"`
	Decode  int       `json:"n_gen"`
	Depth   int       `json:"n_depth"`
	Speed   float64   `json:"avg_ts"`
	Samples []float64 `json:"samples_ts"`
}

// benchVersus is what bench adds with --vs.
type benchVersus struct {
	Program string      `json:"program"`
	Build   string      `json:"build,omitempty"`
	Rounds  int         `json:"rounds"`
	Rows    []versusRow `json:"rows"`
}

// A versusRow compares medians; a ratio above 1 means that atenia is faster.
type versusRow struct {
	Test   string  `json:"test"`
	Ours   rate    `json:"ours"`
	Theirs rate    `json:"theirs"`
	Ratio  float64 `json:"ratio"`
}

// check refuses what the other program cannot do before anything is measured.
func (v *versus) check(batch int) error {
	if v.rounds < 1 {
		return usagef("--rounds is %d, want 1 or more", v.rounds)
	}
	if batch > 1 {
		return usagef("--vs measures one sequence at a time: leave out --batch")
	}
	if fi, err := os.Stat(v.model); !strings.HasSuffix(strings.ToLower(v.model), ".gguf") || err == nil && fi.IsDir() {
		return usagef("--vs needs a .gguf file, which both programs read")
	}
	if _, err := exec.LookPath(v.program); err != nil {
		return fmt.Errorf("--vs: no program that can be run: %w", err)
	}
	return nil
}

// run measures one round.
func (v *versus) run(ctx context.Context, c *atenia.BenchConfig) error {
	args := []string{"-m", v.model, "-p", strconv.Itoa(max(c.Prompt, 0)), "-n", strconv.Itoa(max(c.Decode, 0)),
		"-r", strconv.Itoa(c.Repeats), "-t", strconv.Itoa(v.threads), "-o", "json"}
	if len(c.Depths) > 0 {
		depths := "0"
		for _, d := range c.Depths {
			depths += "," + strconv.Itoa(d)
		}
		args = append(args, "-d", depths)
	}
	cmd := exec.CommandContext(ctx, v.program, args...)
	cmd.WaitDelay = time.Second
	var out, errw limited
	cmd.Stdout, cmd.Stderr = &out, &errw
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("--vs: %s: %w%s", cmd, err, lastLines(errw.String()))
	}
	found, err := parseVersus(out.Bytes())
	if err != nil {
		return fmt.Errorf("--vs: %s: want what llama-bench -o json prints: %w", cmd, err)
	}
	v.found = append(v.found, found...)
	return nil
}

// limited keeps the output of a program, within reason.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxResultBytes {
		return 0, errors.New("the program prints too much")
	}
	return l.Buffer.Write(p)
}

// lastLines returns the end of what a program said, to follow an error.
func lastLines(s string) string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(s), "\n")
	lines = lines[max(0, len(lines)-most):]
	if lines[0] == "" {
		return ""
	}
	return "\n" + strings.Join(lines, "\n")
}

func parseVersus(b []byte) ([]versusEntry, error) {
	var list []versusEntry
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, jsonError(err)
	}
	for i := range list {
		e := &list[i]
		if len(e.Samples) == 0 {
			e.Samples = []float64{e.Speed}
		}
		for _, s := range e.Samples {
			if !plausible(s) {
				return nil, fmt.Errorf("test %d: %v tokens a second", i, s)
			}
		}
	}
	return list, nil
}

// result pairs this program's tests with the other's.
func (v *versus) result(r *benchResult) (*benchVersus, error) {
	out := &benchVersus{Program: v.program, Rounds: v.rounds, Rows: []versusRow{}}
	for _, row := range r.rows() {
		theirs := rate{Tokens: row.Tokens}
		for _, e := range v.found {
			if e.Prompt == row.prompt && e.Decode == row.decode && e.Depth == row.depth {
				theirs.Samples = append(theirs.Samples, e.Samples...)
				out.Build = e.Commit
			}
		}
		if len(theirs.Samples) == 0 {
			return nil, fmt.Errorf("--vs: %s printed no result for %q", filepath.Base(v.program), row.name)
		}
		theirs.summarise()
		out.Rows = append(out.Rows, versusRow{row.name, row.rate, theirs, row.Median / theirs.Median})
	}
	return out, nil
}

// summarise finds median and spread of the samples.
func (r *rate) summarise() {
	s := slices.Sorted(slices.Values(r.Samples))
	n := len(s)
	r.Median, r.Min, r.Max = (s[(n-1)/2]+s[n/2])/2, s[0], s[n-1]
}

// merge adds the samples of another round.
func (r *benchResult) merge(o *benchResult) {
	add := func(a, b *rate) {
		if a.Samples = append(a.Samples, b.Samples...); len(a.Samples) > 0 {
			a.summarise()
		}
	}
	add(&r.Prefill, &o.Prefill)
	add(&r.Decode, &o.Decode)
	for i := range r.Depths {
		add(&r.Depths[i].rate, &o.Depths[i].rate)
	}
	r.Fetched += o.Fetched
	r.Bandwidth = max(r.Bandwidth, o.Bandwidth)
	r.PrefillSpeed, r.DecodeSpeed = r.Prefill.Median, r.Decode.Median
	if r.Bandwidth > 0 {
		r.Share = r.DecodeSpeed / float64(r.Batch) * float64(r.TokenBytes) / r.Bandwidth
	}
}

func (a *app) printVersus(v *benchVersus) error {
	name := filepath.Base(v.Program)
	fmt.Fprintf(a.out, "\nin turns with %s", v.Program)
	if v.Build != "" {
		fmt.Fprintf(a.out, " (%s)", v.Build)
	}
	fmt.Fprintf(a.out, ", %d rounds\n", v.Rounds)
	w := table(a.out)
	fmt.Fprintf(w, "test\tatenia\tmin\tmax\t%s\tmin\tmax\tratio\n", name)
	for _, r := range v.Rows {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.3f\n", r.Test,
			r.Ours.Median, r.Ours.Min, r.Ours.Max, r.Theirs.Median, r.Theirs.Min, r.Theirs.Max, r.Ratio)
	}
	return w.Flush()
}
