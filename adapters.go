package atenia

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"atenia/internal/engine"
	"atenia/internal/machine/ledger"
	"atenia/internal/sched"
)

// An Adapter is a LoRA adapter that is kept beside the weights of a model, for the
// requests that name it. [Config].Adapter instead merges one into the weights, which is
// faster by what an adapter costs in each step, and excludes others.
type Adapter struct {
	Name string // by which requests name it
	// Path is a folder in the format of huggingface/peft (adapter_config.json and
	// adapter_model.safetensors), for models of any format; or a .gguf file of
	// llama.cpp's, for models that are GGUF files.
	Path string
	// Scale multiplies what the adapter adds. 0 = 1.
	Scale float32
}

// An AdapterInfo is an adapter that a model has.
type AdapterInfo struct {
	Adapter
	Updates int   // matrices whose products it changes
	Rank    int   // the largest of them
	Bytes   int64 // of memory
	Users   int   // requests that have it
}

// ErrAdapter matches errors about the name of an adapter: one that a model does not
// have, or, when it is loaded, one that it has.
var ErrAdapter = engine.ErrAdapter

// ErrNoRoom matches the error of [Model.LoadAdapter] for an adapter that the budget has
// no room for.
var ErrNoRoom = ledger.ErrFull

// Adapters returns the adapters that requests may name, in the order in which they
// were loaded.
func (m *Model) Adapters() []AdapterInfo {
	var out []AdapterInfo
	for _, a := range m.engine.Adapters() {
		i := AdapterInfo{Adapter: Adapter(a.AdapterFile), Updates: len(a.Plan.Updates), Bytes: a.Bytes, Users: a.Users}
		for k := range a.Plan.Updates {
			i.Rank = max(i.Rank, a.Plan.Updates[k].Rank)
		}
		out = append(out, i)
	}
	return out
}

// LoadAdapter adds an adapter while the model is open, within its budget. It fails with
// [ErrAdapter] if there is one of that name, with [ErrNoRoom] if the budget has no room
// for it, or if it changes other things than products of matrices, which only merging
// it can do.
func (m *Model) LoadAdapter(a Adapter) error {
	if err := errors.Join(checkAdapters([]Adapter{a})...); err != nil {
		return err
	}
	_, err := guarded(func() (struct{}, error) {
		return struct{}{}, m.engine.LoadAdapter(adapterFiles([]Adapter{a})[0])
	})
	return err
}

// UnloadAdapter makes an adapter unknown to later requests. Those that have it go on,
// and the last one frees its memory.
func (m *Model) UnloadAdapter(name string) error { return m.engine.UnloadAdapter(name) }

// adapt gives a request an adapter, which it has until it ends.
func (m *Model) adapt(r *sched.Request, name string, scale float32) error {
	if !usable(scale) {
		return &ConfigError{"AdapterScale", scale, adapterScales}
	}
	if name == "" {
		return nil
	}
	low, own, release, err := m.engine.BorrowAdapter(name)
	if err != nil {
		return err
	}
	r.LowRank, r.Strength, r.Adapter, r.Ended = low, cmp.Or(scale, own), name, release
	return nil
}

// adapterScales says what can multiply an adapter.
const adapterScales = "-1000 to 1000"

func usable(scale float32) bool { return math.Abs(float64(scale)) <= 1000 }

// checkAdapters returns what is wrong with adapters of a configuration.
func checkAdapters(list []Adapter) (errs []error) {
	names := map[string]bool{}
	for _, a := range list {
		switch {
		case a.Name == "" || a.Path == "":
			errs = append(errs, &ConfigError{"Adapters", nil, fmt.Sprintf("an adapter has the name %q and the path %q: both are needed", a.Name, a.Path)})
		case names[a.Name]:
			errs = append(errs, &ConfigError{"Adapters", nil, fmt.Sprintf("two adapters are named %q", a.Name)})
		case !usable(a.Scale):
			errs = append(errs, &ConfigError{"Adapters", a.Scale, adapterScales})
		}
		names[a.Name] = true
	}
	return errs
}

// adapterFiles returns adapters as the engine has them.
func adapterFiles(list []Adapter) []engine.AdapterFile {
	var out []engine.AdapterFile
	for _, a := range list {
		a.Scale = cmp.Or(a.Scale, 1)
		out = append(out, engine.AdapterFile(a))
	}
	return out
}
