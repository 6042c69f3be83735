package flowtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Graph is a random plan and what a host does with it.
type Graph struct {
	Text        string // the plan as JSON
	BlockFrames int
	Batches     int // of all streams
	Channels    int
	Multiple    int // sizes of blocks are multiples of it
	Inputs      []string
	Probes      []string
	Shut        int64 // blocks for which the host gate stays closed; it is open in all later ones
	Gated       bool  // there is a host gate
	// Slow is set if a gate opens in fewer blocks than come, or stays shut for many: the channels before it grow.
	Slow bool
	// Limited is set if some channel has a capacity: inputs may have to wait.
	Limited bool
	// AtEnd is set if some node gives everything at the end of the stream.
	AtEnd bool
}

// The identifiers of gates; barriers have firstBarrier plus the pace of what they join.
const (
	tempoGate = 1 + iota
	slowGate
	hostGate
	thermalGate
	firstBarrier
)

// A stream is an output of the plan that is drawn. Streams of one pace have equally many frames in the long run, so
// that a node can join them in bounded memory.
type stream struct {
	name string
	pace int
	read bool
}

// A pen writes a plan.
type pen struct {
	r            *rand.Rand
	g            *Graph
	nodes, edges []string
	streams      []stream
	paces        int
	per          []int    // base frames per frame, by pace
	limits       bool     // some edges get a capacity
	asked        []string // types with one input and one output that must be asked, as the inside of a node's JSON
}

// Draw draws a graph. asked names further types that must be asked, of one input and one output, in the form that a
// node has in a plan: `"type": "Smooth", "params": {"a": 0.1}`. Some graphs cannot be linked, because a barrier waits
// for itself: draw another one.
func Draw(seed uint64, asked ...string) *Graph {
	r := rand.New(rand.NewPCG(seed, 0xd2a3))
	shape := [][2]int{{1, 1}, {1, 1}, {1, 2}, {3, 1}, {2, 2}}[r.IntN(5)]
	p := &pen{r: r, g: &Graph{Batches: shape[0], Channels: shape[1], BlockFrames: []int{5, 16, 40, 64, 100}[r.IntN(5)], Shut: r.Int64N(5), Multiple: 1}, paces: 1, per: []int{1}, limits: r.IntN(3) == 0,
		asked: append([]string{`"type": "Late"`, `"type": "Asked"`}, asked...)}
	for i := range 1 + r.IntN(2) {
		name := fmt.Sprintf("x%d", i)
		p.g.Inputs = append(p.g.Inputs, name)
		p.node(name, fmt.Sprintf(`"type": "Input", "params": {%s}`, p.rows()), 0)
	}
	if r.IntN(2) == 0 {
		tones := []string{
			fmt.Sprintf(`"type": "LFO", "params": {"frequency_hz": 700, "kind": "triangle", %s}`, p.rows()),
			fmt.Sprintf(`"type": "Oscillator", "oversample_ratio": %d, "params": {"kind": "saw", "frequency_hz": 1234.5, %s}`, 1<<r.IntN(3), p.rows()),
			fmt.Sprintf(`"type": "Noise", "params": {"seed": 3, %s}`, p.rows()),
		}
		if p.g.Batches*p.g.Channels == 1 {
			tones = append(tones, `"type": "Notes", "params": {"voices": 1, "a4_hz": 1}`)
		}
		p.node("tone", tones[r.IntN(len(tones))], 0)
	}
	if r.IntN(4) == 0 {
		p.g.Shut = 20 + r.Int64N(400) // perhaps until the end
	}
	for range 3 + r.IntN(10) {
		p.step()
	}
	for i := range p.streams {
		if s := p.streams[i]; !s.read || r.IntN(6) == 0 {
			name := "p" + s.name
			p.g.Probes = append(p.g.Probes, name)
			p.nodes = append(p.nodes, fmt.Sprintf(`{"name": %q, "type": "Probe"}`, name))
			p.edge(s, name, true)
		}
	}
	gates := []any{tempoGate, 1 + r.IntN(p.g.BlockFrames), slowGate, p.g.BlockFrames + 1 + r.IntN(2*p.g.BlockFrames), hostGate, thermalGate}
	p.g.Slow = p.g.Slow || p.g.Gated && p.g.Shut > 4
	if seed%3 == 0 {
		p.twins()
	}
	if p.limits {
		p.probe(p.cycle(p.streams[0], false))
	}
	p.g.Text = fmt.Sprintf(`{"nodes": [%s], "edges": [%s], "gates": [{"id": %d, "kind": "tempo", "period_frames": %d}, {"id": %d, "kind": "tempo", "period_frames": %d}, {"id": %d, "kind": "host"}, {"id": %d, "kind": "thermal"}], "heat_budget_joules_per_second": 0.001}`,
		append([]any{strings.Join(p.nodes, ",\n"), strings.Join(p.edges, ",\n")}, gates...)...)
	return p.g
}

