package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/live"
	"atenia/flow/media"
	"atenia/flow/node"
	"atenia/flow/view"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

// A runner is the flags of run.
type runner struct {
	source
	score
	changes  []string
	fade     int64
	in, out  []string
	seconds  float64
	bits     int
	float    bool
	wide     bool
	threads  int
	policy   string
	scan     string
	metrics  bool
	scrape   string
	trace    string
	log      string
	realtime bool
	limit    time.Duration
	states   []string
}

// A ran is what run prints with --json.
type ran struct {
	Blocks   int64          `json:"blocks"`
	Rate     float64        `json:"rate"`
	Seconds  float64        `json:"seconds"`
	Audio    float64        `json:"audio_seconds"`
	Outputs  []ranOutput    `json:"outputs"`
	Lost     int64          `json:"lost_blocks"`
	Events   int64          `json:"events"`
	First    []ranEvent     `json:"first_events,omitempty"`
	Library  []libraryEvent `json:"library_events,omitempty"`
	Warnings []string       `json:"warnings,omitempty"`
	Metrics  []nodeCost     `json:"metrics,omitempty"`
	Realtime *ranRealtime   `json:"realtime,omitempty"`
}

// mostEvents is how many events are shown; the others are counted.
const mostEvents = 10

type ranEvent struct {
	Block int64  `json:"block"`
	Node  string `json:"node"`
	Frame int64  `json:"frame"`
	Kind  string `json:"kind"`
	Code  string `json:"code,omitempty"`
	Text  string `json:"text"`
}

// eventOf is an event as it is shown. A kind that is no failure has no code.
func eventOf[F node.Float](s *flow.Session[F], e flow.Event) ranEvent {
	r := ranEvent{Block: e.Block, Node: s.Linked().Nodes[e.Node].Name, Frame: e.Frame, Kind: e.Kind.String(), Text: e.Reason()}
	if e.Code != graph.Success {
		r.Code = e.Code.String()
	}
	return r
}

type ranOutput struct {
	Node    string `json:"node"`
	Path    string `json:"path"`
	Format  string `json:"format"`
	Frames  int64  `json:"frames"`
	Clipped int64  `json:"clipped"`
}

// A nodeCost is the cost that a node reported.
type nodeCost struct {
	Node   string    `json:"node"`
	Calls  int64     `json:"calls"`
	Joules float64   `json:"joules"`
	Delay  int       `json:"measured_delay_frames"`
	Nanos  int64     `json:"ns"`
	Late   int64     `json:"timeouts"`
	Silent bool      `json:"suspended,omitempty"`
	Spare  []float32 `json:"reserved,omitempty"` // amp_node_metrics_t.reserved, if the node filled it
}

func costs(m flow.Metrics) []nodeCost {
	all := []nodeCost{}
	for _, n := range m.Nodes {
		c := nodeCost{n.Name, n.Calls[flow.Forward], n.Joules[flow.Forward], n.MeasuredDelay, n.Nanos[flow.Forward], n.Timeouts, n.Suspended, nil}
		if n.Reserved != [6]float32{} {
			c.Spare = n.Reserved[:]
		}
		all = append(all, c)
	}
	return all
}

type ranRealtime struct {
	Late     int64    `json:"late"`
	Missed   int64    `json:"missed"`
	Faults   int64    `json:"faults"`
	Last     string   `json:"last_fault,omitempty"`
	Native   bool     `json:"native"`
	FIFO     int      `json:"fifo"`
	Warnings []string `json:"warnings,omitempty"`
}

