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
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"

	"github.com/spf13/cobra"
)

// A livePlay is the flags of play.
type livePlay struct {
	runner
	input, output    string
	record           []string
	period           int
	list             bool
	snapshot, resume string
}

// A played is what play prints with --json.
type played struct {
	Blocks    int64          `json:"blocks"`
	Rate      float64        `json:"rate"`
	Audio     float64        `json:"audio_seconds"`
	In        *playedDevice  `json:"in,omitempty"`
	Out       *playedDevice  `json:"out,omitempty"`
	RoundTrip int            `json:"round_trip_frames,omitempty"`
	Silent    int64          `json:"silent_frames"`
	TrimPPM   float64        `json:"trim_ppm"`
	Worst     float64        `json:"longest_block_seconds"`
	Records   []ranOutput    `json:"records"`
	NotKept   int64          `json:"unrecorded_frames"`
	Lost      int64          `json:"lost_blocks"`
	Events    int64          `json:"events"`
	First     []ranEvent     `json:"first_events,omitempty"`
	Library   []libraryEvent `json:"library_events,omitempty"`
	FIFO      int            `json:"fifo"`
	Warnings  []string       `json:"warnings,omitempty"`
}

type playedDevice struct {
	Name     string `json:"name"`
	Rate     int    `json:"rate"`
	Channels int    `json:"channels"`
	Period   int    `json:"period"`
	Xruns    int64  `json:"xruns"`
}

func play(env *command.Env) *cobra.Command {
	var l livePlay
	c := &cobra.Command{
		Use:   "play GRAPH [--in DEVICE] [--out DEVICE]",
		Short: "Play a graph live, between audio devices",
		Long: "Feed the Input node of a graph from an audio device and play what its Probe node receives, until interrupted,\n" +
			"for --seconds, or until a file that is the input ends. --list prints the devices: BACKEND:NAME, such as\n" +
			"alsa:default, jack, pipewire, null, or file:PATH. A device of another rate than the graph's is resampled, and\n" +
			"so is an input whose clock is not that of the output.\n\n" +
			"--record keeps what a Probe receives in a WAV or FLAC file. It is made whole twice a second: if the program is\n" +
			"killed, at most the last second is missing.\n\n" +
			"--snapshot saves the state of the graph at the end, and --resume goes on from there, bit for bit. Where an input\n" +
			"file ends, it is the state after its last whole block.",
		Example: "  atenia flow play --list\n" +
			"  atenia flow play effects.json --in alsa:default --out alsa:default --block 128 --record take.wav\n" +
			"  atenia flow play synth.json --seconds 2 --out null --record tone.wav",
		Args:        cobra.MaximumNArgs(1),
		Annotations: command.Patient, // it completes recordings
	}
	l.source.flags(c)
	l.score.flags(c)
	f := c.Flags()
	f.StringVarP(&l.input, "in", "i", "", "`[NODE=]DEVICE` that feeds an Input node")
	f.StringVarP(&l.output, "out", "o", "", "`[NODE=]DEVICE` that plays what a Probe node receives (default: that of the system)")
	f.StringArrayVar(&l.record, "record", nil, "`[NODE=]FILE` to record what a Probe node receives (may be repeated)")
	f.Float64Var(&l.seconds, "seconds", 0, "duration (default: until interrupted, or until an input file ends)")
	f.IntVar(&l.period, "period", 0, "frames that a device moves at a time (default: a block)")
	f.StringVar(&l.policy, "policy", "stop", "what to do when a node fails: stop, mute or bypass")
	f.DurationVar(&l.limit, "limit", 0, "time limit for a call of a node (default: a block)")
	f.StringVar(&l.snapshot, "snapshot", "", "save the state of the graph at the end to `FILE`")
	f.StringVar(&l.resume, "resume", "", "go on from the state in `FILE`")
	f.BoolVar(&l.list, "list", false, "print the devices, and why a back end has none")
	c.RunE = func(c *cobra.Command, args []string) error {
		if l.list {
			return devices(env)
		}
		if len(args) == 0 {
			return command.Usagef("want a graph, or --list")
		}
		return l.play(c.Context(), env, args[0])
	}
	return c
}

// A listing is a back end as --list prints it.
type listing struct {
	Backend string      `json:"backend"`
	Devices []live.Info `json:"devices"`
	Missing string      `json:"missing,omitempty"`
}

