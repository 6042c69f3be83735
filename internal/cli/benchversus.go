package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
)

// A versus is a comparison with other programs in turns.
type versus struct {
	programs []string // as given
	peers    []*bench.Peer
	rounds   int
	model    string
}

// benchVersus is what bench adds with --vs.
type benchVersus struct {
	Peers  []versusPeer `json:"peers"`
	Rounds int          `json:"rounds"`
	Rows   []versusRow  `json:"rows"`
}

type versusPeer struct {
	Name    string `json:"name"`
	Command string `json:"command"`
	Build   string `json:"build,omitempty"`
}

// A versusRow compares medians with those of the best peer; a ratio above 1
// means that atenia is faster.
type versusRow struct {
	Test   string  `json:"test"`
	Ours   rate    `json:"ours"`
	Theirs []rate  `json:"theirs"` // in the order of the peers
	Best   string  `json:"best"`   // the fastest peer's name
	Ratio  float64 `json:"ratio"`
	Low    float64 `json:"low"`  // our slowest sample to its fastest
	High   float64 `json:"high"` // our fastest to its slowest
}

// check rejects tests that the other programs cannot run, before anything is
// measured.
func (v *versus) check(batch int) error {
	if v.rounds < 1 {
		return command.Usagef("--rounds is %d, want 1 or more", v.rounds)
	}
	if fi, err := os.Stat(v.model); !strings.HasSuffix(strings.ToLower(v.model), ".gguf") || err == nil && fi.IsDir() {
		return command.Usagef("--vs needs a .gguf file, which all programs read")
	}
	v.peers = nil
	for _, s := range v.programs {
		p, err := bench.ParsePeer(s)
		if err != nil {
			return fmt.Errorf("--vs: %w", err)
		}
		if p.Batched != (batch > 1) {
			return command.Usagef("--vs %s: --batch needs llama-batched-bench, which in turn needs --batch", p.Program)
		}
		if slices.ContainsFunc(v.peers, func(q *bench.Peer) bool { return q.Name == p.Name }) {
			return command.Usagef("--vs: two programs are named %s: give one another name, as in --vs NAME=PROGRAM", p.Name)
		}
		v.peers = append(v.peers, p)
	}
	return nil
}

// run measures one round of every peer.
func (v *versus) run(ctx context.Context, threads int, c *bench.Config) error {
	for _, p := range v.peers {
		t := bench.PeerTest{Model: v.model, Threads: threads, Prompt: c.Prompt, Decode: c.Decode, Depths: c.Depths, Batch: c.Batch, Repeats: c.Repeats}
		if err := p.Run(ctx, &t); err != nil {
			return fmt.Errorf("--vs: %w", err)
		}
	}
	return nil
}

// result pairs this program's tests with the others'.
func (v *versus) result(r *benchResult) (*benchVersus, error) {
	out := &benchVersus{Rounds: v.rounds, Rows: []versusRow{}}
	for _, row := range r.rows() {
		line := versusRow{Test: row.name, Ours: row.rate}
		best := rate{}
		for _, p := range v.peers {
			theirs, err := rateOf(p, &row, max(r.Batch, 1))
			if err != nil {
				return nil, err
			}
			if line.Theirs = append(line.Theirs, theirs); theirs.Median > best.Median {
				best, line.Best = theirs, p.Name
			}
		}
		line.Ratio, line.Low, line.High = row.Median/best.Median, row.Min/best.Max, row.Max/best.Min
		out.Rows = append(out.Rows, line)
	}
	for _, p := range v.peers {
		line := versusPeer{Name: p.Name, Command: p.Command(nil)}
		if len(p.Found) > 0 {
			line.Build = p.Found[0].Commit
		}
		out.Peers = append(out.Peers, line)
	}
	return out, nil
}

// rateOf returns a peer's rate for a test of ours.
func rateOf(p *bench.Peer, row *benchRow, batch int) (rate, error) {
	theirs := rate{Tokens: row.Tokens}
	for _, e := range p.Found {
		if e.Prompt == row.prompt && e.Decode == row.decode && e.Depth == row.depth && e.Batch == batch {
			theirs.Samples = append(theirs.Samples, e.Samples...)
		}
	}
	if len(theirs.Samples) == 0 {
		return rate{}, fmt.Errorf("--vs: %s printed no result for %q", p.Name, row.name)
	}
	theirs.summarize()
	return theirs, nil
}

// summarize finds median and spread of the samples.
func (r *rate) summarize() {
	s := slices.Sorted(slices.Values(r.Samples))
	n := len(s)
	r.Median, r.Min, r.Max = (s[(n-1)/2]+s[n/2])/2, s[0], s[n-1]
}

// merge adds the samples of another round.
func (r *benchResult) merge(o *benchResult) {
	add := func(a, b *rate) {
		if a.Samples = append(a.Samples, b.Samples...); len(a.Samples) > 0 {
			a.summarize()
		}
	}
	add(&r.Prefill, &o.Prefill)
	add(&r.Decode, &o.Decode)
	for i := range r.Depths {
		add(&r.Depths[i].rate, &o.Depths[i].rate)
	}
	r.Migrations += o.Migrations
	r.Bandwidth, r.FLOPS, r.DotOPS = max(r.Bandwidth, o.Bandwidth), max(r.FLOPS, o.FLOPS), max(r.DotOPS, o.DotOPS)
	r.PrefillSpeed, r.DecodeSpeed = r.Prefill.Median, r.Decode.Median
	if r.Bandwidth > 0 && r.FLOPS > 0 && r.DotOPS > 0 {
		r.OpsShare = r.PrefillSpeed * (r.FloatOps/r.FLOPS + r.Int8Ops/r.DotOPS)
		r.Share = r.DecodeSpeed / float64(r.Batch) * float64(r.TokenBytes) / r.Bandwidth
	}
}

func (a *app) printVersus(v *benchVersus) error {
	fmt.Fprintf(a.out, "\nin turns, %s, with\n", spelling.Count(v.Rounds, "round"))
	for _, p := range v.Peers {
		fmt.Fprintf(a.out, "  %s = %s", p.Name, p.Command)
		if p.Build != "" {
			fmt.Fprintf(a.out, " (%s)", p.Build)
		}
		fmt.Fprintln(a.out)
	}
	w := table(a.out)
	fmt.Fprint(w, "test\tatenia\tmin\tmax")
	for _, p := range v.Peers {
		fmt.Fprintf(w, "\t%s\tmin\tmax", p.Name)
	}
	fmt.Fprintln(w, "\tratio\tmin\tmax")
	for _, r := range v.Rows {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f", r.Test, r.Ours.Median, r.Ours.Min, r.Ours.Max)
		for _, t := range r.Theirs {
			fmt.Fprintf(w, "\t%.2f\t%.2f\t%.2f", t.Median, t.Min, t.Max)
		}
		fmt.Fprintf(w, "\t%.3f\t%.3f\t%.3f\n", r.Ratio, r.Low, r.High)
	}
	return w.Flush()
}