func run(env *command.Env) *cobra.Command {
	var r runner
	c := &cobra.Command{
		Use:   "run GRAPH --in FILE --out FILE",
		Short: "Run a graph over sound files",
		Long: "Feed files to the Input nodes of a graph and write what its Probe nodes receive. Files are WAV (integer, float,\n" +
			"RF64) or FLAC. NODE=FILE selects a node where the graph has several. An Input without a number of channels\n" +
			"takes that of its file. A plan may name files itself, relative to its own folder: WavSource, FlacSource,\n" +
			"WavSink, FlacSink. WAV is written as 32-bit float unless --bits is given, FLAC with 24 bits. A file .npy gets\n" +
			"a NumPy array [channels, frames], which may be features of any rate.\n\n" +
			"A graph without inputs runs for --seconds. With inputs, --seconds sets a minimum: inputs continue with silence,\n" +
			"so that the graph rings out. The end of a MIDI file is a minimum too. The same plan and files give the same\n" +
			"bytes for every --block and --threads.\n\n" +
			"Faults are printed with block, node, frame and reason. The exit status is 1 if a block was lost: not computed, or\n" +
			"silent because a node failed, was too slow or gave NaN. --policy mute accepts that.",
		Example: "  atenia flow run effects.json --in dry.wav --out wet.flac --metrics\n" +
			"  atenia flow run mixer.json --in left=a.wav --in right=b.wav --out mix=c.wav --set mix.gain=0.5\n" +
			"  atenia flow run synth.json --midi song.mid --seconds 10 --out song.wav\n" +
			"  atenia flow run dry.json --in dry.wav --out wet.wav --change 48000=effects.json\n" +
			"  atenia flow run synth.json --seconds 10 --out tone.wav --realtime",
		Args:        cobra.ExactArgs(1),
		Annotations: command.Patient, // it removes unfinished files
	}
	r.source.flags(c)
	r.score.flags(c)
	c.Flags().StringArrayVar(&r.changes, "change", nil, "`FRAME=GRAPH` to go over to while playing (may be repeated)")
	c.Flags().Int64Var(&r.fade, "fade", 480, "number of frames of the cross-fade of a --change")
	f := c.Flags()
	f.StringArrayVarP(&r.in, "in", "i", nil, "`[NODE=]FILE` to feed to an Input node (may be repeated)")
	f.StringArrayVarP(&r.out, "out", "o", nil, "`[NODE=]FILE` to write what a Probe node receives (may be repeated)")
	f.Float64Var(&r.seconds, "seconds", 0, "minimum duration")
	f.IntVar(&r.bits, "bits", 0, "bits per sample to write: 8, 16, 24, 32, or 64 with --float")
	f.BoolVar(&r.float, "float", false, "with --bits: write floating-point samples (WAV)")
	f.BoolVar(&r.wide, "f64", false, "compute in float64")
	f.IntVar(&r.threads, "threads", 0, "number of threads (default: one for each processor)")
	f.StringVar(&r.policy, "policy", "stop", "what to do when a node fails: stop, mute or bypass")
	f.StringVar(&r.scan, "scan", "sinks", "where to check for NaN and infinities: sinks, off or all")
	f.BoolVar(&r.metrics, "metrics", false, "print energy, calls, times and delays of every node")
	f.StringVar(&r.scrape, "prometheus", "", "write the metrics to `FILE` in the format of Prometheus")
	f.StringVar(&r.trace, "trace", "", "write a trace for ui.perfetto.dev to `FILE`; nodes then run one at a time")
	f.StringVar(&r.log, "log", "", "write the firing log to `FILE`: tokens of each node in each block")
	f.BoolVar(&r.realtime, "realtime", false, "run at the pace of the clock, on a thread that the garbage collector cannot stop")
	f.DurationVar(&r.limit, "limit", 0, "time limit for a call of a node; a node that exceeds it is silent, and after three\nin a row suspended for a second, doubling (default: a block with --realtime, else no limit)")
	f.StringArrayVar(&r.states, "save-state", nil, "`NODE=FILE` to write the state of a CLAP plug-in to, which state_file restores (may be repeated)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if r.threads == 0 {
			r.threads = runtime.GOMAXPROCS(0)
		}
		do := runAs[float32]
		if r.wide {
			do = runAs[float64]
		}
		return do(c.Context(), env, &r, args[0])
	}
	return c
}

// options makes a session's options of the flags.
func (r *runner) options() (flow.Options, error) {
	if r.limit == 0 && r.realtime {
		r.limit = time.Duration(float64(r.block) / r.source.rate * float64(time.Second))
	}
	o := flow.Options{BlockFrames: r.block, SampleRate: r.source.rate, Threads: r.threads, Strict: r.strict, Log: r.log != "", Timing: r.metrics || r.scrape != "", Limit: r.limit}
	var errs []error
	pick := func(flag, got string, words ...string) int {
		for i, w := range words {
			if w == got {
				return i
			}
		}
		errs = append(errs, command.Usagef("--%s %s: want %s", flag, got, strings.Join(words, ", ")))
		return 0
	}
	o.Policy = []flow.Policy{flow.Stop, flow.Mute, flow.Bypass}[pick("policy", r.policy, "stop", "mute", "bypass")]
	o.Scan = []flow.Scan{flow.ScanSinks, flow.ScanOff, flow.ScanAll}[pick("scan", r.scan, "sinks", "off", "all")]
	if len(r.changes) > 0 && (r.realtime || r.fade < 0) {
		errs = append(errs, command.Usagef("--change: want no --realtime, which cannot allocate, and a --fade of 0 frames or more"))
	}
	if r.device != "" && !r.realtime {
		errs = append(errs, command.Usagef("--midi-in plays while blocks run: it wants --realtime"))
	}
	if r.seconds < 0 || r.threads < 0 || r.limit < 0 {
		errs = append(errs, command.Usagef("--seconds %g, --threads %d, --limit %v: want no negative numbers", r.seconds, r.threads, r.limit))
	}
	if len(errs) > 0 {
		return o, errs[0]
	}
	return o, nil
}

