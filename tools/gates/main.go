// Gates compares the speed of a commit with that of the commit it branched from,
// on this machine: it builds both, lets their "atenia bench" take turns, and
// judges the ratios of neighbouring turns.
//
//	go run -C tools ./gates                              # HEAD against its merge base with main
//	go run -C tools ./gates -base v1.0 -rounds 30 ../model.gguf
//	go run -C tools ./gates -matrix -rounds 3            # all cells of perf/matrix.json
//
// Limits are those of the plan contract (GP3): decoding may lose 2 %, a prompt
// 3 %. A loss counts only if the whole interval of the ratio is below the limit,
// and only if the older program's ratio to itself shows that the machine is
// quiet enough; else the verdict is "inconclusive". With -matrix instructions and
// launches of a prompt and of a token are compared, too: more of them are a loss on
// any machine. The exit code is 1 for a
// loss, 0 for anything else: a gate is judged by who runs it, and no test fails
// by a clock.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// A record is the part of a bench's result that is judged (perf/matrix.json).
type record struct {
	Prefill float64 `json:"prefill_tokens_per_second"`
	Decode  float64 `json:"decode_tokens_per_second"`
	P50     float64 `json:"decode_step_p50_seconds"`
	P95     float64 `json:"decode_step_p95_seconds"`
	Image   float64 `json:"encode_seconds"`
}

// gates are the judged figures, the least permitted ratio of the newer to the
// older, and whether a smaller figure is better.
var gates = []struct {
	name  string
	least float64
	less  bool
	of    func(record) float64
}{
	{"decode", 0.98, false, func(r record) float64 { return r.Decode }},
	{"prefill", 0.97, false, func(r record) float64 { return r.Prefill }},
	{"step p50", 0.98, true, func(r record) float64 { return r.P50 }},
	{"step p95", 0.95, true, func(r record) float64 { return r.P95 }},
	{"image", 0.97, true, func(r record) float64 { return r.Image }},
}

type options struct {
	base    string
	rounds  int
	bench   []string
	models  []string
	matrix  bool
	results string // folder
	golden  string // folder of more reference cases
}

func main() {
	var o options
	flag.StringVar(&o.base, "base", "", "commit to compare with (default: the merge base of HEAD and main)")
	flag.IntVar(&o.rounds, "rounds", 15, "turns of every program")
	flag.BoolVar(&o.matrix, "matrix", false, "measure the cells of perf/matrix.json, whose counts decide on a busy machine, too")
	flag.StringVar(&o.results, "results", filepath.Join("..", "bench", "results"), "folder for a file of the commit, with a line for each work of a cell")
	flag.StringVar(&o.golden, "golden", os.Getenv("ATENIA_GOLDEN"), "folder of reference cases besides testdata/golden (default: $ATENIA_GOLDEN)")
	args := flag.String("bench", "-p 512 -n 64 -r 1", "flags of atenia bench")
	flag.Parse()
	o.bench, o.models = strings.Fields(*args), flag.Args()
	if len(o.models) == 0 {
		o.models = []string{""} // the embedded one
	}
	lost, err := run(&o, os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "gates:", err)
		os.Exit(2)
	case lost:
		os.Exit(1)
	}
}

func run(o *options, w io.Writer) (lost bool, err error) {
	root, err := output("", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return false, err
	}
	if o.base == "" {
		if o.base, err = output(root, "git", "merge-base", "HEAD", "main"); err != nil {
			return false, err
		}
	}
	dir, err := os.MkdirTemp("", "gates")
	if err != nil {
		return false, err
	}
	older, tree := filepath.Join(dir, "older"), filepath.Join(dir, "tree")
	defer func() {
		_, e := output(root, "git", "worktree", "remove", "--force", tree)
		err = errors.Join(err, e, os.RemoveAll(dir))
	}()
	if _, err := output(root, "git", "worktree", "add", "--detach", tree, o.base); err != nil {
		return false, err
	}
	newer := filepath.Join(dir, "newer")
	for bin, from := range map[string]string{older: tree, newer: root} {
		if _, err := output(from, "go", "build", "-o", bin, "./cmd/atenia"); err != nil {
			return false, err
		}
	}
	fmt.Fprintf(w, "%s against %.12s, %d turns\n", "the working tree", o.base, o.rounds)
	if o.matrix {
		commit, err := output(root, "git", "rev-parse", "HEAD")
		if err != nil {
			return false, err
		}
		lost, verdicts, err := judgeMatrix(w, o, root, commit, older, newer)
		if err != nil || lost {
			return lost, err
		}
		return false, sign(o, root, commit, verdicts)
	}
	for _, model := range o.models {
		l, err := judgeModel(w, o, model, older, newer)
		if err != nil {
			return false, err
		}
		lost = lost || l
	}
	return lost, nil
}

// judgeModel lets both programs measure a model in turns.
func judgeModel(w io.Writer, o *options, model, older, newer string) (lost bool, err error) {
	var a, b, again []record
	for range o.rounds {
		for _, turn := range []struct {
			program string
			to      *[]record
		}{{older, &a}, {newer, &b}, {older, &again}} {
			r, err := measure(turn.program, model, o.bench)
			if err != nil {
				return false, err
			}
			*turn.to = append(*turn.to, r)
		}
	}
	name := model
	if name == "" {
		name = "the embedded model"
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(t, "%s\tolder\tnewer\tratio\tinterval\tof itself\tverdict\n", name)
	for _, g := range gates {
		x, y, z := values(a, g.of), values(b, g.of), values(again, g.of)
		if x == nil || y == nil {
			fmt.Fprintf(t, "%s\t-\t-\t\t\t\tnot present: not in the record of both\n", g.name)
			continue
		}
		v := judge(ratios(x, y, g.less), ratios(x, z, g.less), g.least)
		lost = lost || v.verdict == loses
		fmt.Fprintf(t, "%s\t%.4g\t%.4g\t%.3f\t%.3f–%.3f\t%.3f–%.3f\t%s\n", g.name, median(x), median(y), v.ratio, v.low, v.high, v.selfLow, v.selfHigh, v.verdict)
	}
	return lost, t.Flush()
}

func measure(program, model string, flags []string) (r record, err error) {
	args := append([]string{"bench", "--json"}, flags...)
	if model != "" {
		args = append(args, model)
	}
	text, err := output("", program, args...)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(text), &r)
}

// values returns a figure of all records, nil if one lacks it.
func values(rs []record, of func(record) float64) (out []float64) {
	for _, r := range rs {
		if of(r) <= 0 {
			return nil
		}
		out = append(out, of(r))
	}
	return out
}

// output runs a program and returns what it prints.
func output(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	var said strings.Builder
	c.Stderr = &said
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(b)), nil
}
