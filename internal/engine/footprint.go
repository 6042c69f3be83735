package engine

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"atenia/internal/exec"
	"atenia/internal/memory/rates"
	"atenia/internal/memory/residence"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"

	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/plan"
	"atenia/internal/policy/replay"
	"atenia/tensor"
)

// A Footprint is the part of a compiled model that a placement depends on.
type Footprint struct {
	Path    string
	plans   *plan.ModelPlans
	weights map[string]compile.Weight
	tensors []place.Tensor // weights, in the order of use; none without files
	types   map[string]tensor.DType
	files   []place.Part
	largest string // the path of the largest file
}

// NewFootprint reads the headers of a model's files. Afterwards they may be closed.
func NewFootprint(path string, m *compile.Model, d *file.Description) *Footprint {
	p := &Footprint{Path: path, plans: &m.Plans, weights: m.Weights, types: map[string]tensor.DType{}}
	if len(d.Tensors) > 0 {
		p.tensors = residence.Tensors(m, d)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Weights)) {
		w := m.Weights[name]
		p.types[name] = tensor.F32 // in common formats, weights that are materialised are F32
		if at, ok := compile.Locate(&w, d); ok {
			p.types[name] = at.View.DType
		}
	}
	most := int64(-1)
	for _, f := range d.Parts {
		if f.Bytes > most {
			p.largest, most = f.Path, f.Bytes
		}
		p.files = append(p.files, place.Part{Name: filepath.Base(f.Path), Bytes: f.Bytes})
	}
	return p
}

// A PlacementConfig configures a placement.
type PlacementConfig struct {
	Budget Budget
	Rules  Rules
	File   string      // a placement file to follow; "" = none
	Exec   exec.Config // of the executor
	// CacheBytes bounds cached keys and values; 0 = as many as Rules.Batch
	// sequences need.
	CacheBytes int64
	Recorder   replay.Recorder // records decisions, unless it is zero
	// Measure measures how fast the machine reads a file. It is called once for
	// a placement that leaves weights on the SSD, unless the rates are given.
	// nil = nothing is measured.
	Measure func(path string) (rates.Rates, error)
}

// Place decides where each tensor lives. Its errors are those of package
// budget.
func (m *Footprint) Place(c PlacementConfig) (*place.Placement, error) {
	in, err := m.Input(c)
	if err != nil {
		return nil, err
	}
	decide := func(in place.Input, r replay.Recorder) (*place.Placement, error) { return r.Budget(in) }
	if c.File != "" {
		b, err := os.ReadFile(c.File)
		if err != nil {
			return nil, err
		}
		f, err := place.Parse(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.File, err)
		}
		decide = func(in place.Input, r replay.Recorder) (*place.Placement, error) {
			pl, err := r.Reload(in, f)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.File, err)
			}
			return pl, nil
		}
	}
	if c.Measure != nil && c.Rules.Rates.SSD == 0 && m.largest != "" {
		// Which weights stay on the SSD does not depend on rates, so a
		// placement without them shows whether any do.
		if pl, err := decide(in, replay.Recorder{}); err == nil && pl.Spills() {
			now, err := c.Measure(m.largest)
			if err != nil {
				return nil, err
			}
			in.Rates = m.rates(&c, now)
		}
	}
	return decide(in, c.Recorder)
}

// The memory of a process besides everything that is placed: code, stacks,
// heap, and the tokenizer, which grows with the vocabulary.
const (
	runtimeReserve   = 64 << 20 // at least
	programReserve   = 40 << 20
	perTokenOfVocab  = 320 // bytes: text, merges and the tables that find them
	vocabularyWeight = "token_embd"
)

// runtime estimates that memory. An open model measures it and passes it in its
// budget.
func (m *Footprint) runtime() int64 {
	n := int64(0)
	if w, ok := m.weights[vocabularyWeight]; ok {
		n = perTokenOfVocab * int64(w.Shape.Rows())
	}
	return max(runtimeReserve, programReserve+n)
}

// gpuName is the name of the first device if none was found.
const gpuName = "gpu0"

// ErrNoWeights says that a folder has a configuration and no files of weights.
var ErrNoWeights = errors.New("there are no files of weights, so how large they are is not known")

