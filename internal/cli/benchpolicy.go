package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"atenia"
	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/internal/store/durable"
	"atenia/place"

	"github.com/spf13/cobra"
)

// A policyBench compares a model that follows what it learned with one that does
// not, while neighbours come and go.
type policyBench struct {
	neighbours []int // busy processes, by phase
	tokens     int   // of each model in a phase
	turn       int   // tokens that one model generates before the other's turn
}

// policyPhase is a line of the result.
type policyPhase struct {
	Neighbours int     `json:"neighbours"`
	Tokens     int     `json:"tokens"`
	Without    float64 `json:"seconds_without"` // a token
	With       float64 `json:"seconds_with"`
}

// policyResult is what bench policy prints with --json.
type policyResult struct {
	Phases  []policyPhase     `json:"phases"`
	Changes []place.RunChange `json:"changes"` // of the copy that learns
}

func (a *app) benchPolicy() *cobra.Command {
	b := &policyBench{}
	c := &cobra.Command{
		Use:         "policy [MODEL]",
		Annotations: command.Patient,
		Short:       "Measure what following what was learned gains beside neighbours",
		Long: "Generate with two copies of a model in turns, one that learns how many threads are fastest and one that always\n" +
			"uses all, while busy processes come and go. Texts are the same; seconds a token are printed. What is learned\n" +
			"is forgotten afterwards.",
		Example: "  atenia bench policy model.gguf --neighbours 0,1,0 -n 512",
		Args:    cobra.MaximumNArgs(1),
	}
	f := c.Flags()
	f.IntSliceVar(&b.neighbours, "neighbours", []int{0, 1, 0, 2}, "busy processes in each phase: `N,...`")
	f.IntVarP(&b.tokens, "tokens", "n", 1024, "tokens of each model in a phase")
	f.IntVar(&b.turn, "turn", 64, "tokens of one model before the other's turn")
	c.RunE = func(c *cobra.Command, args []string) error {
		if b.tokens < 1 || b.turn < 2 || len(b.neighbours) == 0 {
			return command.Usagef("want at least one token, two tokens a turn and one phase")
		}
		r, err := b.run(c.Context(), optionalModel(args))
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(r)
		}
		fmt.Fprintln(a.out, "neighbours  tokens  s/token without  with        gain")
		for _, p := range r.Phases {
			fmt.Fprintf(a.out, "%-10d  %-6d  %-15.6f  %-10.6f  %+5.1f %%\n", p.Neighbours, p.Tokens, p.Without, p.With, 100*(p.Without/p.With-1))
		}
		for _, x := range r.Changes {
			fmt.Fprintf(a.out, "token %d: %s %s → %s, %s\n", x.Step, x.What, x.From, x.To, x.Rule)
		}
		return nil
	}
	return c
}

// A copyOf is a model with what it generated.
type copyOf struct {
	model   *atenia.Model
	text    strings.Builder
	seed    uint64
	tokens  int
	seconds float64
}

func (b *policyBench) run(ctx context.Context, path string) (r *policyResult, err error) {
	dir, remove, err := durable.TempDir("", "atenia-policy-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r = &policyResult{}
	if err := b.phases(ctx, path, dir, r); err != nil {
		return nil, err
	}
	last, err := atenia.ReadLastRun(dir, "")
	if err != nil {
		return nil, err
	}
	r.Changes = last.Changes
	return r, nil
}

// phases opens both copies and measures each phase.
func (b *policyBench) phases(ctx context.Context, path, dir string, r *policyResult) (err error) {
	copies := [2]*copyOf{{}, {}}
	for i, c := range copies {
		var cfg atenia.Config
		if i == 1 {
			cfg.Observe = atenia.Observation{Learning: filepath.Join(dir, defaultName), Account: dir}
		}
		if c.model, err = atenia.Open(ctx, path, &cfg); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.model.Close()) }()
	}
	for _, n := range b.neighbours {
		p, err := b.phase(ctx, copies, n)
		if err != nil {
			return err
		}
		r.Phases = append(r.Phases, p)
	}
	if copies[0].text.String() != copies[1].text.String() {
		return fmt.Errorf("%w: the two copies wrote different texts", command.ErrVerify)
	}
	return nil
}

// phase lets both copies generate in turns beside busy processes.
func (b *policyBench) phase(ctx context.Context, copies [2]*copyOf, neighbours int) (p policyPhase, err error) {
	stop, err := bench.StartNeighbours(neighbours, "bench", "neighbour")
	if err != nil {
		return p, err
	}
	defer stop()
	for _, c := range copies {
		c.tokens, c.seconds = 0, 0
	}
	for copies[0].tokens < b.tokens {
		for _, c := range copies {
			if err := c.generate(ctx, b.turn); err != nil {
				return p, err
			}
		}
	}
	each := func(c *copyOf) float64 { return c.seconds / float64(c.tokens) }
	return policyPhase{neighbours, copies[0].tokens, each(copies[0]), each(copies[1])}, nil
}

// generate continues a text by some tokens. The time is that of tokens after the
// first, which are decoded.
func (c *copyOf) generate(ctx context.Context, tokens int) error {
	c.seed++
	o := atenia.Options{MaxTokens: tokens, IgnoreEnd: true}
	o.Sampling.Temperature, o.Sampling.Seed = 1, c.seed
	var first time.Time
	n := 0
	for t, err := range c.model.Generate(ctx, atenia.Prompt{Text: "Once upon a time", Options: o}) {
		if err != nil {
			return err
		}
		c.text.WriteString(t.Text)
		if n++; n == 1 {
			first = time.Now()
		}
	}
	c.tokens, c.seconds = c.tokens+max(1, n-1), c.seconds+time.Since(first).Seconds()
	return nil
}