// runAs runs in one of the number types.
func runAs[F node.Float](ctx context.Context, env *command.Env, r *runner, path string) (err error) {
	p, err := r.parse(path)
	if err != nil {
		return err
	}
	ins, err := openInputs(p, path, &r.source, r.in)
	if err != nil {
		return err
	}
	defer closing(&err, ins.Close)
	if err := r.supplied(p, ins.Sources); err != nil {
		return err
	}
	bound, err := bind(p, "out", "Probe", r.out)
	if err != nil {
		return err
	}
	o, err := r.options()
	if err != nil {
		return err
	}
	if r.realtime {
		if o.Memory, err = flow.NewArena(flow.ArenaOptions{}); err != nil {
			return err
		}
		defer o.Memory.Close()
	}
	if r.realtime { // a node that takes longer is silent, and does not stop the others
		r.timeout = time.Duration(float64(r.block) / r.source.rate * float64(time.Second) * 3 / 4)
	}
	types, close, err := r.types(ctx, env, p)
	if err != nil {
		return err
	}
	defer closing(&err, close)
	o.Catalog = types
	if err := r.score.open(&o); err != nil {
		return err
	}
	result := &ran{Rate: r.source.rate}
	err = r.traced(&o, func() error {
		s, err := flow.New[F](p, o)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		defer s.Close()
		outs, err := openOutputs[F](s.Linked(), bound, ins.Sinks, &r.source, r.bits, r.float)
		if err != nil {
			return err
		}
		end, err := r.score.post(s, r.source.rate)
		if err != nil {
			return err
		}
		changes, err := r.openChanges()
		if err != nil {
			return err
		}
		pl := &player[F]{changes: changes, fade: r.fade, s: s, memory: o.Memory, ins: ins.Sources, outs: outs, frames: max(int64(r.seconds*r.source.rate), end)}
		start := time.Now()
		progress(env, pl, r.source.rate, start)
		err = write(outs, func() error {
			if r.realtime {
				stop, err := r.score.live(s)
				if err != nil {
					return err
				}
				return errors.Join(pl.realtime(ctx, r.source.rate, result), stop())
			}
			return pl.play(ctx)
		})
		if err != nil {
			show(env.Err, eventsOf(s, result), result.Events)
			return err
		}
		result.Seconds = time.Since(start).Seconds()
		if err := r.saveStates(r.states); err != nil {
			return err
		}
		if err := r.score.keep(s); err != nil {
			return err
		}
		return report(r, env, s, outs, result)
	})
	if err == nil && result.Lost > 0 && o.Policy != flow.Mute {
		err = &command.ExitError{Code: command.Failure, Text: spelling.Count(result.Lost, "block") + " lost; --policy mute accepts that"}
	}
	return err
}

// supplied verifies that every Input has a file, and that a graph without
// inputs that end has a given end.
func (r *runner) supplied(p *graph.Plan, ins []*media.Source) error {
	fed, ends := map[string]bool{}, false
	for _, in := range ins {
		fed[in.Node.Name] = true
		ends = ends || !in.Loops()
	}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; n.Type == "Input" && !fed[n.Name] {
			return command.Usagef("node %s takes a file: --in %s=FILE", n.Name, n.Name)
		}
	}
	if !ends && !r.score.ends() && r.seconds == 0 {
		return command.Usagef("the graph has no finite inputs: set its duration with --seconds")
	}
	return nil
}

// progress shows how far a run is, once a second, from the third on.
func progress[F node.Float](env *command.Env, p *player[F], rate float64, start time.Time) {
	shown := start.Add(time.Second)
	block := float64(p.s.Linked().BlockFrames)
	p.block = func(k int64) {
		if now := time.Now(); now.Sub(shown) > time.Second {
			shown = now
			fmt.Fprintf(env.Progress, "\r%.1f s of sound in %.1f s ", float64(k)*block/rate, now.Sub(start).Seconds())
		}
	}
}

// eventsOf moves a session's events to the result and returns the first ones.
func eventsOf[F node.Float](s *flow.Session[F], result *ran) []ranEvent {
	for e := range s.Events() {
		if result.Events++; result.Events <= mostEvents {
			result.First = append(result.First, eventOf(s, e))
		}
	}
	result.Events += s.LostEvents()
	return result.First
}

