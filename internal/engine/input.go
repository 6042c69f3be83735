package engine

import (
	"errors"
	"fmt"
	"slices"

	"atenia/internal/engine/residence"
	"atenia/internal/exec"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/place"
	"atenia/internal/plan"
	"atenia/internal/policy/decide"
)

// A PlaceConfig is what a placement depends on beside the model: budget and rules
// of the user, and how the model will run.
type PlaceConfig struct {
	Budget place.Budget
	Rules  place.Rules
	File   string      // a plan file, which is followed; "" = none
	Exec   exec.Config // of the executor
	// CacheBytes bounds cached keys and values; 0 = as many as Rules.Batch
	// sequences need.
	CacheBytes int64
	Adapters   int64           // bytes of adapters that are kept beside the weights
	Draft      int64           // bytes of the draft model
	Recorder   decide.Recorder // writes down what is decided; the zero value does not
	// Measure finds out how fast the machine reads a file, as a placement reads. It is called once for a
	// placement that leaves weights on the disk, unless Rules.Rates say how fast
	// that is. nil = nothing is measured.
	Measure func(path string, pl *place.Placement) (place.Measurement, error)
	// MeasureAlways calls Measure for a placement that leaves nothing on the disk,
	// too, unless earlier runs tell how fast it is.
	MeasureAlways bool
	Known         *place.Rates // in place of those of the rules and of what is measured; nil = none are
}

// The names of reserves in placements: room for the program, for an encoder of images
// or sounds, for adapters, and for the draft model.
const (
	programReserveName = "runtime"
	towerReserve       = "tower"
	adapterReserve     = "adapters"
	draftReserve       = "draft model"
)

// gpuName stands for the first device where none was found.
const gpuName = "gpu0"

// ErrNoWeights says that a folder has a configuration and no files of weights.
var ErrNoWeights = errors.New("there are no files of weights, so how large they are is not known")

// Input gathers what a placement depends on.
func (f *footprint) Input(c PlaceConfig) (in place.Input, err error) {
	b, rules := &c.Budget, &c.Rules
	if len(f.tensors) == 0 {
		return in, fmt.Errorf("%s: %w", f.Path, ErrNoWeights)
	}
	kept, err := f.keptTensors(&c)
	if err != nil {
		return in, err
	}
	in.Tensors, in.Files = slices.Concat(f.tensors, kept), f.files
	in.RAM, in.SSD, in.Batch, in.Chunk, in.RequireGPU = b.RAM, b.SSD, rules.Batch, c.Exec.MaxTokens, rules.RequireGPU
	if in.Text = f.text(&c); f.model.Config.Encoder != nil { // a text is no longer than what it reads
		in.Chunk, in.Text = min(in.Chunk, c.Exec.Context), 0
	}
	if b.VRAM > 0 {
		in.Devices = []place.Device{{ID: gpuName, Bytes: b.VRAM}}
	}
	runtime := b.Reserve.Runtime
	if runtime == 0 {
		runtime = f.runtime()
	}
	in.Reserves = []place.Reserve{{Name: programReserveName, Bytes: runtime}}
	tower, err := f.towerBytes(&c)
	if err != nil {
		return in, err
	}
	if tower > 0 {
		in.Reserves = append(in.Reserves, place.Reserve{Name: towerReserve, Bytes: tower})
	}
	if c.Adapters > 0 {
		in.Reserves = append(in.Reserves, place.Reserve{Name: adapterReserve, Bytes: c.Adapters})
	}
	if c.Draft > 0 {
		in.Reserves = append(in.Reserves, place.Reserve{Name: draftReserve, Bytes: c.Draft})
	}
	for _, s := range rules.Pins {
		pin, err := place.ParsePin(s)
		if err != nil {
			return in, err
		}
		in.Pins = append(in.Pins, pin)
	}
	if in.MaxTier, err = place.ParseMaxTier(rules.MaxTier); err != nil {
		return in, err
	}
	in.FLOP, in.RingPage = 2*float64(f.products()), ledger.HugePage
	if in.Rates = f.rates(&c, place.Measurement{}); c.Known != nil {
		in.Rates = *c.Known
	}
	return in, nil
}

// keptTensors are the memory that steps write: caches and buffers.
func (f *footprint) keptTensors(c *PlaceConfig) (out []place.Tensor, err error) {
	need, err := f.Need(c.Exec)
	if err != nil {
		return nil, err
	}
	states, total := f.stateBytes(c)
	reserve, bound := &c.Budget.Reserve, f.CacheBytes(*c)
	for i, n := range states {
		d := &f.model.Plans.Prefill.Plan.States[i]
		share := int64(float64(bound) * float64(n) / float64(max(total, 1)))
		if i == len(states)-1 {
			share = bound
			for k := range out {
				share -= out[k].Bytes
			}
		}
		t := place.Tensor{Name: fmt.Sprintf("cache.%s.%d", d.Kind, d.Group), Bytes: share, Class: place.KV, Window: int(d.Window)}
		if d.PageTokens == 0 {
			t.Uses = 1 / float64(c.sequences())
		} else {
			t.PerToken, t.Effort = float64(d.SizeBytes)/float64(d.PageTokens), effort(d)
		}
		out = append(out, t)
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

// What attention costs beside reading: with two processors keys and values of float32 were
// read at 0.8 of the rate of weights, smaller ones in the time of so many bytes of weights
// for an element; those of q8_0 are multiplied as integers.
const (
	cacheRate         = 0.8
	elementBytes      = 2.75
	elementBytesOfInt = 2
)

// effort returns how many times as long reading keys and values takes as reading weights.
func effort(d *plan.StateDescriptor) float64 {
	const elements = 256 // whole blocks of all types
	e := 1 / cacheRate
	if len(d.Sections) > 0 {
		each := elementBytes
		if d.Sections[0].DType.Quantized() {
			each = elementBytesOfInt
		}
		if n, err := d.Sections[0].DType.RowBytes(elements); err == nil && n > 0 {
			e = max(e, each*elements/float64(n))
		}
	}
	return e
}

// text is the tokens of a sequence that decoding is predicted after: half of its context,
// or of what sequences have room for.
func (f *footprint) text(c *PlaceConfig) int {
	_, total := f.stateBytes(c)
	all := total * int64(c.sequences())
	if all == 0 {
		return 0
	}
	return int(float64(c.Exec.Context) / 2 * min(1, float64(f.CacheBytes(*c))/float64(all)))
}

// towerBytes is the room that is kept for the encoder of images or sounds: it is
// loaded with the first one.
func (f *footprint) towerBytes(c *PlaceConfig) (int64, error) {
	if f.model.Plans.VisionEncode == nil {
		return 0, nil
	}
	m := &f.model.Config
	need, err := exec.MeasureTower(&f.model.Plans, f.headers, residence.TowerConfig(m, m.TowerRows(c.Exec.Context), c.Exec.Threads, c.Exec.Precise, nil))
	if err != nil {
		return 0, fmt.Errorf("the tower: %w", err)
	}
	return f.tower + need.Registers + need.Work, nil
}

// sequences is how many sequences of full length have room within a budget.
func (c *PlaceConfig) sequences() int { return max(1, c.Rules.Batch) }

// CacheBytes is what cached keys and values may take within a budget.
func (f *footprint) CacheBytes(c PlaceConfig) int64 {
	_, total := f.stateBytes(&c)
	switch {
	case c.Budget.Reserve.KV > 0:
		return c.Budget.Reserve.KV
	case c.CacheBytes > 0:
		return c.CacheBytes
	}
	return total * int64(c.sequences())
}