// devices prints what there is.
func devices(env *command.Env) error {
	all := []listing{}
	for _, b := range live.Backends() {
		list, err := b.List()
		x := listing{Backend: b.Name(), Devices: list}
		if err != nil {
			x.Missing = err.Error()
		}
		all = append(all, x)
	}
	if *env.JSON {
		return env.PrintJSON(all)
	}
	var b strings.Builder
	for _, x := range all {
		for _, d := range x.Devices {
			way := map[[2]bool]string{{true, true}: "in, out", {true, false}: "in", {false, true}: "out"}[[2]bool{d.Inputs, d.Outputs}]
			fmt.Fprintf(&b, "%-24s %-8s %s\n", d.Name, way, d.Text)
		}
		if x.Missing != "" {
			fmt.Fprintf(&b, "%-24s %-8s %s\n", x.Backend, "none", x.Missing)
		}
	}
	_, err := io.WriteString(env.Out, b.String())
	return err
}

// endpoint reads NODE=DEVICE, or DEVICE where the graph has one node of the type.
func endpoint(p *graph.Plan, flag, typ, given string) (*graph.Node, string, error) {
	var of []*graph.Node
	for i := range p.Nodes {
		if p.Nodes[i].Type == typ {
			of = append(of, &p.Nodes[i])
		}
	}
	if name, dev, ok := strings.Cut(given, "="); ok {
		if i := slices.IndexFunc(of, func(n *graph.Node) bool { return n.Name == name }); i >= 0 {
			return of[i], dev, nil
		}
	}
	if len(of) != 1 {
		return nil, "", command.Usagef("--%s %s: want NODE=DEVICE, where NODE is one of %s", flag, given, names(of))
	}
	return of[0], given, nil
}

// A joined is where devices are joined to the graph.
type joined struct {
	in, out       *graph.Node // nil: none
	inDev, outDev string
}

// join finds the nodes of --in and --out. What the file of an input says completes the plan.
func (l *livePlay) join(p *graph.Plan) (q joined, err error) {
	if l.input != "" {
		if q.in, q.inDev, err = endpoint(p, "in", "Input", l.input); err != nil {
			return q, err
		}
	}
	for i := range p.Nodes {
		switch n := &p.Nodes[i]; {
		case n.Type == "Input" && n != q.in:
			return q, command.Usagef("node %s takes a device: --in %s=DEVICE; a graph is played with one input", n.Name, n.Name)
		case strings.HasSuffix(n.Type, "Source") && (n.Type == "WavSource" || n.Type == "FlacSource"):
			return q, command.Usagef("node %s reads a file: make it an Input, and play with --in %s=file:PATH", n.Name, n.Name)
		case n.Type == "WavSink" || n.Type == "FlacSink":
			return q, command.Usagef("node %s writes a file: make it a Probe, and play with --record %s=PATH", n.Name, n.Name)
		}
	}
	if path, ok := strings.CutPrefix(q.inDev, "file:"); ok {
		s, err := media.OpenSource(q.in, strings.TrimPrefix(path, "free="))
		if err != nil {
			return q, err
		}
		if l.rate == 0 {
			l.rate = s.Base()
		}
		if err := s.Close(); err != nil {
			return q, err
		}
	}
	if l.rate == 0 {
		l.rate = 48000
	}
	out := l.output
	if out == "" {
		out = live.Default()
	}
	q.out, q.outDev, err = endpoint(p, "out", "Probe", out)
	return q, err
}

