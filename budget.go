package atenia

import (
	"context"
	"errors"

	"atenia/internal/cpu"
	"atenia/internal/exec"
	"atenia/internal/modelfile"
	"atenia/internal/pack"
	"atenia/internal/residence"
	"atenia/internal/weights"
	"atenia/tier/budget"
	"atenia/tier/ring"
)

// programGrowth is what a process comes to take beyond what it has when a
// model's text is loaded: code that runs for the first time, stacks, garbage.
const programGrowth = 12 << 20

// A memory is where a model's weights are.
type memory struct {
	weights exec.Weights
	stream  exec.Stream
	pack    pack.Config
	plan    *budget.Plan         // nil without a budget
	home    *residence.Residence // nil when the weights are mapped
	release func()
}

// close gives it back.
func (y *memory) close() error {
	y.release()
	if y.home == nil {
		return nil
	}
	return y.home.Close()
}

// settle decides where the weights live and brings them there.
func (m *Model) settle(ctx context.Context) (*memory, error) {
	if m.cfg.placed() {
		_ = m.desc.Advise(modelfile.Random) // what lies around small weights would come in with them
	}
	w, err := weights.Materialise(m.model, m.desc)
	if err != nil {
		return nil, err
	}
	y := &memory{weights: w, release: func() {}}
	if !m.cfg.placed() {
		y.pack = m.packConfig()
		return y, nil
	}
	if y.plan, err = m.place(ctx); err != nil {
		return nil, err
	}
	if !y.plan.Spills() {
		y.pack = m.packWithin(y.plan)
		y.release = residence.LimitHeap(programGrowth)
		return y, nil
	}
	y.weights, y.pack.Mode = nil, pack.Off
	if y.home, err = residence.Open(ctx, m.model, m.desc, y.plan, m.residence()); err != nil {
		return nil, err
	}
	if f := y.home.Buffered; f != "" {
		if m.cfg.Strict {
			return nil, errors.Join(strictly("storage", f+" cannot be read directly: its bytes go through the system's cache, outside of the budget"), y.home.Close())
		}
		m.cfg.Logger.Warn("reads go through the system's cache", "file", f)
	}
	y.weights, y.stream = y.home.Weights, y.home.Stream
	y.release = residence.LimitHeap(programGrowth)
	return y, nil
}

// place asks the planner, with what this process has come to need by now.
func (m *Model) place(ctx context.Context) (*budget.Plan, error) {
	if m.cfg.CacheBytes == 0 {
		m.cfg.CacheBytes = m.plan.place.CacheBytes(m.plan.placement())
	}
	p := *m.plan
	if p.cfg.Budget.Reserve.Runtime == 0 {
		p.cfg.Budget.Reserve.Runtime = residence.Resident() + programGrowth
	}
	room := int64(0)
	if ram := p.cfg.Budget.RAM; ram > 0 {
		room = max(1, ram-p.cfg.Budget.Reserve.Runtime)
	}
	pl, err := p.placeWithin(ctx, room)
	if e, ok := errors.AsType[*budget.FloorError](err); ok {
		return nil, &ConfigError{"Budget", nil, e.Error()}
	}
	if err == nil && (pl.UsesVRAM() || m.cfg.Budget.VRAM > 0) {
		return nil, &ConfigError{"Budget", m.cfg.Budget.String(), "vram=0: there is no device that this binary can compute on"}
	}
	return pl, err
}

// packWithin lets packed weights take what a budget leaves.
func (m *Model) packWithin(p *budget.Plan) pack.Config {
	c := m.packConfig()
	if ram := p.Input().RAM; ram > 0 {
		c.Available, c.Reserve = max(1, ram-p.RAM()), 0
	}
	return c
}

// A Streaming says how a model's weights lie in memory and on disk, and what
// has been read of them so far.
type Streaming struct {
	Plan     *budget.Plan // what was planned; nil without a budget
	Held     int64        // bytes of weights in memory, as far as they are not mapped
	Streamed int64        // bytes that each pass reads
	ring.Stats
}

// Compare sets what was measured beside the plan: the most memory that the
// process had, and what passes after the first, those of the answer, took.
func (s *Streaming) Compare() budget.Comparison {
	if s.Plan == nil {
		return nil
	}
	a := budget.Actual{RAM: float64(cpu.PeakResident())}
	if s.Passes > 1 {
		a.SSDBytes = float64(s.Read) / float64(s.Passes)
		a.Seconds = (s.Wall - s.First).Seconds() / float64(s.Passes-1)
		a.Overlap = s.Overlap(s.Wall)
	}
	return budget.Compare(s.Plan, a)
}

// Streaming returns how the weights are brought in. Any goroutine may ask.
func (m *Model) Streaming() Streaming {
	s := Streaming{Plan: m.memory.plan}
	if h := m.memory.home; h != nil {
		s.Held, s.Streamed = h.Held, h.Streamed
		if r := h.Stream.Ring; r != nil {
			s.Stats = r.Stats()
		}
	}
	return s
}
