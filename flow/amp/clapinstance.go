package amp

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"atenia/flow/amp/internal/abi"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/machine/library"
	"atenia/internal/machine/watch"
)

// An instance is a plug-in as a node. It collects its inputs into process calls
// of a fixed number of frames, so that a plug-in whose outputs depend on that
// number gives the same ones for every block of a session:
//
//	frame    0 … frames-1   frames … 2·frames-1
//	input    collected      collected
//	process           │call 0             │call 1
//	output   zeros ……  0 │ 1 … of call 0  0 │
//
// Output n is the plug-in's frame n - (frames - 1): the last frame collected
// makes the call, and its first output is given out at once.
type plugged[F node.Float] struct {
	*plug
	mem    *abi.Memory
	frames int
	fill   int   // frames collected
	start  int64 // stream frame of the first one
	in     []bus // all the plug-in's inputs; those beyond the node's stay zero
	out    []bus
	fed    int // inputs with an edge

	process  *cProcess
	list     *abi.List
	rec      *abi.Record
	clearing *abi.List // a call of reset
	input    *cEvents
	events   []cEvent
	params   []param
	score    []stroke
	next     int // in score
}

// A bus is the memory of an audio port: rows of channels, each followed by a
// guard.
type bus struct {
	row []([]float32)
}

// A param is a parameter of the node.
type param struct {
	CLAPParam
	at    int     // in node.Call.Param
	given bool    // the plan gives it
	last  float64 // sent; NaN: none
}

const (
	guard     = 16 // floats
	maxEvents = 1 << 14
)

// guardBits is a NaN that no computation makes.
const guardBits = 0x7fa5a5a5

func newPlugged[F node.Float](l *CLAPLibrary, cfg node.Config) (node.Instance[F], error) {
	n := cfg.Node
	want, err := l.Describe(n.Type)
	if err != nil {
		return nil, err
	}
	state, err := stateOf(n.Node, cfg.Settings)
	if err != nil {
		return nil, err
	}
	notes, err := ParseCLAPNotes(cfg.Settings.Word(setNotes))
	if err != nil {
		return nil, err
	}
	i := &plugged[F]{frames: cfg.Settings.Int(setFrames), fed: inputs(want, cfg.Settings), score: strokes(notes)}
	for k, x := range paramsOf(want, n.Node) {
		i.params = append(i.params, param{x, k, n.Param(x.Name) != nil, math.NaN()})
	}
	place := watch.New(fmt.Sprintf("node %q (%s)", n.Name, l.path))
	err = l.do(place, func() error { return i.make(l, want, state, cfg, place) })
	if err != nil {
		place.Free()
		return nil, err
	}
	l.mu.Lock()
	l.plugs = append(l.plugs, i.plug)
	l.mu.Unlock()
	return i, nil
}

// make makes the plug-in, gives it its state, and starts it. On the main
// thread.
func (i *plugged[F]) make(l *CLAPLibrary, want *CLAPPlugin, state []byte, cfg node.Config, place *watch.Place) (err error) {
	n := cfg.Node
	if i.plug, err = l.create(n.Type, n.Name, place); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			i.destroy()
		}
	}()
	if state != nil {
		if err := i.load(state); err != nil {
			return err
		}
	}
	is, err := i.describe()
	if err != nil {
		return err
	}
	if !slices.Equal(is.Inputs, want.Inputs) || !slices.Equal(is.Outputs, want.Outputs) {
		return &CLAPRefusedError{l.path, i.id, "its ports differ from those that it first described"}
	}
	if err := i.flush(n.Node); err != nil {
		return err
	}
	if err := i.activate(cfg.SampleRate, i.frames); err != nil {
		return err
	}
	if late := i.latency() + i.frames - 1; n.PDC != "" && n.DeclaredDelay != late {
		return &CLAPLatencyError{Node: n.Name, Declared: n.DeclaredDelay, Delay: late, Rate: cfg.SampleRate}
	}
	if err := i.allocate(want); err != nil {
		return err
	}
	return i.plug.start()
}

