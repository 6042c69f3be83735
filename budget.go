package atenia

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"

	"atenia/internal/cpu"
	"atenia/internal/exec"
	"atenia/internal/pack"
	"atenia/internal/residence"
	"atenia/internal/weights"
	"atenia/tier/budget"
	"atenia/tier/ring"
)

// A Budget bounds the memory of a model. The zero Budget bounds nothing: the
// model is mapped, and the system decides what of it is in memory.
type Budget struct {
	// RAM is what the whole process may have, in bytes: weights, cached keys and
	// values, scratch, tokenizer and program. A model that needs more is
	// streamed from the disk, in part. 0 = no bound.
	RAM int64
	// VRAM is what may be used of a device's memory. Without a device anything
	// but 0 is an error.
	VRAM int64
}

// ParseBudget reads "ram=2GiB,vram=0".
func ParseBudget(s string) (b Budget, err error) {
	const want = "tiers and sizes, such as ram=2GiB,vram=0"
	for item := range strings.SplitSeq(s, ",") {
		name, size, ok := strings.Cut(strings.TrimSpace(item), "=")
		n, err := budget.ParseSize(size)
		if !ok || err != nil {
			return b, &ConfigError{"Budget", s, want}
		}
		switch name {
		case "ram":
			b.RAM = n
		case "vram":
			b.VRAM = n
		default:
			return b, &ConfigError{"Budget", s, want}
		}
	}
	if b.RAM == 0 && b.VRAM == 0 {
		return b, &ConfigError{"Budget", s, "memory for one tier at least"}
	}
	return b, nil
}

// String returns what [ParseBudget] reads, "" for no bound.
func (b Budget) String() string {
	if b == (Budget{}) {
		return ""
	}
	return fmt.Sprintf("ram=%d,vram=%d", b.RAM, b.VRAM)
}

func (b Budget) check() error {
	switch {
	case b.RAM < 0:
		return &ConfigError{"Budget", b.String(), "0 bytes or more"}
	case b.VRAM != 0:
		return &ConfigError{"Budget", b.String(), "vram=0: there is no device that this binary can use"}
	}
	return nil
}

// programGrowth is what a process comes to take beyond what it has when a
// model's text is loaded: code that runs for the first time, stacks, garbage.
const programGrowth = 24 << 20

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
	w, err := weights.Materialise(m.model, m.desc)
	if err != nil {
		return nil, err
	}
	y := &memory{weights: w, release: func() {}}
	if m.cfg.Budget.RAM == 0 {
		y.pack = m.packConfig()
		return y, nil
	}
	if y.plan, err = m.place(w); err != nil {
		return nil, err
	}
	if !y.plan.Spills() {
		y.pack = m.packWithin(y.plan)
		y.release = limitHeap()
		return y, nil
	}
	y.weights, y.pack.Mode = nil, pack.Off
	if y.home, err = residence.Open(ctx, m.model, m.desc, y.plan, m.cfg.Verify); err != nil {
		return nil, err
	}
	y.weights, y.stream = y.home.Weights, y.home.Stream
	y.release = limitHeap()
	return y, nil
}

// place asks the planner with what this process needs beside the weights.
func (m *Model) place(w exec.Weights) (*budget.Plan, error) {
	scratch, err := m.scratchBytes(w)
	if err != nil {
		return nil, err
	}
	if m.cfg.CacheBytes == 0 {
		m.cfg.CacheBytes = m.oneSequence()
	}
	in := budget.Input{
		Tensors: residence.Tensors(m.model, m.desc), RAM: m.cfg.Budget.RAM, Chunk: m.cfg.BatchTokens,
		Reserves: []budget.Reserve{
			{Name: "program", Bytes: residentNow() + programGrowth},
			{Name: "buffers", Bytes: scratch},
			{Name: "cache", Bytes: m.cfg.CacheBytes},
		},
	}
	p, err := budget.Place(in)
	if e, ok := errors.AsType[*budget.FloorError](err); ok {
		return nil, &ConfigError{"Budget", m.cfg.Budget.String(), e.Error()}
	}
	return p, err
}

// oneSequence returns the memory of one sequence as long as the context, and of
// the pages that are begun.
func (m *Model) oneSequence() int64 {
	fixed, perToken := m.Plan().StateBytes()
	return int64(fixed + perToken*uint64(m.context()+2*m.cfg.PageTokens))
}

// scratchBytes returns what an executor takes. It depends on the plans and the
// sizes alone, so one is bound to weights that nobody reads.
func (m *Model) scratchBytes(w exec.Weights) (int64, error) {
	c := m.execConfig()
	c.Threads, c.Pack.Mode = 1, pack.Off
	x, err := exec.New(&m.model.Plans, w, c)
	if err != nil {
		return 0, err
	}
	defer x.Close()
	return x.ScratchBytes(), nil
}

// packWithin lets packed weights take what a budget leaves.
func (m *Model) packWithin(p *budget.Plan) pack.Config {
	c := m.packConfig()
	c.Available, c.Reserve = max(1, m.cfg.Budget.RAM-p.RAM()), 0
	return c
}

// residentNow returns the memory that the process has, without garbage.
func residentNow() int64 {
	runtime.GC()
	debug.FreeOSMemory()
	if n := cpu.Resident(); n > 0 {
		return n
	}
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// limitHeap keeps garbage from growing beyond what a budget allows for it, and
// returns what undoes that.
func limitHeap() func() {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	limit := int64(s[0].Value.Uint64()-s[1].Value.Uint64()) + programGrowth/2
	old := debug.SetMemoryLimit(-1)
	if limit >= old {
		return func() {}
	}
	debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(old) }
}

// A Streaming says how a model's weights lie in memory and on disk, and what
// has been read of them so far.
type Streaming struct {
	Plan     *budget.Plan // what was planned; nil without a budget
	Held     int64        // bytes of weights in memory, as far as they are not mapped
	Streamed int64        // bytes that each pass reads
	ring.Stats
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
