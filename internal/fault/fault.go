package fault

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// A Panic is a panic as an error.
type Panic struct {
	Value any    // passed to panic
	Stack []byte // of the goroutine that panicked
}

func (p *Panic) Error() string { return fmt.Sprintf("internal fault: %v", p.Value) }

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Catch is deferred: it recovers from a panic of the function and stores it in err as
// a [*Panic], or as a [*ChangedError] if a mapped file has changed. One of them that is
// passed on by panicking with it again stays what it was.
func Catch(err *error) {
	if v := recover(); v != nil {
		*err = caught(v)
	}
}

func caught(v any) error {
	if e := Changed(v); e != nil {
		return e
	}
	if p, ok := v.(*Panic); ok {
		return p
	}
	return &Panic{v, debug.Stack()}
}

// Call returns the error of f, or its panic. Reads of mapped files are trapped.
func Call(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer Catch(&err)
	return named(f())
}

// A Group is a [sync.WaitGroup] whose goroutines hand their panics to the one that
// waits. The zero Group is ready; it must not be copied.
type Group struct {
	all   sync.WaitGroup
	mu    sync.Mutex
	first error
}

// Go runs f in a new goroutine.
func (g *Group) Go(f func()) {
	g.all.Go(func() {
		if err := Call(func() error { f(); return nil }); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.first == nil {
				g.first = err
			}
		}
	})
}

// Wait waits for the goroutines, and panics with the first panic of one of them.
func (g *Group) Wait() {
	g.all.Wait()
	g.mu.Lock()
	err := g.first
	g.first = nil
	g.mu.Unlock()
	if err != nil {
		panic(err)
	}
}
