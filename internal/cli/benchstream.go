package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"

	"atenia"
	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/place"

	"github.com/spf13/cobra"
)

// A measurement is one call of the command.
type measurement struct {
	e      *command.Env
	s      settings
	ratios []float64
	ram    string
	rounds int
	before string
	self   []string // what starts a child
}

// benchStreamCommand returns the command.
func benchStreamCommand(e *command.Env) *cobra.Command {
	b := &measurement{e: e}
	c := &cobra.Command{
		Use:         "stream MODEL",
		Annotations: command.Patient,
		Short:       "Measure a model that is larger than memory",
		Long: "Run a model in less memory than it needs, mapped and streamed within a budget in turns. Every run is a\n" +
			"process of its own with a cold cache, in a control group of that size where permitted. Seconds per pass,\n" +
			"which is one token, are compared with the limit of the disk: the bytes that are not kept in memory divided\n" +
			"by its bandwidth. For mixtures, those are the experts that tokens chose and memory did not have; a third run\n" +
			"reads all experts of each layer, for comparison. The exit code is 3 if logits differ or a run exceeds its budget.",
		Example: "  atenia bench stream model.gguf                      # memory for 1/1.15, 1/1.33 and 1/2 of the model\n" +
			"  atenia bench stream model.gguf --ram 2GiB\n" +
			"  atenia bench stream model.gguf --ratio 4 --json > before.json\n" +
			"  atenia bench stream model.gguf --ratio 4 --compare before.json",
		Args: cobra.ExactArgs(1),
	}
	f := c.Flags()
	b.s.register(f)
	f.Float64SliceVar(&b.ratios, "ratio", []float64{1.15, 1.33, 2}, "`RATIOS` of model size to memory size, separated by commas")
	f.StringVar(&b.ram, "ram", "", "memory size, such as 2GiB, instead of ratios")
	f.IntVarP(&b.rounds, "rounds", "r", 2, "number of turns of each run")
	f.StringVar(&b.before, "compare", "", "compare with the result in `FILE`, written by --json")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := b.check(); err != nil {
			return err
		}
		r, err := b.run(c.Context(), args[0])
		if err != nil {
			return err
		}
		if *e.JSON {
			err = e.PrintJSON(r)
		} else {
			err = r.write(e.Out)
		}
		if err != nil {
			return err
		}
		return r.verify()
	}
	c.AddCommand(child(e))
	return c
}

func (b *measurement) check() error {
	for _, r := range b.ratios {
		if !(r > 0 && r < 1e6) {
			return command.Usagef("--ratio is %g, want a number above 0", r)
		}
	}
	switch {
	case b.rounds < 1:
		return command.Usagef("--rounds is %d, want 1 or more", b.rounds)
	case b.s.prompt < 1 || b.s.passes < 1:
		return command.Usagef("--prompt and --passes are %d and %d, want 1 or more", b.s.prompt, b.s.passes)
	}
	self, err := os.Executable()
	b.self = []string{self, "bench", "stream", "child"}
	return err
}

// run takes all measurements.
func (b *measurement) run(ctx context.Context, path string) (*streamResult, error) {
	r := &streamResult{Model: path, LRU: lru(), Prompt: b.s.prompt, Passes: b.s.passes, Rounds: b.rounds}
	if b.before != "" {
		before, err := readStreamResult(b.before)
		if err != nil {
			return nil, fmt.Errorf("--compare: %w", err)
		}
		r.before = before
	}
	d, err := atenia.Hardware(ctx, "", "")
	if err != nil {
		return nil, err
	}
	r.Machine = d.ID
	if _, r.Bytes, err = bench.Rates(ctx, path, b.s.threads); err != nil {
		return nil, err
	}
	caps, err := b.caps(r.Bytes)
	if err != nil {
		return nil, err
	}
	for _, limit := range caps {
		t := turns{limit: limit}
		for range b.rounds {
			if err := b.turn(ctx, path, &t); err != nil {
				return nil, err
			}
		}
		r.ControlGroup = t.group
		r.Rows = append(r.Rows, t.row(r.Bytes))
	}
	return r, nil
}

