package flow

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/live"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"

	"github.com/spf13/cobra"
)

// A bencher is the flags of bench.
type bencher struct {
	only     []string
	seconds  float64
	deadline float64
	osc      float64
}

// A benched is what bench prints with --json.
type benched struct {
	Chains    []chainRow    `json:"chains,omitempty"`
	Overhead  float64       `json:"scheduler_ns_per_node,omitempty"`
	Backward  []backwardRow `json:"backward,omitempty"`
	Deadlines []deadlineRow `json:"deadlines,omitempty"`
	Osc       *oscRow       `json:"oscillator,omitempty"`
}

// A chainRow is the time of a block over its nodes, at best.
type chainRow struct {
	Name   string  `json:"name"`
	Nodes  int     `json:"nodes"`
	Frames int     `json:"frames"`
	Nanos  float64 `json:"ns_per_node"`
}

type backwardRow struct {
	Name     string  `json:"name"`
	Forward  float64 `json:"forward_us"`
	Backward float64 `json:"backward_us"`
}

type deadlineRow struct {
	Load    bool    `json:"load"`
	Blocks  int64   `json:"blocks"`
	Late    int64   `json:"late"`
	FIFO    int     `json:"fifo"`
	Native  bool    `json:"native"`
	Wake    float64 `json:"wake_p999_us"`
	Compute float64 `json:"compute_p999_us"`
}

func bench(env *command.Env) *cobra.Command {
	var b bencher
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure what a block of a graph costs on this machine",
		Long: "Run built-in graphs: chains of gains and rows of filters, the best time of many blocks in nanoseconds per node;\n" +
			"a filter of 32 rows and 4096 frames backward; deadlines of 64 frames with and without a program that allocates;\n" +
			"and an oscillator, 8 times oversampled, forward and backward, with and without metrics.",
		Example: "  atenia flow bench\n  atenia flow bench --only chains --json\n  atenia flow bench --only deadlines --deadline-seconds 600",
		Args:    cobra.NoArgs,
	}
	parts := []string{"chains", "backward", "deadlines", "oscillator"}
	f := c.Flags()
	f.StringSliceVar(&b.only, "only", parts, "parts to measure, separated by commas")
	f.Float64Var(&b.seconds, "seconds", 0.3, "seconds for each chain")
	f.Float64Var(&b.deadline, "deadline-seconds", 3, "seconds for each deadline test")
	f.Float64Var(&b.osc, "oscillator-seconds", 60, "seconds of sound for the oscillator")
	c.RunE = func(c *cobra.Command, _ []string) error {
		for _, o := range b.only {
			if !slices.Contains(parts, o) {
				return command.Usagef("--only %s: want %s", o, strings.Join(parts, ", "))
			}
		}
		if !(b.seconds > 0 && b.deadline > 0 && b.osc > 0) {
			return command.Usagef("--seconds, --deadline-seconds and --oscillator-seconds: want positive numbers")
		}
		r, err := b.run(c.Context(), env.Progress)
		if err != nil {
			return err
		}
		if *env.JSON {
			return env.PrintJSON(r)
		}
		return r.print(env.Out)
	}
	return c
}