// twins adds nodes beside each other, which are called as one.
func (p *pen) twins() {
	for i, inside := range []string{`"type": "Biquad", "params": {"f0": 2000}`, `"type": "Gain", "params": {"gain": 0.6}`} {
		for k := range 2 {
			s := p.node(fmt.Sprintf("t%d%d", i, k), inside, 0)
			p.edge(p.streams[0], s.name, false)
			p.probe(s)
		}
	}
}

// probe adds a Probe that waits for nothing else.
func (p *pen) probe(s stream) {
	p.g.Probes = append(p.g.Probes, "p"+s.name)
	p.nodes = append(p.nodes, fmt.Sprintf(`{"name": %q, "type": "Probe"}`, "p"+s.name))
	p.edge(s, "p"+s.name, false)
}

// rows is the settings of a source.
func (p *pen) rows() string {
	return fmt.Sprintf(`"batches": %d, "channels": %d`, p.g.Batches, p.g.Channels)
}

// node adds a node whose output is a stream of a pace.
func (p *pen) node(name, inside string, pace int) stream {
	p.nodes = append(p.nodes, fmt.Sprintf(`{"name": %q, %s}`, name, inside))
	s := stream{name: name, pace: pace}
	p.streams = append(p.streams, s)
	return s
}

// edge adds an edge, with a delay and gates if it may wait.
func (p *pen) edge(from stream, to string, wait bool) {
	more := ""
	if wait {
		switch p.r.IntN(8) {
		case 0, 1:
			more = fmt.Sprintf(`, "delay_frames": %d`, 1+p.r.IntN(150))
		case 2:
			more = fmt.Sprintf(`, "delay_frames": %d, "delay_kind": "prefill"`, 1+p.r.IntN(100))
		}
		if p.limits && p.r.IntN(6) == 0 {
			more += fmt.Sprintf(`, "capacity_frames": %d`, 1+p.r.IntN(300))
			p.g.Limited = true
		}
		gate := 0
		switch p.r.IntN(40) {
		case 0, 1, 2:
			gate = tempoGate
		case 3, 4, 5:
			gate, p.g.Gated = hostGate, true
		case 6, 7, 8:
			gate = firstBarrier + from.pace
		case 9:
			gate, p.g.Slow = slowGate, true
		case 10: // closed after a block in which some node is hot, open after one in which none is called
			gate, p.g.Slow = thermalGate, true
		}
		if gate > 0 {
			more += fmt.Sprintf(`, "synchrony_gates": [%d]`, gate)
		}
	}
	p.edges = append(p.edges, fmt.Sprintf(`{"source": %q, "target": %q%s}`, from.name, to, more))
	p.touch(from)
}

// some returns a stream, of a pace if that is not negative. Early streams are as likely as late ones, so that outputs
// have many readers.
func (p *pen) some(pace int) stream {
	for {
		if s := p.streams[p.r.IntN(len(p.streams))]; pace < 0 || s.pace == pace {
			return s
		}
	}
}

// one adds a node with one input.
func (p *pen) one(from stream, inside string, pace int) stream {
	name := fmt.Sprintf("n%d", len(p.nodes))
	s := p.node(name, inside, pace)
	p.edge(from, name, true)
	return s
}

// plain returns a node that gives what it takes, and need not be asked.
func (p *pen) plain() string {
	ratio := 1 << p.r.IntN(3)
	return []string{
		fmt.Sprintf(`"type": "Gain", "params": {"gain": 0.7, "thermo.heat": %g}`, []float64{0, 0.001}[p.r.IntN(2)]),
		fmt.Sprintf(`"type": "Biquad", "oversample_ratio": %d, "supports_v2": true, "params": {"f0": 3000}`, ratio),
		fmt.Sprintf(`"type": "OnePole", "oversample_ratio": %d, "params": {"f0": 2000}`, ratio),
		`"type": "WaveShaper", "params": {"kind": "soft"}`,
		fmt.Sprintf(`"type": "Delay", "declared_delay": %d, "params": {"delay": 7, "max_delay": 20}`, 3*p.r.IntN(2)),
		fmt.Sprintf(`"type": "Delay", "declared_delay": %d, "pdc": %q, "params": {"delay": 8, "max_delay": 20}`, 8, []string{"trim", "pad"}[p.r.IntN(2)]),
	}[p.r.IntN(6)]
}