// turns are the runs with one size of memory.
type turns struct {
	limit            int64
	group            string
	rates            []place.Rates
	mapped, streamed []*bench.PassesReport
	whole            []*bench.PassesReport // all experts of a layer, if the model has any
}

// turn runs both ways once. Storage is measured just before, because its speed
// varies on a shared machine; that also evicts the file from the page cache, as
// a streamed run does.
func (b *measurement) turn(ctx context.Context, path string, t *turns) (err error) {
	if b.s.rates, _, err = bench.Rates(ctx, path, b.s.threads); err != nil {
		return err
	}
	t.rates = append(t.rates, b.s.rates)
	var r *bench.PassesReport
	if r, t.group, err = b.child(ctx, path, t.limit, t.limit); err != nil {
		return fmt.Errorf("streamed, %d bytes of memory: %w", t.limit, err)
	}
	t.streamed = append(t.streamed, r)
	if r.Experts > 0 {
		whole, _, err := b.child(ctx, path, t.limit, t.limit, "--whole")
		if err != nil {
			return fmt.Errorf("whole layers of experts, %d bytes of memory: %w", t.limit, err)
		}
		t.whole = append(t.whole, whole)
	}
	if r, _, err = b.child(ctx, path, t.limit, 0); err != nil {
		return fmt.Errorf("mapped, %d bytes of memory: %w", t.limit, err)
	}
	t.mapped = append(t.mapped, r)
	return nil
}

// caps returns the sizes of memory to measure with.
func (b *measurement) caps(model int64) (caps []int64, err error) {
	if b.ram != "" {
		v, err := atenia.ParseBudget("ram=" + b.ram)
		return []int64{v.RAM}, err
	}
	for _, r := range b.ratios {
		caps = append(caps, int64(float64(model)/r))
	}
	return caps, nil
}

// child runs one process in a group with so much memory, and returns which kind
// of group held it.
func (b *measurement) child(ctx context.Context, path string, limit, ram int64, more ...string) (*bench.PassesReport, string, error) {
	num := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	args := append(b.self[1:len(b.self):len(b.self)],
		"--threads", strconv.Itoa(b.s.threads), "--prompt", strconv.Itoa(b.s.prompt), "--passes", strconv.Itoa(b.s.passes),
		"--ram", strconv.FormatInt(ram, 10), "--ssd", num(b.s.rates.SSD), "--ssd-busy", num(b.s.rates.SSDBusy), "--memory", num(b.s.rates.RAM), "--memory-busy", num(b.s.rates.RAMBusy))
	args = append(append(args, more...), "--", path)
	c := exec.CommandContext(ctx, b.self[0], args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	in, err := c.StdinPipe()
	if err != nil {
		return nil, "", err
	}
	held := "none"
	g, refused := newControlGroup(limit)
	if refused == nil {
		defer func() { _ = g.remove() }() // it is empty by now
	} else {
		held = "none: " + refused.Error()
	}
	if err := c.Start(); err != nil {
		return nil, "", err
	}
	if g != nil {
		held = g.version
		if err := g.add(c.Process.Pid); err != nil {
			held = "none: " + err.Error()
		}
	}
	_, err = io.WriteString(in, "go\n")
	in.Close()
	if e := c.Wait(); e != nil {
		if c.ProcessState.ExitCode() < 0 && g != nil && ctx.Err() == nil { // by a signal
			return nil, "", fmt.Errorf("%w: there may be too little memory: \"atenia plan %s --ram %d\" prints the minimum", e, path, limit)
		}
		return nil, "", fmt.Errorf("%w: %s", e, bytes.TrimSpace(errs.Bytes()))
	}
	if err != nil {
		return nil, "", err
	}
	r := &bench.PassesReport{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		return nil, "", fmt.Errorf("a child's report: %w", err)
	}
	return r, held, nil
}
