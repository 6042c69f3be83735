package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"atenia"
)

// A peer is another program that is measured in turns with this one: one with
// the options and the JSON of llama-bench, or with those of
// llama-batched-bench, if it is named so, for several sequences at once.
type peer struct {
	name    string
	program string
	args    []string // of its own, before all others
	batched bool
	build   string      // as it calls itself
	found   []peerEntry // of all rounds
}

// parsePeer reads "[NAME=]PROGRAM [ARGS…]".
func parsePeer(s string) (*peer, error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return nil, usagef("--vs: want a program")
	}
	p := &peer{program: words[0], args: words[1:]}
	if name, program, ok := strings.Cut(words[0], "="); ok {
		p.name, p.program = name, program
	}
	if p.name == "" {
		p.name = filepath.Base(p.program)
	}
	p.batched = strings.Contains(filepath.Base(p.program), "batched-bench")
	if _, err := exec.LookPath(p.program); err != nil {
		return nil, fmt.Errorf("--vs: no program that can be run: %w", err)
	}
	return p, nil
}

// A peerEntry is one test of llama-bench -o json; it has more fields.
type peerEntry struct {
	Commit  string    `json:"build_commit"`
	Prompt  int       `json:"n_prompt"`
	Decode  int       `json:"n_gen"`
	Depth   int       `json:"n_depth"`
	Test    string    `json:"test"` // of programs without a depth: "tg8@pp64" is decoding at one
	Speed   float64   `json:"avg_ts"`
	Samples []float64 `json:"samples_ts"`
	batch   int
}

// A peerError says which program failed, how, and what it said last.
type peerError struct {
	command string
	err     error
	said    string
}

func (e *peerError) Error() string {
	return fmt.Sprintf("--vs: %s: %v%s", e.command, e.err, lastLines(e.said))
}
func (e *peerError) Unwrap() error { return e.err }

// shallow is the context of a batch that has none of its own: llama-batched-bench
// wants a prompt.
const shallow = 16

// run measures one round.
func (p *peer) run(ctx context.Context, model string, threads int, c *atenia.BenchConfig) error {
	args := []string{"-m", model, "-t", strconv.Itoa(threads)}
	parse := parseBench
	if p.batched {
		depths, longest := []int{shallow}, shallow
		for _, d := range c.Depths {
			depths, longest = append(depths, d), max(longest, d)
		}
		args = append(args, "-c", strconv.Itoa(c.Batch*(longest+c.Decode)), "-b", "512", "-ub", "512",
			"-npp", list(depths), "-ntg", strconv.Itoa(c.Decode), "-npl", strconv.Itoa(c.Batch))
		parse = parseBatched
	} else {
		args = append(args, "-p", strconv.Itoa(max(c.Prompt, 0)), "-n", strconv.Itoa(max(c.Decode, 0)), "-r", strconv.Itoa(c.Repeats), "-o", "json")
		if len(c.Depths) > 0 {
			more, err := p.depths(ctx, c)
			if err != nil {
				return err
			}
			args = append(args, more...)
		}
	}
	out, err := p.output(ctx, args)
	if err != nil {
		return err
	}
	found, err := parse(out)
	if err != nil {
		return &peerError{command: p.command(args), err: fmt.Errorf("want what %s prints: %w", p.prints(), err)}
	}
	p.found = append(p.found, found...)
	return nil
}

func (p *peer) prints() string {
	if p.batched {
		return "llama-batched-bench"
	}
	return "llama-bench -o json"
}

// depths returns the options for answers after a context: not all versions of
// llama-bench have the same.
func (p *peer) depths(ctx context.Context, c *atenia.BenchConfig) (args []string, err error) {
	help, err := p.output(ctx, []string{"--help"})
	switch {
	case err != nil:
		return nil, err
	case bytes.Contains(help, []byte("--n-depth")):
		return []string{"-d", list(append([]int{0}, c.Depths...))}, nil
	case !bytes.Contains(help, []byte("-gp ")):
		return nil, &peerError{command: p.program, err: errors.New("it has neither -d nor -gp for --depth")}
	}
	for _, d := range c.Depths {
		args = append(args, "-gp", fmt.Sprintf("%d,%d", d, c.Decode))
	}
	return args, nil
}

func list(n []int) string {
	var s []string
	for _, v := range n {
		s = append(s, strconv.Itoa(v))
	}
	return strings.Join(s, ",")
}

func (p *peer) command(args []string) string {
	return strings.Join(append(append([]string{p.program}, p.args...), args...), " ")
}

// output runs the program.
func (p *peer) output(ctx context.Context, args []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.program, append(append([]string{}, p.args...), args...)...)
	cmd.WaitDelay = time.Second
	var out, errw limited
	cmd.Stdout, cmd.Stderr = &out, &errw
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &peerError{p.command(args), err, errw.String()}
	}
	if p.batched { // which prints its table to either
		return append(out.Bytes(), errw.Bytes()...), nil
	}
	return out.Bytes(), nil
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

// parseBench reads the JSON of llama-bench, among which some versions print
// warnings.
func parseBench(b []byte) ([]peerEntry, error) {
	var clean []byte
	for line := range bytes.Lines(b) {
		if !bytes.HasPrefix(line, []byte("WARNING: ")) {
			clean = append(clean, line...)
		}
	}
	var list []peerEntry
	if err := json.Unmarshal(clean, &list); err != nil {
		return nil, jsonError(err)
	}
	for i := range list {
		e := &list[i]
		e.batch = 1
		if strings.HasPrefix(e.Test, "tg") && strings.Contains(e.Test, "@pp") {
			e.Prompt, e.Depth = 0, e.Prompt
		}
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

// parseBatched reads the table of llama-batched-bench:
//
//	|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s | …
//	|    16 |     16 |    8 |    256 |    0.404 |   317.08 |    0.914 |   140.07 | …
func parseBatched(b []byte) (list []peerEntry, err error) {
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 8 {
			continue
		}
		var whole [3]int
		for i := range whole {
			if whole[i], err = strconv.Atoi(strings.TrimSpace(cells[i])); err != nil {
				break
			}
		}
		if err != nil { // the head, or something else
			continue
		}
		speed, err := strconv.ParseFloat(strings.TrimSpace(cells[7]), 64)
		if err != nil || !plausible(speed) {
			return nil, fmt.Errorf("%q tokens a second", strings.TrimSpace(cells[7]))
		}
		e := peerEntry{Depth: whole[0], Decode: whole[1], batch: whole[2], Samples: []float64{speed}}
		if e.Depth == shallow {
			e.Depth = 0
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return nil, errors.New("no row of numbers")
	}
	return list, nil
}