// play runs a graph between devices.
func (l *livePlay) play(ctx context.Context, env *command.Env, path string) (err error) {
	l.scan, l.threads = "sinks", runtime.GOMAXPROCS(0)
	p, err := l.parse(path)
	if err != nil {
		return err
	}
	q, err := l.join(p)
	if err != nil {
		return err
	}
	records, err := bind(p, "record", "Probe", l.record)
	if err != nil {
		return err
	}
	free := live.Free(q.outDev) && (q.in == nil || live.Free(q.inDev))
	l.realtime = !free
	o, err := l.options()
	if err != nil {
		return err
	}
	if o.Memory, err = flow.NewArena(flow.ArenaOptions{}); err != nil {
		return err
	}
	defer o.Memory.Close()
	if !free {
		l.timeout = time.Duration(float64(l.block) / l.source.rate * float64(time.Second) * 3 / 4)
	}
	types, closeTypes, err := l.types(ctx, env, p)
	if err != nil {
		return err
	}
	defer closing(&err, closeTypes)
	o.Catalog = types
	if err := l.score.open(&o); err != nil {
		return err
	}
	s, err := flow.New[float32](p, o)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer s.Close()
	if err := l.load(s); err != nil {
		return err
	}
	end, err := l.score.post(s, l.source.rate)
	if err != nil {
		return err
	}
	if l.seconds == 0 && end > 0 { // songs end the graph, unless it is said otherwise
		l.seconds = float64(end) / l.source.rate
	}
	in, out, shared, err := live.OpenDevice(l.config(s, q.in, q.inDev), l.config(s, q.out, q.outDev))
	if err != nil {
		return err
	}
	setup := live.Setup{In: in, Out: out, Output: q.out.Name, Shared: shared, SampleRate: l.source.rate, Free: free}
	if q.in != nil {
		setup.Input = q.in.Name
	}
	if l.snapshot != "" {
		setup.AtEnd = func() error { return l.save(s) }
	}
	if l.seconds > 0 {
		setup.Blocks = max(1, int64(l.seconds*l.source.rate/float64(l.block)+0.999999))
	}
	if setup.Taps, err = openTaps(s.Linked(), records, l.source.rate); err != nil {
		return errors.Join(err, closeStreams(in, out))
	}
	pl, err := live.NewPlayer(s, setup)
	if err != nil {
		return errors.Join(err, closeTaps(setup.Taps), closeStreams(in, out))
	}
	stop, err := l.score.live(s)
	if err != nil {
		return errors.Join(err, closeTaps(setup.Taps), closeStreams(in, out))
	}
	o.Memory.Freeze()
	r, err := pl.Run(ctx)
	o.Memory.Thaw()
	err = errors.Join(err, stop(), closeTaps(setup.Taps), l.score.keep(s))
	if l.snapshot != "" && !r.Ended && err == nil {
		err = l.save(s)
	}
	result := l.result(s, &q, &setup, r)
	if l.snapshot != "" && r.Rest > 0 {
		result.Warnings = append(result.Warnings, fmt.Sprintf("%s is the state before the last %s of the input, which do not fill a block", l.snapshot, spelling.Count(r.Rest, "frame")))
	}
	if e := result.print(env, l.block); err == nil {
		err = e
	}
	if err == nil && ctx.Err() != nil && l.seconds > 0 {
		err = ctx.Err()
	}
	if err == nil && (result.Lost > 0 && o.Policy != flow.Mute || result.NotKept > 0) {
		text := spelling.Count(result.Lost, "block") + " lost; --policy mute accepts that"
		if result.NotKept > 0 {
			text = spelling.Count(result.NotKept, "frame") + " not recorded: the disk is too slow"
		}
		err = &command.ExitError{Code: command.Failure, Text: text}
	}
	return err
}

// config is that of a device for a node.
func (l *livePlay) config(s *flow.Session[float32], n *graph.Node, name string) *live.Config {
	if n == nil {
		return nil
	}
	for _, x := range s.Linked().Nodes {
		if x.Name != n.Name {
			continue
		}
		var shape graph.Shape
		if len(x.InShape) > 0 {
			shape = x.InShape[0]
		} else {
			shape = x.OutShape[0]
		}
		rate := l.source.rate * float64(x.Tokens) / float64(l.block)
		return &live.Config{Name: name, Rate: int(rate + 0.5), Channels: shape.B * shape.C, Block: x.Tokens, Period: l.period}
	}
	return nil
}

// openTaps creates the files of --record.
func openTaps(g *graph.Linked, records []binding, rate float64) (taps []live.Tap, err error) {
	for _, b := range records {
		codec, ok := media.CodecOf(b.path)
		if !ok {
			return taps, errors.Join(command.Usagef("--record %s: want a name that ends with .wav or .flac", b.path), closeTaps(taps))
		}
		f, err := media.FormatFor(g, b.node.Name, rate, codec, 0, false)
		if err != nil {
			return taps, errors.Join(&command.UsageError{Err: fmt.Errorf("--record %s: %w", b.path, err)}, closeTaps(taps))
		}
		r, err := live.Record(b.path, f)
		if err != nil {
			return taps, errors.Join(err, closeTaps(taps))
		}
		taps = append(taps, live.Tap{Node: b.node.Name, To: r})
	}
	return taps, nil
}

