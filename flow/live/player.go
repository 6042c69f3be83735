package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/fault"
)

// A Setup says what a [Player] connects. Every field may be left out, but not both of In and Out.
type Setup struct {
	In     DeviceStream // feeds the node Input
	Input  string
	Out    DeviceStream // plays what the node Output receives
	Output string
	// Shared says that In and Out have one clock. If not, the input is resampled to the clock of the output.
	Shared bool
	// Taps record what nodes receive, frame for frame.
	Taps []Tap
	// SampleRate is that of the session, in base frames per second.
	SampleRate float64
	// Blocks ends the player; 0 means until it is stopped, or the input ends.
	Blocks int64
	// Free does not wait for any clock but those of the streams. Otherwise streams that run ahead of the system's clock
	// by more than a second, as those of devices that swallow everything do, are held back.
	Free bool
	// AtEnd, if set, is called when the input has ended: after its last whole block, before what is left of it and the
	// tail. It may save the session's state.
	AtEnd func() error
	// Priority is that of the thread, as in [LoopConfig].
	Priority int
}

// A Tap records what a node receives.
type Tap struct {
	Node string
	To   *Recorder
}

// A Player runs a session between an input and an output on a real-time thread. The clock of the output, or of the
// input where there is no output, is the clock of the stream:
//
//	In.Move ──▶ [resampler] ──▶ the session's Input ──step──▶ Probe ──▶ [resampler] ──▶ Out.Move
//	                                                            └──▶ ring ──▶ Recorder
//
// Make one with [NewPlayer] and call [Player.Run] once. The session must not be used otherwise meanwhile.
type Player struct {
	cfg   Setup
	s     *flow.Session[float32]
	step  func() graph.Code
	block int

	in    inlet
	out   outlet
	taps  []tap
	drift follower

	began, frames int64 // of the system's clock; base frames
	worst         int64
	ended         bool  // the input has ended
	left          int64 // frames of it that the Input was not given yet, then
	status        Status
	lostIn        bool // the input is the stream that ended the loop
	waits         bool // recorders are waited for: there is no clock
}

// An inlet is the way of the frames of a device to an Input.
type inlet struct {
	to      node.Tensor[float32]
	ch      int // of the device
	buffer  []float32
	change  *resampler
	chunk   []float32
	waiting *ring // resampled frames
	ratio   float64
	moved   int64 // frames of the device
	given   int64 // frames of the Input
}

// An outlet is the way of a Probe's frames to a device.
type outlet struct {
	node    string
	frames  int // of a block
	rows    int
	ch      int
	buffer  []float32
	change  *resampler
	chunk   []float32
	waiting *ring
	missing int   // frames of a block that the Probe has not given yet
	silent  int64 // frames of silence played for them
}

type tap struct {
	Tap
	frames, rows int
	mixed        []float32
}

// A Report is what a [Player] did.
type Report struct {
	Loop      LoopReport
	Blocks    int64
	InXruns   int64         // times that frames of the input were lost
	OutXruns  int64         // times that the output played silence
	Silent    int64         // frames of silence played while delays of the graph fill
	Lost      int64         // frames that no recorder could take
	Trim      float64       // by which the input's rate was corrected at the end, 1e-6 is a part per million
	Worst     time.Duration // longest computation of a block
	RoundTrip int           // frames from the input through the graph to the output, without the graph's own delays
	Ended     bool          // the input has ended
	Rest      int64         // frames of it after the last whole block
	Warnings  []string
}

// NewPlayer connects a session, whose block size is that of the transfers.
func NewPlayer(s *flow.Session[float32], cfg Setup) (*Player, error) {
	if cfg.In == nil && cfg.Out == nil {
		return nil, errors.New("device: neither an input nor an output")
	}
	l := s.Linked()
	p := &Player{cfg: cfg, s: s, step: s.Step(), block: l.BlockFrames, waits: cfg.Free}
	if cfg.SampleRate <= 0 {
		return nil, fmt.Errorf("device: a rate of %g frames per second", cfg.SampleRate)
	}
	if cfg.Out != nil {
		if err := p.openOut(l); err != nil {
			return nil, err
		}
	}
	if cfg.In != nil {
		if err := p.openIn(l); err != nil {
			return nil, err
		}
	}
	for _, t := range cfg.Taps {
		n, err := taken(l, t.Node)
		if err != nil {
			return nil, err
		}
		rows := n.InShape[0].B * n.InShape[0].C
		if t.To.Format.Channels != rows {
			return nil, fmt.Errorf("device: %s records %d channels, node %s has %d", t.To.Path, t.To.Format.Channels, t.Node, rows)
		}
		p.taps = append(p.taps, tap{Tap: t, frames: n.Tokens, rows: rows, mixed: make([]float32, n.Tokens*rows)})
	}
	return p, nil
}

