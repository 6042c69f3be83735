package ledger

import (
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"atenia/internal/golden/await"
	"atenia/internal/machine/cpu"
)

// process returns an account like Process of a machine that a test describes.
func process(t *testing.T, m *cpu.Memory) *Account {
	w := &watch{asked: 1 << 60}
	w.open()
	t.Cleanup(func() { debug.SetMemoryLimit(w.users) })
	w.read = func() cpu.Memory { return *m }
	return &Account{limit: 1 << 60, watch: w}
}

const mib = 1 << 20

// TestProcess: what is reserved is counted once, touched or not, and what others
// take leaves less.
func TestProcess(t *testing.T) {
	m := &cpu.Memory{Total: 8000 * mib, Limit: 8000 * mib, Own: 100 * mib, Free: 6000 * mib, Available: 4000 * mib, GroupLimit: 6400 * mib, GroupAvailable: 4000 * mib}
	a := process(t, m)
	if first := process(t, m); first.Limit() == 0 || first.Limit() > 8000*mib { // whoever asks first
		t.Errorf("limit %d, free %d", first.Limit(), first.Free())
	}
	a.Refresh()
	limit := int64(100+4000-6400/groupSpare) * mib
	planned := limit - 6400/groupSpare*mib
	if a.Limit() != limit || a.Most() != planned || a.Room() != planned {
		t.Fatalf("limit %d, most %d, room %d, want %d", a.Limit(), a.Most(), a.Room(), limit)
	}
	program := a.Of(Program)
	if program <= 0 {
		t.Error("the program takes nothing")
	}
	part := New(a, 0)
	r, err := part.ReserveOutside(Weights, 3000*mib)
	if err != nil {
		t.Fatal(err)
	}
	for touched := range int64(4) { // thousands of MiB, of 3000
		m.Own, m.GroupAvailable, m.Free = (100+1000*touched)*mib, (4000-1000*touched)*mib, (6000-1000*touched)*mib
		a.watch.last = time.Time{}
		_, err := part.ReserveOutside(Cache, 1200*mib)
		if e, ok := errors.AsType[*Error](err); !ok || e.Needed != 1200*mib || e.Limit != limit || e.Free > 1100*mib || e.Free < 500*mib {
			t.Fatalf("%d MiB touched: %v", 1000*touched, err)
		}
	}
	if a.Room() != planned-3000*mib {
		t.Errorf("room %d beside what is held", a.Room())
	}
	m.GroupAvailable -= 800 * mib // a neighbour
	a.watch.last = time.Time{}
	if part.Refresh(); a.Over() != 0 || a.Free() > 300*mib {
		t.Errorf("a neighbour takes 800 MiB: over by %d, %d free", a.Over(), a.Free())
	}
	m.GroupAvailable = 0
	a.watch.last = time.Time{}
	if part.Refresh(); a.Over() == 0 {
		t.Error("the group has nothing left, and the account some")
	}
	r.Release()
	a.SetLimit(200 * mib)
	if a.Limit() != 200*mib {
		t.Errorf("limit %d, 200 MiB were asked for", a.Limit())
	}
}

// TestProcessHeap: bytes on Go's heap that are reserved are not the program's, too.
func TestProcessHeap(t *testing.T) {
	a := process(t, &cpu.Memory{Limit: 8000 * mib, Own: 100 * mib, Free: 6000 * mib})
	a.Refresh()
	before := a.Held()
	r, err := a.Reserve(Gradients, 64*mib)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	b := make([]byte, 64*mib)
	a.watch.last = time.Time{}
	a.Refresh()
	if more := a.Held() - before; more < 60*mib || more > 90*mib {
		t.Errorf("%d bytes more are held for a reservation of 64 MiB that was allocated", more)
	}
	if n := await.Allocs(10, func() { a.watch.last = time.Time{}; a.Refresh() }); n != 0 {
		t.Errorf("%v allocations for a reading", n)
	}
	runtime.KeepAlive(b)
}

// TestExceeded: a group that has nothing left, or less than the program has
// allocated, is seen before it is touched.
func TestExceeded(t *testing.T) {
	m := &cpu.Memory{Limit: 512 * mib, Own: 1 << 40, Free: 8000 * mib}
	a := process(t, m)
	if e, _, limited := a.exceeded(true); e != nil || limited {
		t.Errorf("no group: %v, %t", e, limited)
	}
	m.GroupLimit, m.GroupAvailable = 512*mib, 100*mib
	if e, _, limited := a.exceeded(true); e != nil || !limited {
		t.Errorf("100 MiB left: %v, %t", e, limited)
	}
	m.GroupAvailable = 2 * mib
	if e, _, _ := a.exceeded(true); e == nil || e.Free != 2*mib || e.Limit != 512*mib {
		t.Errorf("2 MiB left: %v", e)
	}
	if e, left, _ := a.exceeded(false); e != nil || left != 2*mib {
		t.Errorf("2 MiB left, and all of them may be used: %v, %d", e, left)
	}
	m.GroupAvailable, m.Own = 40*mib, 1 // all of this program's memory is still to be touched
	b := make([]byte, 64*mib)
	for _, spare := range []bool{true, false} {
		if e, _, _ := a.exceeded(spare); e == nil || e.Needed < 64*mib {
			t.Errorf("64 MiB not touched: %v", e)
		}
	}
	runtime.KeepAlive(b)
}

// TestGuard: a guard that has nothing to tell ends when it is told to.
func TestGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := Guard(func(e *Error) { t.Error(e) })
		time.Sleep(3 * guardMachine) // of the bubble's clock: it has looked several times
		stop()
	})
}

// A guard looks the more often the less is left, and soon enough that nobody can
// have touched it.
func TestGuardEvery(t *testing.T) {
	for left, want := range map[int64]time.Duration{
		0: guardLeast, 1 << 20: guardLeast, 128 * mib: 31250 * time.Microsecond, 1 << 40: guardMost,
	} {
		if got := guardEvery(left); got != want {
			t.Errorf("%d bytes: %v, want %v", left, got, want)
		}
	}
}
