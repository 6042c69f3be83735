package bench

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
)

// A PeerTest describes what to measure.
type PeerTest struct {
	Model          string // a file that the program reads
	Threads        int
	Prompt, Decode int // tokens; 0 or less = skip
	Depths         []int
	Batch, Repeats int
}

// A Peer is another program to measure alternately with this one: one with the
// options and the JSON of llama-bench or, if so named, of llama-batched-bench,
// for several sequences at once.
type Peer struct {
	Name    string
	Program string
	Args    []string // its own arguments, before all others
	Batched bool
	Found   []Entry // of all rounds
}

// ParsePeer reads "[NAME=]PROGRAM [ARGS…]".
func ParsePeer(s string) (*Peer, error) {
	words := strings.Fields(s)
	if len(words) == 0 {
		return nil, errors.New("want a program")
	}
	p := &Peer{Program: words[0], Args: words[1:]}
	if name, program, ok := strings.Cut(words[0], "="); ok {
		p.Name, p.Program = name, program
	}
	if p.Name == "" {
		p.Name = filepath.Base(p.Program)
	}
	p.Batched = strings.Contains(filepath.Base(p.Program), "batched-bench")
	if _, err := exec.LookPath(p.Program); err != nil {
		return nil, fmt.Errorf("no program that can be run: %w", err)
	}
	return p, nil
}

// An Entry is one test of llama-bench -o json; it has more fields.
type Entry struct {
	Commit  string    `json:"build_commit"`
	Prompt  int       `json:"n_prompt"`
	Decode  int       `json:"n_gen"`
	Depth   int       `json:"n_depth"`
	Test    string    `json:"test"` // for programs without a depth: "tg8@pp64" is decoding at depth 64
	Speed   float64   `json:"avg_ts"`
	Samples []float64 `json:"samples_ts"`
	Batch   int       `json:"-"`
}

// An peerError says which program failed, how, and quotes its last output.
type peerError struct {
	Command string
	Err     error
	Said    string // its standard error
}

func (e *peerError) Error() string {
	return fmt.Sprintf("%s: %v%s", e.Command, e.Err, lastLines(e.Said))
}

// Unwrap returns the cause.
func (e *peerError) Unwrap() error { return e.Err }

// shallow is the context of a batch without one: llama-batched-bench requires a
// prompt.
const shallow = 16

// Run measures one round and appends the results to Found.
func (p *Peer) Run(ctx context.Context, c *PeerTest) error {
	args := []string{"-m", c.Model, "-t", strconv.Itoa(c.Threads)}
	parse := ParseBench
	if p.Batched {
		depths, longest := []int{shallow}, shallow
		for _, d := range c.Depths {
			depths, longest = append(depths, d), max(longest, d)
		}
		args = append(args, "-c", strconv.Itoa(c.Batch*(longest+c.Decode)), "-b", "512", "-ub", "512",
			"-npp", list(depths), "-ntg", strconv.Itoa(c.Decode), "-npl", strconv.Itoa(c.Batch))
		parse = ParseBatched
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
		return &peerError{Command: p.Command(args), Err: fmt.Errorf("want what %s prints: %w", p.prints(), err)}
	}
	p.Found = append(p.Found, found...)
	return nil
}

func (p *Peer) prints() string {
	if p.Batched {
		return "llama-batched-bench"
	}
	return "llama-bench -o json"
}

// depths returns the options for generation after a context, which differ
// between versions of llama-bench.
func (p *Peer) depths(ctx context.Context, c *PeerTest) (args []string, err error) {
	help, err := p.output(ctx, []string{"--help"})
	switch {
	case err != nil:
		return nil, err
	case bytes.Contains(help, []byte("--n-depth")):
		return []string{"-d", list(append([]int{0}, c.Depths...))}, nil
	case !bytes.Contains(help, []byte("-gp ")):
		return nil, &peerError{Command: p.Program, Err: errors.New("it has neither -d nor -gp for --depth")}
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

// Command returns the program's command line with additional arguments.
func (p *Peer) Command(args []string) string {
	return strings.Join(append(append([]string{p.Program}, p.Args...), args...), " ")
}

// output runs the program and returns its output.
func (p *Peer) output(ctx context.Context, args []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.Program, append(append([]string{}, p.Args...), args...)...)
	cmd.WaitDelay = time.Second
	var out, errw limited
	cmd.Stdout, cmd.Stderr = &out, &errw
	if err := run(cmd); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &peerError{p.Command(args), err, errw.String()}
	}
	if p.Batched { // which prints its table to either
		return append(out.Bytes(), errw.Bytes()...), nil
	}
	return out.Bytes(), nil
}

// maxOutput is far more than such a program prints.
const maxOutput = 16 << 20

// limited keeps the first bytes of a program's output.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxOutput {
		return 0, errors.New("the program prints too much")
	}
	return l.Buffer.Write(p)
}

// lastLines returns the end of a program's output, for an error.
func lastLines(s string) string {
	const most = 5
	lines := strings.Split(strings.TrimSpace(s), "\n")
	lines = lines[max(0, len(lines)-most):]
	if lines[0] == "" {
		return ""
	}
	return "\n" + strings.Join(lines, "\n")
}

// ParseBench reads the JSON of llama-bench, into which some versions mix
// warnings.
func ParseBench(b []byte) ([]Entry, error) {
	var clean []byte
	for line := range bytes.Lines(b) {
		if !bytes.HasPrefix(line, []byte("WARNING: ")) {
			clean = append(clean, line...)
		}
	}
	var list []Entry
	if err := json.Unmarshal(clean, &list); err != nil {
		return nil, JSONError(err)
	}
	for i := range list {
		e := &list[i]
		e.Batch = 1
		if strings.HasPrefix(e.Test, "tg") && strings.Contains(e.Test, "@pp") {
			e.Prompt, e.Depth = 0, e.Prompt
		}
		if len(e.Samples) == 0 {
			e.Samples = []float64{e.Speed}
		}
		for _, s := range e.Samples {
			if !Plausible(s) {
				return nil, fmt.Errorf("test %d: %v tokens a second", i, s)
			}
		}
	}
	return list, nil
}

// ParseBatched reads the table of llama-batched-bench:
//
//	|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s | …
//	|    16 |     16 |    8 |    256 |    0.404 |   317.08 |    0.914 |   140.07 | …
func ParseBatched(b []byte) (list []Entry, err error) {
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
		if err != nil { // the header, or something else
			continue
		}
		speed, err := strconv.ParseFloat(strings.TrimSpace(cells[7]), 64)
		if err != nil || !Plausible(speed) {
			return nil, fmt.Errorf("%q tokens a second", strings.TrimSpace(cells[7]))
		}
		e := Entry{Depth: whole[0], Decode: whole[1], Batch: whole[2], Samples: []float64{speed}}
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

// Plausible reports whether ratios with this speed are finite.
func Plausible(speed float64) bool { return speed > 1e-6 && speed < 1e12 }

// JSONError adds the position to an error of the decoder.
func JSONError(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("offset %d: %w", e.Offset, err)
	}
	return err
}