// taken finds a node that the host reads.
func taken(l *graph.Linked, name string) (*graph.LinkedNode, error) {
	for i := range l.Nodes {
		if n := &l.Nodes[i]; n.Name == name && n.Spec.Endpoint == graph.Taken {
			return n, nil
		}
	}
	return nil, &graph.Error{Code: graph.UnknownNode, Path: l.Plan.Root, Names: []string{name}, Text: "no node that the host reads"}
}

func (p *Player) openIn(l *graph.Linked) (err error) {
	i, f := &p.in, p.cfg.In.Format()
	if i.to, err = p.s.Input(p.cfg.Input); err != nil {
		return err
	}
	i.ch = f.Channels
	i.buffer = make([]float32, i.to.N*i.ch)
	want := p.cfg.SampleRate * float64(i.to.N) / float64(p.block)
	if differ(want, f.Rate) || p.cfg.Out != nil && !p.cfg.Shared {
		i.ratio = want / float64(f.Rate)
		if i.change, err = newResampler(i.ch, i.to.N, i.ratio); err != nil {
			return fmt.Errorf("device: %d Hz of the input to %g Hz: %w", f.Rate, want, err)
		}
		i.chunk = make([]float32, i.to.N*i.ch)
		i.waiting = newRing(len(i.change.out) + len(i.buffer))
	}
	return nil
}

func (p *Player) openOut(l *graph.Linked) error {
	n, err := taken(l, p.cfg.Output)
	if err != nil {
		return err
	}
	o, f := &p.out, p.cfg.Out.Format()
	o.node, o.frames, o.rows, o.ch = n.Name, n.Tokens, n.InShape[0].B*n.InShape[0].C, f.Channels
	o.buffer = make([]float32, o.frames*o.ch)
	have := p.cfg.SampleRate * float64(o.frames) / float64(p.block)
	if differ(have, f.Rate) {
		if o.change, err = newResampler(o.ch, o.frames, float64(f.Rate)/have); err != nil {
			return fmt.Errorf("device: %g Hz to %d Hz of the output: %w", have, f.Rate, err)
		}
		o.chunk = make([]float32, o.frames*o.ch)
		o.waiting = newRing(4 * len(o.chunk))
	}
	p.drift.target = float64(f.Ahead) / float64(f.Rate) // with what is between the two
	return nil
}

func differ(rate float64, device int) bool { return math.Abs(rate-float64(device)) > 1e-9*rate }

// Run plays until Blocks have run, the input ends, a stream is lost, or ctx is done, which is no error. The tail of the
// graph is played and recorded if the input has ended; recorders hold everything that was played in any case, and are
// left open. The streams are closed.
func (p *Player) Run(ctx context.Context) (Report, error) {
	cfg := LoopConfig{Paced: true, Blocks: p.cfg.Blocks, Priority: p.cfg.Priority}
	if p.cfg.Free {
		cfg.Priority = -1 // it never sleeps
	}
	loop, err := NewLoop(cfg, p.turn)
	if err != nil {
		return Report{}, err
	}
	defer p.free()
	for _, s := range p.streams() {
		if err := s.Start(); err != nil {
			return Report{}, errors.Join(err, p.close())
		}
	}
	p.began = Now()
	loop.Start()
	stop := context.AfterFunc(ctx, func() {
		loop.Stop()
		for _, s := range p.streams() {
			s.Stop()
		}
	})
	defer stop()
	r := Report{}
	stuck := p.await(loop, &r)
	r.Blocks, r.Worst, r.Trim, r.Silent, r.Ended = p.s.Blocks(), time.Duration(p.worst), p.drift.trim, p.out.silent, p.ended
	if p.status == Gone || stuck {
		lost := p.cfg.Out
		if lost == nil || p.lostIn {
			lost = p.cfg.In
		}
		err = fmt.Errorf("the device is lost: %w", lost.Err())
	}
	if err == nil && p.ended {
		r.Rest = max(p.left, 0)
		if p.cfg.AtEnd != nil {
			err = p.cfg.AtEnd()
		}
		err = errors.Join(err, p.drain())
	}
	for i, s := range p.streams() {
		if p.cfg.In != nil && i == 0 {
			r.InXruns = s.Xruns()
		} else {
			r.OutXruns = s.Xruns()
		}
	}
	for i := range p.taps {
		r.Lost += p.taps[i].To.Lost()
	}
	r.RoundTrip = p.roundTrip()
	return r, errors.Join(err, p.close())
}

