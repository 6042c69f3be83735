package quila

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/boundary"
	"atenia/quila/internal/call"
	"atenia/quila/internal/sxlm"
)

// ErrClosed is returned by the methods of a model that was closed.
var ErrClosed = errors.New("quila: the model is closed")

// Options say how a model file is opened. The zero value is for most programs.
type Options struct {
	Threads  int  // 0 = the number of processors
	AllowNaN bool // accept weights that are not numbers

	// Learn lets calls add entries to the model's libraries, which later calls
	// recall, and [Model.Save] writes. Without it a model without entries stays so.
	Learn bool
	// Store is a folder of this model for what does not stay in RAM: entries beyond
	// StoreRAM bytes, until the model is closed, and the persona, which stays, on
	// non-volatile memory if there is any. Without a folder all is in RAM.
	Store    string
	StoreRAM uint64 // 0 is no limit
	// Warn, unless nil, is told once if the persona's memory is a plain file.
	Warn func(message string)
}

// A Model is an open network; [Open] makes one. Calls of several goroutines take turns.
type Model struct {
	mu      sync.Mutex
	file    *sxlm.Model
	tokens  *boundary.Tokenizer
	caller  *call.Model
	threads *grad.Threads
	stores  *sxlm.Stores
}

// Open reads a model file, .sxlm. All of it is verified before anything of it is
// used: a damaged file is an error that names the step, the block and the offset,
// and leaves nothing behind. The caller must call [Model.Close].
func Open(ctx context.Context, path string, o *Options) (*Model, error) {
	if o == nil {
		o = &Options{}
	}
	f, err := sxlm.Read(ctx, path, sxlm.Options{AllowNaN: o.AllowNaN})
	if err != nil {
		return nil, named(path, err)
	}
	m := &Model{file: f, threads: grad.NewThreads(threadsOr(o.Threads))}
	if m.tokens, err = boundary.ParseTokenizer(f.Tokenizer); err == nil {
		m.caller, err = call.New(&f.Config, f.Graph, f.Weights, m.threads)
	}
	if err == nil {
		begin(m.caller.Grid().Baseline(), f)
		err = m.caller.SetOrder(scanOrder(f))
	}
	if err == nil {
		m.stores, err = sxlm.OpenStores(ctx, f, sxlm.StoreOptions{Dir: o.Store, RAM: o.StoreRAM, Learn: o.Learn, Warn: o.Warn})
	}
	if err != nil {
		m.threads.Close()
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.caller.Remember(m.stores)
	return m, nil
}

// threadsOr is n, or the number of processors for none.
func threadsOr(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// Config returns the network's constants.
func (m *Model) Config() config.Config { return m.file.Config }

// Close ends the model after the call that is running.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.caller == nil {
		return nil
	}
	m.caller = nil
	m.threads.Close()
	m.file.Close()
	return m.stores.Close()
}

// Save writes the model as it is now, with what its libraries have learned since it
// was opened, as a child of the file that it comes from.
func (m *Model) Save(ctx context.Context, path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.caller == nil {
		return ErrClosed
	}
	out := *m.file // what the stores hold must not be there twice
	if err := m.stores.Keep(ctx, &out); err != nil {
		return err
	}
	out.Child()
	_, err := sxlm.Write(ctx, path, &out, sxlm.Options{})
	return err
}