// flush gives the plug-in the plan's constant parameters before it is
// activated, since its latency may depend on them. On the main thread.
func (i *plugged[F]) flush(n *graph.Node) error {
	t := extension(i.plug, "clap.params", func(t *cParams) bool { return t.Flush != 0 })
	if t == nil || len(i.params) == 0 {
		return nil
	}
	m, err := abi.NewMemory(abi.SizeOf[cEvents](1) + abi.SizeOf[cQueue](1) + abi.SizeOf[cEvent](len(i.params)))
	if err != nil {
		return err
	}
	defer m.Release()
	in, out := abi.Make[cEvents](m, 1), abi.Make[cQueue](m, 1)
	i.events = abi.Make[cEvent](m, len(i.params))
	in[0] = cEvents{Size: i.lib.table.Size, Get: i.lib.table.Get, List: abi.Address(i.events)}
	out[0] = cQueue{Push: i.lib.table.Push}
	i.input = &in[0]
	for k := range i.params {
		p := &i.params[k]
		if v := n.Param(p.Name); v != nil && len(v.Value.Data) == 1 {
			i.change(p, v.Value.Data[0], 0)
			p.last = math.NaN() // and again at the first frame, for those that listen there alone
		}
	}
	if in[0].Count > 0 {
		library.Call(t.Flush, i.address, abi.Address(in), abi.Address(out))
	}
	return nil
}

// A CLAPLatencyError says that the delay that is compensated is not the plug-in's.
type CLAPLatencyError struct {
	Node            string
	Declared, Delay int     // frames
	Rate            float64 // hertz
}

// Error implements error.
func (e *CLAPLatencyError) Error() string {
	return fmt.Sprintf("node %s is late by %d frames at %v Hz, and %d are compensated: set declared_delay to %d", e.Node, e.Delay, e.Rate, e.Declared, e.Delay)
}

// allocate lays out what the plug-in sees of a process call.
func (i *plugged[F]) allocate(d *CLAPPlugin) error {
	// Changes of every parameter in every frame fit, within reason.
	count := min(i.frames*(len(i.params)+1)+len(i.score), maxEvents)
	rows, row := 0, abi.SizeOf[float32](i.frames+guard)
	for _, p := range slices.Concat(d.Inputs, d.Outputs) {
		rows += p.Channels
	}
	ports := len(d.Inputs) + len(d.Outputs)
	bytes := rows*row + ports*abi.SizeOf[uintptr](maxChannels+1) + abi.SizeOf[cAudio](len(d.Inputs)) + abi.SizeOf[cAudio](len(d.Outputs)) +
		abi.SizeOf[cProcess](1) + 2*(abi.SizeOf[abi.List](1)+abi.SizeOf[abi.Record](1)) + abi.SizeOf[cEvents](1) + abi.SizeOf[cQueue](1) + abi.SizeOf[cEvent](count)
	m, err := abi.NewMemory(bytes)
	if err != nil {
		return err
	}
	i.mem, i.plug.more = m, m
	p, e, q := abi.Make[cProcess](m, 1), abi.Make[cEvents](m, 1), abi.Make[cQueue](m, 1)
	i.process, i.input, i.events = &p[0], &e[0], abi.Make[cEvent](m, count)
	*i.input = cEvents{Size: i.lib.table.Size, Get: i.lib.table.Get, List: abi.Address(i.events)}
	q[0] = cQueue{Push: i.lib.table.Push}
	*i.process = cProcess{Frames: uint32(i.frames), InCount: uint32(len(d.Inputs)), OutCount: uint32(len(d.Outputs)), InEvents: abi.Address(e), OutQueue: abi.Address(q)}
	i.process.In, i.in = i.buses(d.Inputs)
	i.process.Out, i.out = i.buses(d.Outputs)
	one := func(f uintptr, args uintptr) (*abi.List, *abi.Record) {
		l, r := abi.Make[abi.List](m, 1), abi.Make[abi.Record](m, 1)
		r[0] = abi.Record{Fn: f, Desc: i.address, State: args}
		l[0] = abi.List{Records: abi.Address(r), Count: 1}
		return &l[0], &r[0]
	}
	i.list, i.rec = one(i.c.Process, abi.Address(p))
	i.clearing, _ = one(i.c.Reset, 0)
	return nil
}