// A server is what can leave a thread in a call that does not return.
type server interface{ ended() bool }

// await waits for the end of the loop. It reports whether the thread is stuck in a call to a server that has ended,
// which is given a second to return; the thread then stays there.
func (p *Player) await(loop *Loop, r *Report) (stuck bool) {
	done := make(chan LoopReport, 1)
	var all fault.Group
	all.Go(func() { done <- loop.Wait() })
	tick := time.NewTicker(second / 4)
	defer tick.Stop()
	for late := 0; late < 5; {
		select {
		case r.Loop = <-done:
			return false
		case <-tick.C:
			for _, s := range p.streams() {
				if x, ok := s.(server); ok && x.ended() {
					late++
					break
				}
			}
		}
	}
	return true
}

// roundTrip is how long a frame of the input waits in the output.
func (p *Player) roundTrip() int {
	if p.cfg.In == nil || p.cfg.Out == nil {
		return 0
	}
	return p.cfg.Out.Format().Ahead
}

// streams returns those that there are, the input first.
func (p *Player) streams() (all []DeviceStream) {
	for _, s := range []DeviceStream{p.cfg.In, p.cfg.Out} {
		if s != nil {
			all = append(all, s)
		}
	}
	return all
}

func (p *Player) close() (err error) {
	for _, s := range p.streams() {
		err = errors.Join(err, s.Close())
	}
	return err
}

func (p *Player) free() {
	for _, r := range []*resampler{p.in.change, p.out.change} {
		if r != nil {
			r.close()
		}
	}
}

// turn runs one block. It runs outside Go's scheduler: see [Loop].
func (p *Player) turn() graph.Code {
	if p.cfg.In != nil && !p.feed() {
		return graph.End
	}
	before := Now()
	code := p.step()
	for i := range p.taps {
		p.record(&p.taps[i])
	}
	p.worst = max(p.worst, Now()-before)
	p.frames += int64(p.block)
	if p.cfg.Out != nil && !p.play() {
		return graph.End
	}
	p.hold()
	return code
}

// hold sleeps if the streams run far ahead of the system's clock: a device that has no clock must not keep the
// processor.
func (p *Player) hold() {
	if p.cfg.Free {
		return
	}
	due := p.began + int64(float64(p.frames)/p.cfg.SampleRate*second)
	if now := Now(); due > now+second {
		SleepUntil(due - second)
	}
}

// check notes the end of a stream and reports whether to go on.
func (p *Player) check(s Status) bool {
	if s == Gone || s == Stopped {
		p.status = s
		return false
	}
	return true
}

// feed fills the Input. It returns false at the end, with what is left of the stream there.
func (p *Player) feed() bool {
	i := &p.in
	status := OK
	if i.change == nil {
		status = p.cfg.In.Move(i.buffer)
	}
	for i.change != nil && i.waiting.held() < len(i.buffer) && status < Stopped {
		status = max(status, p.cfg.In.Move(i.chunk))
		i.moved += int64(len(i.chunk) / i.ch)
		i.waiting.write(i.change.run(i.chunk, p.drift.trim))
	}
	if !p.check(status) {
		p.lostIn = true
		return false
	}
	if i.change != nil {
		i.waiting.read(i.buffer)
	}
	n := int64(i.to.N)
	if status == End && !p.ended {
		p.ended, p.left = true, n
		if e, ok := p.cfg.In.(*fileReader); ok && i.change == nil {
			p.left -= int64(e.short)
		} else if ok {
			p.left = int64(math.Ceil(float64(i.moved-int64(e.short))*i.ratio-1e-6)) - i.given
		}
	}
	i.given += n
	for r := range i.to.B * i.to.C {
		spread(i.to.Row(r), i.buffer, r, i.ch, i.to.B*i.to.C)
	}
	if p.ended && p.left < n {
		return false
	}
	p.left -= n
	return true
}