func (b *bencher) run(ctx context.Context, progress io.Writer) (*benched, error) {
	r := &benched{}
	for _, part := range []struct {
		name string
		do   func(context.Context, *benched) error
	}{{"chains", b.chains}, {"backward", b.backward}, {"deadlines", b.deadlines}, {"oscillator", b.oscillator}} {
		if !slices.Contains(b.only, part.name) {
			continue
		}
		fmt.Fprintf(progress, "\r%s …          ", part.name)
		if err := part.do(ctx, r); err != nil {
			return nil, fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return r, nil
}

// gains returns a chain of gains between an input and a probe.
func gains(n int) string {
	var nodes, edges strings.Builder
	last := "in"
	for i := range n {
		fmt.Fprintf(&nodes, `{"name":"g%d","type":"Gain","supports_v2":true,"params":{"gain":%g}},`, i, 1+1e-3*float64(i%2))
		fmt.Fprintf(&edges, `{"source":"%s","target":"g%d"},`, last, i)
		last = fmt.Sprintf("g%d", i)
	}
	return fmt.Sprintf(`{"nodes":[{"name":"in","type":"Input"},%s{"name":"out","type":"Probe"}],"edges":[%s{"source":"%s","target":"out"}]}`, nodes.String(), edges.String(), last)
}

// filters returns n parallel filters without readers.
func filters(n int) string {
	var nodes, edges strings.Builder
	for i := range n {
		fmt.Fprintf(&nodes, `,{"name":"f%d","type":"Biquad","supports_v2":true,"params":{"kind":"lowpass","f0":%d}}`, i, 200+50*i)
		fmt.Fprintf(&edges, `{"source":"in","target":"f%d"},`, i)
	}
	return fmt.Sprintf(`{"nodes":[{"name":"in","type":"Input"},{"name":"out","type":"Probe"}%s],"edges":[%s{"source":"in","target":"out"}]}`, nodes.String(), edges.String())
}

// A path is one way to run a graph.
type path struct {
	name     string
	plan     func(int) string
	nodes    int
	options  flow.Options
	realtime bool
}

// chainFrames are the block sizes of chains.
var chainFrames = [...]int{1, 64, 256, 1024}

// chains measures each path at each block size.
func (b *bencher) chains(ctx context.Context, r *benched) error {
	for _, p := range []path{
		{"gain chain", gains, 100, flow.Options{}, false},
		{"gain chain, real-time executor", gains, 100, flow.Options{}, true},
		{"gain chain, every node asked", gains, 100, flow.Options{DisableStatic: true}, false},
		{"biquads, one by one", filters, 96, flow.Options{DisableFusion: true}, false},
		{"biquads, fused", filters, 96, flow.Options{}, false},
	} {
		for _, frames := range chainFrames {
			if err := ctx.Err(); err != nil {
				return err
			}
			ns, err := p.measure(frames, time.Duration(b.seconds*float64(time.Second)))
			if err != nil {
				return err
			}
			r.Chains = append(r.Chains, chainRow{p.name, p.nodes, frames, ns})
			if frames == 1 && p.name == "gain chain" {
				r.Overhead = ns // without computation, the time is that of the round trip
			}
		}
	}
	return nil
}

// measure returns the least time of a block, in nanoseconds a node.
func (p *path) measure(frames int, span time.Duration) (float64, error) {
	s, err := session(p.plan(p.nodes), frames, p.options)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	in, err := s.Input("in")
	if err != nil {
		return 0, err
	}
	for i := range in.Data {
		in.Data[i] = float32(math.Sin(float64(i)))
	}
	for range 16 {
		if err := s.Block(); err != nil {
			return 0, err
		}
	}
	// So many blocks at a time that the clock's own cost is lost in them.
	const batch = 20
	best := time.Duration(math.MaxInt64)
	if p.realtime {
		step := s.Step()
		for start := time.Now(); time.Since(start) < span; {
			loop, err := live.NewLoop(live.LoopConfig{Blocks: 50}, func() graph.Code {
				var code graph.Code
				t := time.Now()
				for range batch {
					code = step()
				}
				best = min(best, time.Since(t))
				return code
			})
			if err != nil {
				return 0, err
			}
			loop.Run()
		}
		return float64(best) / batch / float64(p.nodes), nil
	}
	for start := time.Now(); time.Since(start) < span; {
		t := time.Now()
		for range batch {
			if err := s.Block(); err != nil {
				return 0, err
			}
		}
		best = min(best, time.Since(t))
	}
	return float64(best) / batch / float64(p.nodes), nil
}

// session makes a session of a plan's text.
func session(text string, frames int, o flow.Options) (*flow.Session[float32], error) {
	p, err := graph.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	o.BlockFrames = frames
	return flow.New[float32](p, o)
}

// backward measures a filter of 32 rows and 4096 frames.
func (b *bencher) backward(ctx context.Context, r *benched) error {
	const text = `{"nodes":[{"name":"in","type":"Input","params":{"batches":32}},{"name":"f","type":"Biquad","supports_v2":true,"params":{"kind":"lowpass","f0":1000}},{"name":"out","type":"Probe"}],
		"edges":[{"source":"in","target":"f"},{"source":"f","target":"out"}]}`
	row := backwardRow{"biquad [32, 4096], a training step of a session", math.Inf(1), math.Inf(1)}
	s, err := session(text, 4096, flow.Options{Training: true})
	if err != nil {
		return err
	}
	defer s.Close()
	rec, err := s.Record(flow.Recording{})
	if err != nil {
		return err
	}
	in, err := s.Input("in")
	if err != nil {
		return err
	}
	stream := make([]float32, len(in.Data))
	for i := range stream {
		stream[i] = float32(math.Sin(float64(i)))
	}
	out, g := map[string]tensor32{}, flow.Gradients[float32]{}
	for start := time.Now(); time.Since(start).Seconds() < 4*b.seconds; {
		if err := ctx.Err(); err != nil {
			return err
		}
		t := time.Now()
		s.Reset()
		copy(in.Data, stream)
		if err := s.Block(); err != nil {
			return err
		}
		row.Forward = min(row.Forward, time.Since(t).Seconds()*1e6)
		t = time.Now()
		if out["out"], err = s.Probe("out"); err != nil { // the gradient of half its square
			return err
		}
		if err := rec.BackwardInto(&g, out, flow.Sweep{}); err != nil {
			return err
		}
		row.Backward = min(row.Backward, time.Since(t).Seconds()*1e6)
	}
	r.Backward = append(r.Backward, row)
	return nil
}

// deadlines runs a chain of gains in real time, first on a quiet machine, then
// beside goroutines that keep the garbage collector busy.
func (b *bencher) deadlines(ctx context.Context, r *benched) error {
	for _, load := range []bool{false, true} {
		s, err := session(gains(100), 64, flow.Options{})
		if err != nil {
			return err
		}
		for range 16 {
			if err := s.Block(); err != nil {
				return err
			}
		}
		const rate = 48000
		loop, err := live.NewLoop(live.LoopConfig{Frames: 64, Rate: rate, Blocks: max(1, int64(b.deadline*rate/64))}, s.Step())
		if err != nil {
			return err
		}
		busy, quiet := context.WithCancel(ctx)
		if load {
			for range runtime.GOMAXPROCS(0) {
				go allocate(busy)
			}
		}
		stop := context.AfterFunc(ctx, loop.Stop)
		report := loop.Run()
		stop()
		quiet()
		s.Close()
		if err := ctx.Err(); err != nil {
			return err
		}
		us := func(d time.Duration) float64 { return float64(d) / 1e3 }
		r.Deadlines = append(r.Deadlines, deadlineRow{load, report.Blocks, report.Late, report.FIFO, report.Native,
			us(report.Wake.Quantile(.999)), us(report.Work.Quantile(.999))})
	}
	return nil
}

// A tree is what allocate makes.
type tree struct{ left, right *tree }

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

// allocate makes trees until the context ends.
func allocate(ctx context.Context) {
	var kept [8]*tree
	for i := 0; ctx.Err() == nil; i++ {
		kept[i%len(kept)] = grow(14)
	}
	runtime.KeepAlive(kept)
}

// print writes tables.
func (r *benched) print(w io.Writer) error {
	var b strings.Builder
	if len(r.Chains) > 0 {
		fmt.Fprintf(&b, "%-34s %8s %8s %8s %8s   nodes in real time\n", "ns a node, frames of a block:", "1", "64", "256", "1024")
	}
	for i, c := range r.Chains {
		if i%len(chainFrames) == 0 {
			fmt.Fprintf(&b, "%-34s", c.Name)
		}
		fmt.Fprintf(&b, " %8.1f", c.Nanos)
		if i%len(chainFrames) == len(chainFrames)-1 {
			fmt.Fprintf(&b, "   %.0f at 64 frames, 48 kHz\n", 64e9/48000/r.Chains[i-2].Nanos)
		}
	}
	if r.Overhead > 0 {
		fmt.Fprintf(&b, "scheduler: %.1f ns a node\n", r.Overhead)
	}
	for _, x := range r.Backward {
		fmt.Fprintf(&b, "%s: forward %.0f µs, backward %.0f µs\n", x.Name, x.Forward, x.Backward)
	}
	for _, d := range r.Deadlines {
		name := "quiet"
		if d.Load {
			name = "beside goroutines that allocate"
		}
		fmt.Fprintf(&b, "deadlines, %s: %d of %s late; 99.9 %% woken within %.0f µs, computed in %.0f µs; FIFO %d\n", name, d.Late, spelling.Count(d.Blocks, "block"), d.Wake, d.Compute, d.FIFO)
	}
	if o := r.Osc; o != nil {
		fmt.Fprintf(&b, "saw ×8, %.4g s: %.3g Mframe/s forward, %.3g with metrics (%+.1f %%), %.3g backward; %.4g J; %.0f ns a node and block\n",
			o.Seconds, o.Forward/1e6, o.Metered/1e6, 100*o.Overhead, o.Backward/1e6, o.Joules, o.Nanos)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
