package pool

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// startThread runs a thread that computes or sleeps as told and returns it.
func startThread(t *testing.T, p *Pool) (th *thread, compute chan<- bool) {
	th = new(thread)
	orders, ready := make(chan bool), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		th.setCurrent()
		close(ready)
		for computing, ok := false, true; ok; {
			if !computing {
				computing, ok = <-orders
				continue
			}
			select {
			case computing, ok = <-orders:
			default:
			}
		}
	}()
	<-ready
	t.Cleanup(func() { close(orders) })
	return th, orders
}

// A thread that computes is told from one that does not, and a word that
// changes from both.
func TestWatch(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("one processor")
	}
	p := newPool(t, 2)
	if !p.affinity.on || !p.spin {
		t.Skip("fewer processors allowed than threads")
	}
	th, compute := startThread(t, p)
	last := p.gen.Load()
	eventually := func(want outcome) {
		t.Helper()
		for end := time.Now().Add(2 * time.Second); p.watch(th, &p.gen, last) != want; {
			if want == patience && time.Now().After(end) {
				t.Skip("other processes leave no two processors for a moment")
			}
		}
	}
	eventually(stalled)
	compute <- true
	eventually(patience)
	compute <- false
	eventually(stalled)
	if got := p.watch(th, &p.gen, last+1); got != changed {
		t.Errorf("outcome %d, want changed", got)
	}
	if got := p.watch(new(thread), &p.gen, last); got != patience {
		t.Errorf("unknown thread: outcome %d, want patience", got)
	}
}

// Fetching and shooing show in the affinity mask.
func TestFetch(t *testing.T) {
	p := newPool(t, 2)
	if !p.affinity.on {
		t.Skip("fewer processors allowed than threads")
	}
	runtime.LockOSThread() // the thread ends with the test: its mask is narrowed
	here := p.affinity.allowed
	for cpu := range 1024 {
		if here.IsSet(cpu) {
			here.Zero()
			here.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &here); err != nil {
		t.Skip(err)
	}
	th, _ := startThread(t, p)
	mask := func() (set unix.CPUSet) {
		if err := unix.SchedGetaffinity(int(th.id.Load()), &set); err != nil {
			t.Fatal(err)
		}
		return set
	}
	if !p.migrate(th) || p.migrated.Load() != 1 || mask() != here {
		t.Errorf("fetched to %v, want %v", mask(), here)
	}
	p.affinity.avoid(th)
	rest := p.affinity.allowed
	for cpu := range 1024 {
		if here.IsSet(cpu) {
			rest.Clear(cpu)
		}
	}
	if mask() != rest {
		t.Errorf("shooed to %v, want %v", mask(), rest)
	}
	// The caller moves, and the thread goes where the caller was.
	if err := unix.SchedSetaffinity(0, &rest); err != nil {
		t.Fatal(err)
	}
	cpu, _ := processor()
	p.affinity.update(th)
	if set := mask(); set.IsSet(cpu) || set.Count() != p.affinity.allowed.Count()-1 {
		t.Errorf("moved to %v, the caller is on %d", set, cpu)
	}
}

// A thread that is brought has the mask that it had, whatever that was, and
// does not come where it must not be.
func TestBringKeepsMask(t *testing.T) {
	p := newPool(t, 2)
	if !p.affinity.on {
		t.Skip("fewer processors allowed than threads")
	}
	runtime.LockOSThread() // the thread ends with the test: its mask is narrowed
	var here unix.CPUSet
	cpu, _ := processor()
	here.Set(cpu)
	if err := unix.SchedSetaffinity(0, &here); err != nil {
		t.Skip(err)
	}
	elsewhere := p.affinity.allowed
	elsewhere.Clear(cpu)
	th, _ := startThread(t, p)
	id := int(th.id.Load())
	for _, c := range []struct {
		mask  unix.CPUSet
		moves bool
	}{{p.affinity.allowed, true}, {here, true}, {elsewhere, false}} {
		var got unix.CPUSet
		if err := unix.SchedSetaffinity(id, &c.mask); err != nil {
			t.Fatal(err)
		}
		if moved := p.affinity.pull(th); moved != c.moves {
			t.Errorf("mask %v: brought %v, want %v", c.mask, moved, c.moves)
		}
		if err := unix.SchedGetaffinity(id, &got); err != nil || got != c.mask {
			t.Errorf("mask %v became %v, %v", c.mask, got, err)
		}
	}
	th.moving.Store(true)
	if p.affinity.pull(th) {
		t.Error("brought by two at a time")
	}
}

// Beside busy processes, where workers are fetched, their masks never leave what the
// process may use.
func TestFetchBesideNeighbours(t *testing.T) {
	if testing.Short() {
		t.Skip("keeps all processors busy")
	}
	hogs(t, runtime.NumCPU())
	p, f := newPool(t, 2), &steps{}
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		p.Range(64, 1, f)
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(int(p.shares[1].thread.id.Load()), &set); err != nil || set.Count() == 0 {
			t.Fatal(err, set)
		}
		for cpu := range 1024 {
			if set.IsSet(cpu) && !p.affinity.allowed.IsSet(cpu) {
				t.Fatalf("the worker may run on processor %d, which the process may not", cpu)
			}
		}
	}
	t.Logf("fetched %d times", p.migrated.Load())
}