// Input returns the input of a placement.
func (m *Footprint) Input(c PlacementConfig) (in place.Input, err error) {
	b, rules := &c.Budget, &c.Rules
	if len(m.tensors) == 0 {
		return in, fmt.Errorf("%s: %w", m.Path, ErrNoWeights)
	}
	kept, err := m.keptTensors(&c)
	if err != nil {
		return in, err
	}
	in.Tensors, in.Files = slices.Concat(m.tensors, kept), m.files
	in.RAM, in.SSD, in.Batch, in.Chunk, in.RequireGPU = b.RAM, b.SSD, rules.Batch, c.Exec.MaxTokens, rules.RequireGPU
	if b.VRAM > 0 {
		in.Devices = []place.Device{{ID: gpuName, Bytes: b.VRAM}}
	}
	runtime := b.Reserve.Runtime
	if runtime == 0 {
		runtime = m.runtime()
	}
	in.Reserves = []place.Reserve{{Name: "runtime", Bytes: runtime}}
	for _, s := range rules.Pins {
		pin, err := place.ParsePin(s)
		if err != nil {
			return in, err
		}
		in.Pins = append(in.Pins, pin)
	}
	if t, ok := memory.Parse(rules.MaxTier); ok {
		in.MaxTier = &t
	}
	in.FLOP = 2 * float64(m.products())
	in.Rates = m.rates(&c, rates.Rates{})
	return in, nil
}

// keptTensors are the memory that steps write: caches and buffers.
func (m *Footprint) keptTensors(c *PlacementConfig) (out []place.Tensor, err error) {
	need, err := m.Need(c.Exec)
	if err != nil {
		return nil, err
	}
	states, total := m.stateBytes(c)
	reserve, bound := &c.Budget.Reserve, m.CacheBytes(*c)
	for i, n := range states {
		d := &m.plans.Prefill.Plan.States[i]
		share := int64(float64(bound) * float64(n) / float64(max(total, 1)))
		if i == len(states)-1 {
			share = bound
			for k := range out {
				share -= out[k].Bytes
			}
		}
		out = append(out, place.Tensor{
			Name: fmt.Sprintf("cache.%s.%d", d.Kind, d.Group), Bytes: share, Class: place.KV,
			Uses: 0.5 / float64(c.sequences()), // a sequence has half of its context on the average
		})
	}
	if a := reserve.Activations; a > 0 {
		if least := need.Registers + need.Work; a < least {
			return nil, fmt.Errorf("%w: %d bytes are reserved for activations, %d are needed; shorter chunks need less", place.ErrInput, a, least)
		}
		return append(out, place.Tensor{Name: "buffers", Bytes: a, Class: place.Buffer}), nil
	}
	return append(out,
		place.Tensor{Name: "buffers.registers", Bytes: need.Registers, Class: place.Buffer},
		place.Tensor{Name: "buffers.work", Bytes: need.Work, Class: place.Buffer}), nil
}

// sequences is how many sequences of full length have room within a budget.
func (c *PlacementConfig) sequences() int { return max(1, c.Rules.Batch) }

// CacheBytes is what cached keys and values may take within a budget.
func (m *Footprint) CacheBytes(c PlacementConfig) int64 {
	_, total := m.stateBytes(&c)
	switch {
	case c.Budget.Reserve.KV > 0:
		return c.Budget.Reserve.KV
	case c.CacheBytes > 0:
		return c.CacheBytes
	}
	return total * int64(c.sequences())
}

// stateBytes returns the bytes of each state of a sequence of full length, and
// the sum: whole pages, and two partly filled ones. A state with a window keeps
// the window and the tokens of one step.
func (m *Footprint) stateBytes(c *PlacementConfig) (each []int64, total int64) {
	for _, d := range m.plans.Prefill.Plan.States {
		n := int64(d.SizeBytes)
		if page := int(d.PageTokens); page > 0 {
			tokens := c.Exec.Context
			if d.Window > 0 {
				tokens = min(tokens, int(d.Window)+c.Exec.MaxTokens)
			}
			n *= int64((tokens+page-1)/page + 2)
		}
		each = append(each, n)
		total += n
	}
	return each, total
}

// Need returns the memory of an executor besides the weights.
func (m *Footprint) Need(c exec.Config) (exec.Need, error) {
	w := exec.Weights{}
	for name, x := range m.weights {
		v := tensor.View{DType: m.types[name], Shape: x.Shape, Data: make([]byte, 1)}
		if n, ok := x.Shape.Size(); ok && len(x.Shape) < 2 {
			v = tensor.FromF32(x.Shape, make([]float32, n))
		}
		w[name] = v
	}
	return exec.Measure(m.plans, w, c)
}

// products returns how many values of matrices one token is multiplied with.
func (m *Footprint) products() (n int64) {
	for i := range m.tensors {
		if t := &m.tensors[i]; t.Class != place.Vector && !t.ByRow {
			size, _ := m.weights[t.Name].Shape.Size()
			n += int64(size)
		}
	}
	return n
}