// spread takes a row from interleaved frames: its channel, all of them for a single row, or the only one.
func spread(to, x []float32, row, ch, rows int) {
	switch {
	case ch == 1:
		copy(to, x)
	case rows == 1:
		for k := range to {
			sum := float32(0)
			for c := range ch {
				sum += x[k*ch+c]
			}
			to[k] = sum / float32(ch)
		}
	case row < ch:
		for k := range to {
			to[k] = x[k*ch+row]
		}
	default:
		clear(to)
	}
}

// mix interleaves rows for a device: each to its channel, a single row to all of them, all to a single channel.
func mix(x []float32, t *node.Tensor[float32], rows, ch int) {
	for c := range ch {
		switch {
		case rows == 1 || ch > 1 && c < rows:
			for k, v := range t.Row(min(c, rows-1)) {
				x[k*ch+c] = v
			}
		case ch == 1:
			for k := range t.N {
				sum := float32(0)
				for r := range rows {
					sum += t.Row(r)[k]
				}
				x[k] = sum / float32(rows)
			}
		default:
			for k := range t.N {
				x[k*ch+c] = 0
			}
		}
	}
}

// play gives the device what the Probe has taken. A device must not starve while delays of the graph fill: as soon as a
// whole block is missing it is silence.
func (p *Player) play() bool {
	o := &p.out
	t, _ := p.s.Probe(o.node)
	if o.missing += o.frames - t.N; o.missing >= o.frames {
		o.missing -= o.frames
		o.silent += int64(o.frames)
		clear(o.buffer)
		if !p.give(o.buffer) {
			return false
		}
	}
	mix(o.buffer, &t, o.rows, o.ch)
	if !p.give(o.buffer[:t.N*o.ch]) {
		return false
	}
	if p.in.change != nil && !p.cfg.Shared {
		// What waits anywhere between: where a full output makes the caller wait, the input holds the rest.
		if q, ok := p.cfg.Out.Queued(); ok {
			have := float64(q) / float64(p.cfg.Out.Format().Rate)
			if q, ok = p.cfg.In.Queued(); ok {
				have += float64(q) / float64(p.cfg.In.Format().Rate)
			}
			have += (float64(p.in.waiting.held()/p.in.ch) + p.in.change.hidden) / (p.cfg.SampleRate * float64(p.in.to.N) / float64(p.block))
			p.drift.update(have, float64(p.block)/p.cfg.SampleRate)
		}
	}
	return true
}

// give moves frames to the device, resampled.
func (p *Player) give(x []float32) bool {
	o := &p.out
	if o.change == nil {
		return p.move(x)
	}
	o.waiting.write(x)
	for o.waiting.held() >= len(o.chunk) {
		o.waiting.read(o.chunk)
		if !p.move(o.change.run(o.chunk, 0)) {
			return false
		}
	}
	return true
}

func (p *Player) move(x []float32) bool {
	if len(x) == 0 {
		return true
	}
	if !p.check(p.cfg.Out.Move(x)) {
		return false
	}
	return true
}

// record passes what a Probe has taken to the recorder.
func (p *Player) record(t *tap) {
	x, _ := p.s.Probe(t.Node)
	mix(t.mixed, &x, t.rows, t.rows)
	n := x.N * t.rows
	for p.waits && t.To.ring.room() < n && !t.To.failed.Load() {
		SleepUntil(Now() + nap)
	}
	t.To.Put(t.mixed[:n])
}

// drain runs the tail of the graph after the end of the input.
func (p *Player) drain() error {
	p.waits = true
	if err := p.s.Finish(graph.Rat{Num: max(p.left, 0) * int64(p.block), Den: int64(p.in.to.N)}); err != nil {
		return err
	}
	for {
		moved, err := p.s.Drain()
		if err != nil {
			return err
		}
		for i := range p.taps {
			p.record(&p.taps[i])
		}
		if p.cfg.Out != nil {
			p.out.missing = math.MinInt32 // silence fills no gaps any more
			if !p.play() {
				return p.cfg.Out.Err()
			}
		}
		if !moved {
			return nil
		}
	}
}