// pace begins a pace of one frame per so many base frames.
func (p *pen) pace(per int) {
	p.paces++
	p.per = append(p.per, per)
	p.g.Multiple = max(p.g.Multiple, per/gcd(per, p.g.Multiple)*p.g.Multiple)
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// step adds a node, or a few that belong together.
func (p *pen) step() {
	from := p.some(-1)
	switch p.r.IntN(12) {
	case 0, 1:
		p.one(from, p.plain(), from.pace)
	case 2, 3:
		p.one(from, p.asked[p.r.IntN(len(p.asked))], from.pace)
	case 4:
		p.pace(p.per[from.pace])
		p.one(from, fmt.Sprintf(`"type": "AsyncResample", "params": {"ratio": %.3f}`, 0.3+0.7*p.r.Float64()), p.paces-1)
	case 5:
		p.pace(p.per[from.pace])
		p.one(from, `"type": "Sieve"`, p.paces-1)
	case 6, 7:
		n := 2 + p.r.IntN(2)
		name := fmt.Sprintf("n%d", len(p.nodes))
		others := []stream{from}
		for len(others) < n {
			others = append(others, p.some(from.pace))
		}
		p.node(name, fmt.Sprintf(`"type": "Mix", "params": {"inputs": %d}`, n), from.pace)
		for i, s := range others {
			p.edge(s, fmt.Sprintf("%s.in%d", name, i), true)
		}
	case 8: // a modulated gain
		by := p.some(from.pace)
		s := p.one(from, `"type": "Gain", "params": {"gain": 0.5}`, from.pace)
		p.edges = append(p.edges, fmt.Sprintf(`{"source": %q, "target": "%s.gain", "mode": %q, "scale": 0.25}`, by.name, s.name, []string{"add", "mul"}[p.r.IntN(2)]))
		p.touch(by)
	case 11: // frames that come late, and more of them at the end
		hop := []int{1, 2, 5}[p.r.IntN(3)]
		if p.g.BlockFrames%(p.per[from.pace]*hop) != 0 {
			hop = 1
		}
		p.pace(p.per[from.pace] * hop)
		peak := []string{"running", "running", "running", "global"}[p.r.IntN(4)]
		p.g.AtEnd = p.g.AtEnd || peak == "global"
		p.one(from, fmt.Sprintf(`"type": %s"preset": "librosa", "sample_rate": 8000, "f_max": 4000, "n_fft": 8, "win": 8, "hop": %d, "n_mels": 1, "clamp": 3, "peak": %q, "most_frames": 100000}`,
			[]string{`"LogMel", "params": {`, `"MFCC", "params": {"n_mfcc": 1, `}[p.r.IntN(2)], hop, peak), p.paces-1)
	case 9: // at twice the rate
		p.pace(p.per[from.pace])
		up := p.one(from, `"type": "Upsample", "params": {"tier": 60}`, p.paces-1)
		in := p.one(up, p.plain(), p.paces-1)
		p.streams = p.streams[:len(p.streams)-2]
		p.one(in, `"type": "Downsample", "params": {"tier": 60}`, from.pace)
	default:
		p.cycle(from, true)
	}
}

// cycle adds a cycle, perhaps through a node that must be asked. One that does not wait
// never is, and its channel has less room than its delay.
func (p *pen) cycle(from stream, wait bool) stream {
	mix := p.node(fmt.Sprintf("n%d", len(p.nodes)), `"type": "Mix"`, from.pace)
	p.edge(from, mix.name+".in0", wait)
	last := mix
	if wait && p.r.IntN(2) == 0 {
		whole := p.asked[1:] // what Late keeps would be missing in the cycle
		last = p.node(fmt.Sprintf("n%d", len(p.nodes)), whole[p.r.IntN(len(whole))], from.pace)
		p.edge(mix, last.name, false)
	}
	back := p.node(fmt.Sprintf("n%d", len(p.nodes)), `"type": "Gain", "params": {"gain": -0.4}`, from.pace)
	p.edge(last, back.name, false)
	delay, more := 1+p.r.IntN(120), ""
	if !wait || p.limits && p.r.IntN(2) == 0 {
		more, p.g.Limited = fmt.Sprintf(`, "capacity_frames": %d`, 1+p.r.IntN(delay)), true
	}
	p.edges = append(p.edges, fmt.Sprintf(`{"source": %q, "target": "%s.in1", "delay_frames": %d%s}`, back.name, mix.name, delay, more))
	p.touch(back)
	return mix
}

// touch notes that a stream has a reader.
func (p *pen) touch(s stream) {
	for i := range p.streams {
		if p.streams[i].name == s.name {
			p.streams[i].read = true
		}
	}
}