func closeTaps(taps []live.Tap) (err error) {
	for _, t := range taps {
		err = errors.Join(err, t.To.Close())
	}
	return err
}

func closeStreams(all ...live.DeviceStream) (err error) {
	for _, s := range all {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

// largestState bounds a saved state that is read.
const largestState = 4 << 30

// load reads --resume.
func (l *livePlay) load(s *flow.Session[float32]) error {
	if l.resume == "" {
		return nil
	}
	f, err := durable.Open(l.resume)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := command.ReadMost(f, largestState)
	if err == nil {
		err = s.LoadState(b)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.resume, err)
	}
	return nil
}

// save writes --snapshot.
func (l *livePlay) save(s *flow.Session[float32]) error {
	b, err := s.SaveState()
	if err != nil {
		return err
	}
	return durable.WriteFile(l.snapshot, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// result gathers what happened.
func (l *livePlay) result(s *flow.Session[float32], q *joined, setup *live.Setup, r live.Report) *played {
	var events ran
	x := &played{Blocks: r.Blocks, Rate: l.source.rate, Audio: float64(r.Blocks) * float64(l.block) / l.source.rate, RoundTrip: r.RoundTrip, Silent: r.Silent,
		TrimPPM: r.Trim * 1e6, Worst: r.Worst.Seconds(), NotKept: r.Lost, Lost: s.Metrics().LostBlocks, First: eventsOf(s, &events), Library: l.events(),
		FIFO: r.Loop.FIFO, Warnings: append(slices.Clone(s.Linked().Warnings), r.Loop.Warnings...), Records: []ranOutput{}}
	x.Events = events.Events
	if setup.In != nil {
		f := setup.In.Format()
		x.In = &playedDevice{q.inDev, f.Rate, f.Channels, f.Period, r.InXruns}
	}
	if setup.Out != nil {
		f := setup.Out.Format()
		x.Out = &playedDevice{q.outDev, f.Rate, f.Channels, f.Period, r.OutXruns}
	}
	for _, t := range setup.Taps {
		x.Records = append(x.Records, ranOutput{Node: t.Node, Path: t.To.Path, Format: t.To.Format.String(), Frames: t.To.Frames()})
	}
	return x
}

// print writes it.
func (x *played) print(env *command.Env, block int) error {
	if *env.JSON {
		return env.PrintJSON(x)
	}
	var b strings.Builder
	for _, o := range x.Records {
		fmt.Fprintf(&b, "%s: %s, %s\n", o.Path, o.Format, spelling.Count(o.Frames, "frame"))
	}
	fmt.Fprintf(&b, "%s of %s, %.4g s of sound\n", spelling.Count(x.Blocks, "block"), spelling.Count(block, "frame"), x.Audio)
	for _, d := range []struct {
		way string
		*playedDevice
	}{{"in", x.In}, {"out", x.Out}} {
		if d.playedDevice != nil {
			fmt.Fprintf(&b, "%s: %s, %d Hz, %s, period %s, %s\n", d.way, d.Name, d.Rate, spelling.Count(d.Channels, "channel"), spelling.Count(d.Period, "frame"), spelling.Count(d.Xruns, "xrun"))
		}
	}
	if x.RoundTrip > 0 {
		fmt.Fprintf(&b, "round trip: %s, %.3g ms\n", spelling.Count(x.RoundTrip, "frame"), 1000*float64(x.RoundTrip)/x.Rate)
	}
	if x.TrimPPM != 0 {
		fmt.Fprintf(&b, "the input's clock is corrected by %.1f ppm\n", x.TrimPPM)
	}
	show(&b, x.First, x.Events)
	if x.Lost > 0 {
		fmt.Fprintf(&b, "%s lost: not computed, or an output is silent\n", spelling.Count(x.Lost, "block"))
	}
	for _, e := range x.Library {
		fmt.Fprintf(&b, "%s: %s\n", e.Path, e.Text)
	}
	for _, w := range x.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	_, err := io.WriteString(env.Out, b.String())
	return err
}