// show prints the first of all events.
func show(w io.Writer, first []ranEvent, all int64) {
	for _, e := range first {
		fmt.Fprintf(w, "block %d: node %s at frame %d: %s\n", e.Block, e.Node, e.Frame, e.Text)
	}
	if more := all - int64(len(first)); more > 0 {
		fmt.Fprintf(w, "%s more\n", spelling.Count(more, "event"))
	}
}

// report prints and writes what happened.
func report[F node.Float](r *runner, env *command.Env, s *flow.Session[F], outs []*output[F], result *ran) error {
	m := s.Metrics()
	result.Blocks, result.Outputs = s.Blocks(), outputsOf(outs)
	result.Audio = float64(result.Blocks) * float64(r.block) / result.Rate
	eventsOf(s, result)
	result.Lost, result.Library, result.Warnings = m.LostBlocks, r.events(), s.Linked().Warnings
	if r.metrics {
		result.Metrics = costs(m)
	}
	if err := r.files(s.Log(), snapshot(s, result)); err != nil {
		return err
	}
	if *env.JSON {
		return env.PrintJSON(result)
	}
	var b strings.Builder
	for _, o := range result.Outputs {
		fmt.Fprintf(&b, "%s: %s, %s", o.Path, o.Format, spelling.Count(o.Frames, "frame"))
		if o.Clipped > 0 {
			fmt.Fprintf(&b, ", %s clipped", spelling.Count(o.Clipped, "sample"))
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s of %s, %.4g s of sound in %.3g s\n", spelling.Count(result.Blocks, "block"), spelling.Count(r.block, "frame"), result.Audio, result.Seconds)
	if t := result.Realtime; t != nil {
		how := "ordinary scheduling"
		if t.FIFO > 0 {
			how = fmt.Sprintf("SCHED_FIFO %d", t.FIFO)
		}
		fmt.Fprintf(&b, "real time: %d late, %d missed; %s\n", t.Late, t.Missed, how)
		if t.Faults > 0 {
			fmt.Fprintf(&b, "%s failed, the last with %s\n", spelling.Count(t.Faults, "block"), t.Last)
		}
		for _, w := range t.Warnings {
			fmt.Fprintf(&b, "warning: %s\n", w)
		}
	}
	show(&b, result.First, result.Events)
	if result.Lost > 0 {
		fmt.Fprintf(&b, "%s lost: not computed, or an output is silent\n", spelling.Count(result.Lost, "block"))
	}
	for _, n := range m.Nodes {
		if n.Timeouts > 0 || n.Suspended {
			fmt.Fprintf(&b, "node %s: %s over the limit%s\n", n.Name, spelling.Count(n.Timeouts, "call"), map[bool]string{true: ", suspended"}[n.Suspended])
		}
	}
	for _, e := range result.Library {
		fmt.Fprintf(&b, "%s: %s\n", e.Path, e.Text)
	}
	for _, w := range result.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	if r.metrics {
		b.WriteString(m.String())
	}
	_, err := io.WriteString(env.Out, b.String())
	return err
}

func outputsOf[F node.Float](outs []*output[F]) []ranOutput {
	all := []ranOutput{}
	for _, o := range outs {
		all = append(all, ranOutput{o.node.Name, o.path, o.w.Format.String(), o.frames, o.w.Clipped()})
	}
	return all
}

// snapshot is a session for Prometheus.
func snapshot[F node.Float](s *flow.Session[F], result *ran) view.Snapshot {
	v := view.Snapshot{Metrics: s.Metrics(), Blocks: result.Blocks, Muted: result.Lost}
	if result.Realtime != nil {
		v.Late = result.Realtime.Late
	}
	l := s.Linked()
	for i, o := range s.Occupancies() {
		v.Channels = append(v.Channels, view.Channel{Edge: l.Edges[i].Source + " → " + l.Edges[i].Target, Used: int64(o.Used), Capacity: int64(o.Capacity)})
	}
	return v
}

// files writes the firing log and the metrics.
func (r *runner) files(log flow.Log, v view.Snapshot) error {
	var errs []error
	if r.log != "" {
		errs = append(errs, durable.WriteFile(r.log, func(w io.Writer) error {
			_, err := io.WriteString(w, log.String())
			return err
		}))
	}
	if r.scrape != "" {
		set := view.NewMetrics()
		set.Update(v)
		errs = append(errs, durable.WriteFile(r.scrape, set.WriteText))
	}
	return errors.Join(errs...)
}

// realtime runs blocks when they are due, and the part of one at the end, and the tail, at once. Files are read before
// and written afterwards: the thread that runs touches memory alone.
func (p *player[F]) realtime(ctx context.Context, rate float64, result *ran) error {
	l := p.s.Linked()
	block := int64(l.BlockFrames)
	end := graph.Rat{Num: p.frames, Den: 1}
	var feeds []feeder[F]
	slices.SortStableFunc(p.ins, func(a, b *media.Source) int { // those that loop last: as long as the others
		switch {
		case a.Loops() == b.Loops():
			return 0
		case b.Loops():
			return -1
		}
		return 1
	})
	for _, in := range p.ins {
		t, err := p.s.Input(in.Node.Name)
		if err != nil {
			return err
		}
		f := feeder[F]{to: t}
		for k := int64(0); !in.Ended || k*block*end.Den < end.Num; k++ {
			part := node.Tensor[F]{Data: make([]F, len(t.Data)), B: t.B, C: t.C, N: t.N}
			n, err := media.Feed(in, part)
			if err != nil {
				return err
			}
			f.from = append(f.from, part.Data...)
			if n > 0 {
				end = end.Max(p.base(k*int64(t.N)+int64(n), t.N))
			}
		}
		feeds = append(feeds, f)
	}
	blocks := end.Num / (block * end.Den)
	var takes []taker[F]
	for _, o := range p.outs {
		t, err := p.s.Probe(o.node.Name)
		if err != nil {
			return err
		}
		size := t.B * t.C * o.block
		takes = append(takes, taker[F]{name: o.node.Name, rows: t.B * t.C, block: size, data: make([]F, int64(size)*blocks), counts: make([]int, blocks)})
	}
	result.Realtime = &ranRealtime{}
	if blocks > 0 {
		if err := p.paced(ctx, rate, blocks, feeds, takes, result.Realtime); err != nil {
			return err
		}
	}
	for i := range feeds {
		feeds[i].next(int(blocks))
	}
	return p.end(ctx, blocks*block, graph.Rat{Num: end.Num - blocks*block*end.Den, Den: end.Den})
}

// paced runs whole blocks in real time.
func (p *player[F]) paced(ctx context.Context, rate float64, blocks int64, feeds []feeder[F], takes []taker[F], result *ranRealtime) error {
	l := p.s.Linked()
	if err := p.s.Reserve(int(blocks)); err != nil { // files are as long as they are: nothing is lost behind a gate
		return err
	}
	step, at := p.s.Step(), 0
	loop, err := live.NewLoop(live.LoopConfig{Frames: l.BlockFrames, Rate: int(rate), Blocks: blocks}, func() graph.Code {
		for i := range feeds {
			feeds[i].next(at)
		}
		code := step()
		for i := range takes {
			if t, err := p.s.Probe(takes[i].name); err == nil {
				takes[i].next(at, t)
			}
		}
		at++
		return code
	})
	if err != nil {
		return err
	}
	p.memory.Freeze()
	loop.Start()
	stop := context.AfterFunc(ctx, loop.Stop)
	defer stop()
	r := loop.Wait()
	p.memory.Thaw()
	if err := ctx.Err(); err != nil {
		return err
	}
	*result = ranRealtime{Late: r.Late, Missed: r.Missed, Faults: r.Faults, Native: r.Native, FIFO: r.FIFO, Warnings: r.Warnings}
	if r.Faults > 0 {
		result.Last = r.Code.String()
	}
	for i, o := range p.outs {
		for k := range takes[i].counts {
			if err := o.take(takes[i].kept(k)); err != nil {
				return err
			}
		}
	}
	return nil
}

// A feeder lays out an input's blocks that were read before.
type feeder[F node.Float] struct {
	to   node.Tensor[F]
	from []F // [blocks][rows][frames]
}

func (f *feeder[F]) next(at int) {
	n := f.to.B * f.to.C * f.to.N
	if k := at * n; k+n <= len(f.from) {
		copy(f.to.Data[:n], f.from[k:k+n])
		return
	}
	clear(f.to.Data[:n])
}

// A taker stores a probe's stream.
type taker[F node.Float] struct {
	name        string
	rows, block int
	data        []F // [blocks][rows][frames], frames as counted
	counts      []int
}

func (t *taker[F]) next(at int, x node.Tensor[F]) {
	if at < len(t.counts) {
		n := t.rows * x.N
		copy(t.data[at*t.block:at*t.block+n], x.Data[:n])
		t.counts[at] = x.N
	}
}

// kept returns a stored block.
func (t *taker[F]) kept(k int) node.Tensor[F] {
	return node.Tensor[F]{Data: t.data[k*t.block : (k+1)*t.block], B: 1, C: t.rows, N: t.counts[k]}
}