// buses lays out the audio buffers of one side.
func (i *plugged[F]) buses(ports []CLAPPort) (uintptr, []bus) {
	audio, list := abi.Make[cAudio](i.mem, len(ports)), make([]bus, len(ports))
	for k, p := range ports {
		pointers := abi.Make[uintptr](i.mem, maxChannels+1) // null beyond the channels
		for c := range p.Channels {
			row := abi.Make[float32](i.mem, i.frames+guard)
			for g := range guard {
				row[i.frames+g] = math.Float32frombits(guardBits)
			}
			list[k].row = append(list[k].row, row)
			pointers[c] = abi.Address(row)
		}
		audio[k] = cAudio{Data32: abi.Address(pointers), Channels: uint32(p.Channels)}
	}
	return abi.Address(audio), list
}

// Forward collects inputs and changes of parameters, and makes the process
// calls that they complete. It is CLAP's audio thread while it runs.
func (i *plugged[F]) Forward(c *node.Call[F]) graph.Code {
	code := graph.Success
	for at := 0; at < c.Tokens; {
		n := min(i.frames-i.fill, c.Tokens-at)
		i.collect(c, at, n)
		i.send(c, at, n)
		if i.fill += n; i.fill < i.frames {
			i.give(c, at, n, i.fill-n+1)
			at += n
			continue
		}
		i.give(c, at, n-1, i.frames-n+1)
		if r := i.call(); r != graph.Success {
			code = r
		}
		at += n
		i.give(c, at-1, 1, 0)
	}
	c.Produced = c.Tokens
	c.Heat = node.HeatOf(c)
	return code
}

// collect copies n frames of the inputs from frame at on.
func (i *plugged[F]) collect(c *node.Call[F], at, n int) {
	for k := range c.In {
		t := &c.In[k]
		for ch, row := range i.in[k].row {
			to := row[i.fill : i.fill+n]
			if t.Data == nil {
				clear(to)
				continue
			}
			if t.C == 1 {
				ch = 0
			}
			for j, x := range t.Row(ch)[at : at+n] {
				to[j] = float32(x)
			}
		}
	}
}

// give copies n frames of the plug-in's outputs, from frame from on, to frame at
// of the call.
func (i *plugged[F]) give(c *node.Call[F], at, n, from int) {
	if n <= 0 {
		return
	}
	for k := range c.Out {
		t := &c.Out[k]
		if t.Data == nil {
			continue
		}
		for ch := range t.C {
			to := t.Row(ch)[at : at+n]
			for j, x := range i.out[k].row[ch][from : from+n] {
				to[j] = F(x)
			}
		}
	}
}

// send adds the events of n frames from frame at on, in order of time: notes
// that end, notes that begin, parameters that change.
func (i *plugged[F]) send(c *node.Call[F], at, n int) {
	framed := false
	for k := range i.params {
		framed = framed || c.Param[i.params[k].at].Framed
	}
	for j := range n {
		for i.next < len(i.score) && i.score[i.next].frame <= i.start+int64(i.fill+j) {
			if !i.note(&i.score[i.next], i.fill+j) {
				break
			}
			i.next++
		}
		if j > 0 && !framed {
			if i.next == len(i.score) || i.score[i.next].frame >= i.start+int64(i.fill+n) {
				return
			}
			continue
		}
		for k := range i.params {
			p := &i.params[k]
			v := &c.Param[p.at]
			switch {
			case v.Framed:
				i.change(p, float64(v.Data[at+j]), i.fill+j)
			case j == 0 && (p.given || p.last == p.last || v.Data[0] != F(p.Default)):
				// A default is not sent: the plug-in's state may say otherwise.
				i.change(p, float64(v.Data[0]), i.fill)
			}
		}
	}
}

// event returns the next event of the process call, nil if there is no room.
func (i *plugged[F]) event(at int) *cEvent {
	n := i.input.Count
	if n == uint64(len(i.events)) {
		i.counts[dropped].Store(1)
		return nil
	}
	i.input.Count++
	e := &i.events[n]
	*e = cEvent{Time: uint32(at)}
	return e
}

