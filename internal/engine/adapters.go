package engine

import (
	"atenia/internal/spelling"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"atenia/internal/exec"
	"atenia/internal/machine/ledger"
	"atenia/internal/model/lora"
	"atenia/internal/plan"
)

// An AdapterFile is a LoRA adapter that requests name. The weights stay as they are.
type AdapterFile struct {
	Name  string
	Path  string  // a folder of huggingface/peft, or a .gguf file
	Scale float32 // of requests that say none
}

// An AdapterState is an adapter that is loaded.
type AdapterState struct {
	AdapterFile
	Plan  plan.LowRank
	Bytes int64
	Users int // requests that have it
}

// adapters are those that requests may name.
type adapters struct {
	mu   sync.Mutex
	list []*adapter // in the order in which they were loaded
}

// An adapter is one in memory.
type adapter struct {
	AdapterState
	low  *exec.LowRank
	gone bool // it was unloaded; its last request frees it
}

// ErrAdapter matches errors about the name of an adapter: one that is not loaded, or
// one that is.
var ErrAdapter = errors.New("adapter")

// readAdapters reads the adapters of the configuration.
func (p *Plan) readAdapters() error {
	for i := range p.Config.Adapters {
		b, err := p.readAdapter(&p.Config.Adapters[i])
		if err != nil {
			return err
		}
		p.adapters = append(p.adapters, b)
		p.adapterBytes.Add(b.Bytes())
	}
	return nil
}

func (p *Plan) readAdapter(f *AdapterFile) (*lora.Bound, error) {
	a, err := lora.Open(f.Path)
	if err != nil {
		return nil, fmt.Errorf("adapter %q: %w", f.Name, err)
	}
	if a.Edited != "" {
		p.note("the configuration of adapter %q was edited: %s", f.Name, a.Edited)
	}
	b, err := a.Bind(p.Model, f.Name)
	if err != nil {
		return nil, fmt.Errorf("adapter %q: %s: %w", f.Name, f.Path, err)
	}
	return b, nil
}

// Adapters returns what the adapters of the configuration add to the plans.
func (p *Plan) Adapters() (out []plan.LowRank) {
	for _, b := range p.adapters {
		out = append(out, b.LowRank)
	}
	return out
}

// openAdapters brings those of the configuration into memory, for which the placement
// has left room.
func (e *Engine) openAdapters() error {
	for i, b := range e.Plan.adapters {
		if err := e.addAdapter(e.Plan.Config.Adapters[i], b); err != nil {
			return err
		}
		b.A, b.B = nil, nil
	}
	return nil
}

// LoadAdapter reads an adapter into memory, for requests from now on. It fails if there
// is one of that name, which matches [ErrAdapter]; if the model's products cannot have
// it; or if the budget has no room for it, which matches [ledger.ErrFull].
func (e *Engine) LoadAdapter(f AdapterFile) error {
	a := &e.adapters
	a.mu.Lock()
	err := a.unused(f.Name)
	a.mu.Unlock()
	if err != nil {
		return err
	}
	b, err := e.Plan.readAdapter(&f)
	if err != nil {
		return err
	}
	if err := e.addAdapter(f, b); err != nil {
		return err
	}
	e.Plan.adapterBytes.Add(b.Bytes())
	return nil
}

func (e *Engine) addAdapter(f AdapterFile, b *lora.Bound) error {
	factors := make([]exec.Factors, len(b.A))
	for i := range factors {
		factors[i] = exec.Factors{A: b.A[i], B: b.B[i]}
	}
	low, err := e.Sched.NewLowRank(&e.Plan.Model.Plans, &b.LowRank, factors, e.Plan.account)
	if err != nil {
		hint := ""
		if errors.Is(err, ledger.ErrFull) {
			hint = "; name it when the model is opened, so that its placement leaves room, or raise the budget"
		}
		return fmt.Errorf("adapter %q: %w%s", f.Name, err, hint)
	}
	a := &e.adapters
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.unused(f.Name); err != nil {
		low.Release()
		return err
	}
	a.list = append(a.list, &adapter{AdapterState: AdapterState{AdapterFile: f, Plan: b.LowRank, Bytes: b.Bytes()}, low: low})
	e.Plan.Config.Logger.Info("adapter loaded", "adapter", f.Name, "path", f.Path, "updates", len(b.Updates), "bytes", b.Bytes())
	return nil
}

// UnloadAdapter makes an adapter unknown to requests from now on. Its memory is freed
// when the last of those that have it ends.
func (e *Engine) UnloadAdapter(name string) error {
	a := &e.adapters
	a.mu.Lock()
	i, err := a.find(name)
	if err != nil {
		a.mu.Unlock()
		return err
	}
	x := a.list[i]
	a.list, x.gone = slices.Delete(a.list, i, i+1), true
	idle := x.Users == 0
	a.mu.Unlock()
	e.Plan.adapterBytes.Add(-x.Bytes)
	if idle {
		x.low.Release()
	}
	e.Sched.Forget(x.low)
	e.Plan.Config.Logger.Info("adapter unloaded", "adapter", name)
	return nil
}

// Adapters returns those that are loaded, in the order of their loading.
func (e *Engine) Adapters() (out []AdapterState) {
	a := &e.adapters
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.list {
		out = append(out, x.AdapterState)
	}
	return out
}

// BorrowAdapter returns an adapter for a request, with the scale that it has by itself.
// It stays in memory until release is called, once.
func (e *Engine) BorrowAdapter(name string) (low *exec.LowRank, scale float32, release func(), err error) {
	a := &e.adapters
	a.mu.Lock()
	defer a.mu.Unlock()
	i, err := a.find(name)
	if err != nil {
		return nil, 0, nil, err
	}
	x := a.list[i]
	x.Users++
	return x.low, x.Scale, func() { a.release(x) }, nil
}

func (a *adapters) release(x *adapter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x.Users--; x.gone && x.Users == 0 {
		x.low.Release()
	}
}

// find returns an adapter's place in the list, or an error that says which there are. The
// list is locked.
func (a *adapters) find(name string) (int, error) {
	if i := slices.IndexFunc(a.list, func(x *adapter) bool { return x.Name == name }); i >= 0 {
		return i, nil
	}
	var names []string
	for _, x := range a.list {
		names = append(names, x.Name)
	}
	there := "none is loaded"
	if len(names) > 0 {
		there = "there are " + strings.Join(names, ", ")
	}
	return 0, fmt.Errorf("%w %q is not loaded: %s", ErrAdapter, spelling.Quotable(name), there)
}

// unused returns an error if there is an adapter of a name. The list is locked.
func (a *adapters) unused(name string) error {
	if _, err := a.find(name); err != nil {
		return nil
	}
	return fmt.Errorf("%w %q is loaded already", ErrAdapter, spelling.Quotable(name))
}

// closeAdapters frees all; no request runs any more.
func (e *Engine) closeAdapters() {
	a := &e.adapters
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.list {
		x.low.Release()
	}
	a.list = nil
}