// change sends a parameter's value if it is another than before.
func (i *plugged[F]) change(p *param, v float64, at int) {
	if v != v {
		return
	}
	v = min(max(v, p.Min), p.Max)
	if p.Stepped {
		v = math.Trunc(v)
	}
	if v == p.last {
		return
	}
	e := i.event(at)
	if e == nil {
		return
	}
	p.last = v
	e.Size, e.Type = paramBytes, paramValue
	// param_id, a null cookie, wildcards for note, port, channel and key, value
	e.Body = [6]uint64{uint64(p.ID), 0, wildcard | wildcard<<32, wildcard & 0xffff, math.Float64bits(v)}
}

// wildcard is -1 in 32 bits, or twice in 16.
const wildcard = 0xffffffff

// note sends the beginning or the end of a note.
func (i *plugged[F]) note(s *stroke, at int) bool {
	e := i.event(at)
	if e == nil {
		return false
	}
	e.Size, e.Type = noteBytes, noteOff
	if s.on {
		e.Type = noteOn
	}
	// note_id, port 0, channel; key, velocity
	e.Body = [6]uint64{uint64(uint32(s.id)) | uint64(s.note.Channel)<<48, uint64(s.note.Key), math.Float64bits(s.note.Velocity)}
	return true
}

// call makes a process call of the frames collected.
func (i *plugged[F]) call() graph.Code {
	i.process.SteadyTime = i.start
	atomic.StoreUint64(&i.context.Audio, callingThread())
	i.place.Enter()
	abi.Run(i.list)
	i.place.Leave()
	atomic.StoreUint64(&i.context.Audio, 0)
	i.start += int64(i.frames)
	i.fill, i.input.Count = 0, 0
	if i.list.EnvChanged != 0 {
		i.list.EnvChanged = 0
		i.counts[environment].Store(1)
	}
	code := graph.Success
	if s := i.rec.Result; s <= statusError || s > statusSleep {
		if s != statusError {
			i.counts[badStatus].Store(1)
		}
		code = graph.Fail
	}
	if !i.intact() {
		i.counts[overrun].Store(1)
		code = graph.InvalidArg
	}
	if code != graph.Success {
		for k := range i.out {
			for _, row := range i.out[k].row {
				clear(row[:i.frames])
			}
		}
	}
	return code
}

// intact reports whether the guards behind the outputs are, and restores them.
func (i *plugged[F]) intact() bool {
	ok := true
	for k := range i.out {
		for _, row := range i.out[k].row {
			for g := i.frames; g < len(row); g++ {
				if math.Float32bits(row[g]) != guardBits {
					row[g], ok = math.Float32frombits(guardBits), false
				}
			}
		}
	}
	return ok
}

// Reset clears what the plug-in remembers of the stream. Values of parameters
// are sent again.
func (i *plugged[F]) Reset() {
	atomic.StoreUint64(&i.context.Audio, callingThread())
	i.place.Enter()
	abi.Run(i.clearing)
	i.place.Leave()
	atomic.StoreUint64(&i.context.Audio, 0)
	i.fill, i.start, i.next, i.input.Count = 0, 0, 0, 0
	for k := range i.params {
		i.params[k].last = math.NaN()
	}
	for _, list := range [][]bus{i.in, i.out} {
		for k := range list {
			for _, row := range list[k].row {
				clear(row[:i.frames])
			}
		}
	}
}

// SaveState returns the state of the plug-in, as its presets and the settings
// state and state_file hold it.
func (i *plugged[F]) SaveState() (b []byte, err error) {
	err = i.lib.do(i.place, func() error {
		b, err = i.save()
		return err
	})
	return b, err
}

// Close destroys the plug-in.
func (i *plugged[F]) Close() error {
	l := i.lib
	l.mu.Lock()
	at := slices.Index(l.plugs, i.plug)
	if at < 0 { // the library is closed, and so is this
		l.mu.Unlock()
		return nil
	}
	l.plugs = slices.Delete(l.plugs, at, at+1)
	l.left = append(l.left, i.plug.events()...)
	l.mu.Unlock()
	defer i.place.Free()
	return l.do(i.place, func() error {
		i.destroy()
		return nil
	})
}

var _ StateSaver = (*plugged[float32])(nil)
