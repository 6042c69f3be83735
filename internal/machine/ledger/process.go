package ledger

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"atenia/internal/machine/cpu"
)

// Process is the memory of this process: every account of RAM is part of it.
//
// Its limit is what the process has and what can still be allocated, of the
// machine, of every control group, and of its own limit of data (setrlimit). It does
// not change as memory that is reserved is touched, because what is had grows by as much as what can be
// allocated falls; it falls by what others take. It is read again by
// reservations and by [Account.Refresh].
//
// Its use [Program] is measured, not reserved: code, and Go's heap and stacks as
// far as nobody reserved them.
var Process = &Account{limit: math.MaxInt64, watch: &watch{asked: math.MaxInt64}}

// How often the limit is read: always for a large reservation, or for many small
// ones, otherwise when the last reading is old.
const (
	largeReservation = 16 << 20
	oldReading       = 250 * time.Millisecond
)

// groupSpare is the share of a control group's limit that is left to the kernel,
// which has page tables and buffers there, and to pages of files in use. Budgets
// leave as much again: the kernel takes some of it while memory is touched, and
// what was planned should have room then.
const groupSpare = 64

// The RAM of a machine that [Account.Room] leaves to other processes.
const (
	machineSpare      = 256 << 20
	machineSpareShare = 16
)

// A watch reads the limit of the process. The lock of its account guards it.
type watch struct {
	read      func() cpu.Memory // nil until the first reading
	last      time.Time
	since     int64      // bytes that were reserved after it
	now       cpu.Memory // as read
	asked     int64      // limit of [Account.SetLimit]
	least     int64      // Go's memory at the first reading
	seen      int64      // Go's memory when a guard last looked
	code      int64      // bytes of the program's file
	samples   [2]metrics.Sample
	bounds    []*int64 // of Go's memory, see LimitHeap
	users     int64    // Go's own limit before, which users may set
	limits    limits   // of this process alone
	own, left int64    // of these limits; own = 0 if there are none
	heapLimit int64    // as set
}

// Refresh reads the limit of the process again unless that was done just now,
// and bounds Go's heap by what is left. Call it between steps: it takes
// nanoseconds, and every quarter of a second some ten microseconds. It allocates
// nothing. Accounts that are not [Process] are refreshed with it.
func (a *Account) Refresh() {
	if a == nil {
		return
	}
	if a.watch == nil {
		a.whole.Refresh()
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.look(0)
}

// Room returns the largest budget for all of this process that leaves some
// memory to others on the machine, and a little to the kernel in a control
// group; 0 if what can be allocated is not known. What other accounts hold is not
// in it.
func (a *Account) Room() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.measure()
	n := a.limit
	if a.watch.now.Limit == 0 && n == math.MaxInt64 {
		return 0
	}
	m := &a.watch.now
	n -= m.GroupLimit/groupSpare + a.watch.own/groupSpare
	if m.Limit > 0 {
		n = min(n, m.Own+m.Free-max(machineSpare, m.Free/machineSpareShare))
	}
	return max(0, n-(a.held-a.of[Program]))
}

// Alone returns what Room would be if no other process had memory, of the machine or of
// the control group; 0 if that is not known.
func (a *Account) Alone() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.measure()
	m, n := &a.watch.now, int64(math.MaxInt64)
	if w := a.watch; w.own > 0 { // which are not other processes'
		n = max(0, a.limit-w.own/groupSpare)
	}
	if m.GroupLimit > 0 && m.GroupLimit <= m.Limit {
		return min(n, m.GroupLimit-2*(m.GroupLimit/groupSpare))
	}
	return min(n, max(0, m.Limit-max(machineSpare, m.Limit/machineSpareShare)))
}

// Most is Room for a budget that a user asks for: it leaves nothing to others on
// the machine. It is at least 1.
func (a *Account) Most() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.measure()
	return max(1, a.limit-a.watch.now.GroupLimit/groupSpare-a.watch.own/groupSpare-(a.held-a.of[Program]))
}

// stalled is the share of time, in percent, from which on programs are said to wait
// for memory. They may be others, in groups of their own, so that counts where
// less than a quarter is free.
const (
	stalled    = 5
	mostlyUsed = 4
)

// Share returns the bytes that the process may have, now, for this account: what
// it has and what can still be allocated, without what is held by other accounts;
// 0 if that is not known. waiting says that programs wait for memory. Reading
// allocates nothing.
func (a *Account) Share() (limit int64, waiting bool) {
	a.mu.Lock()
	own := a.held - a.of[Program]
	a.mu.Unlock()
	w := a.whole
	w.mu.Lock()
	defer w.mu.Unlock()
	w.measure()
	m := &w.watch.now
	if m.Limit == 0 {
		return 0, false
	}
	return max(1, w.limit-(w.held-w.of[Program]-own)), m.Stalls.Full > stalled && m.Available < m.Limit/mostlyUsed
}

// look measures if n more bytes call for it.
func (a *Account) look(n int64) {
	w := a.watch
	w.since += max(0, n)
	if n >= 0 && (w.since >= largeReservation || time.Since(w.last) >= oldReading) {
		a.measure()
	}
}

// measure reads the limit and what the program takes.
func (a *Account) measure() {
	w := a.watch
	if w.read == nil {
		w.open()
	}
	w.now, w.last, w.since = w.read(), time.Now(), 0
	w.own, w.left = w.limits.read()
	metrics.Read(w.samples[:])
	heap, code := w.heap(), w.code
	if w.now.Own > 0 {
		code = min(code, w.now.Mapped)
	}
	if w.least == 0 {
		w.least = heap
	}
	a.hold(Program, max(w.least, heap-a.heap)+code-a.of[Program])
	outside := a.held - a.of[Program] - a.heap
	a.limit = min(w.asked, w.real(heap+outside))
	w.bound(a.limit - outside - code)
}

// real returns the limit of the machine and of the control groups. Where the
// system does not tell what the process has, it has what is given.
func (w *watch) real(has int64) int64 {
	m := &w.now
	if m.Limit == 0 {
		return math.MaxInt64
	}
	own := m.Own
	if own == 0 {
		own = has
	}
	n := own + m.Free
	if m.GroupLimit > 0 {
		n = min(n, own+m.GroupAvailable-m.GroupLimit/groupSpare)
	}
	if w.own > 0 {
		n = min(n, has+w.left-w.own/groupSpare) // where what is mapped counts, touched or not
	}
	return max(1, n)
}

// open prepares for readings.
func (w *watch) open() {
	w.read = cpu.OpenMemory().Read // open as long as the process
	w.limits.open()
	w.samples[0].Name, w.samples[1].Name = "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes"
	w.users = debug.SetMemoryLimit(-1)
	w.heapLimit = w.users
	if path, err := os.Executable(); err == nil {
		if st, err := os.Stat(path); err == nil {
			w.code = st.Size()
		}
	}
}

// bound makes Go collect garbage before its memory exceeds n bytes, or what was
// asked for. Small changes are not worth the pause of setting it.
func (w *watch) bound(n int64) {
	const least = 8 << 20
	n = min(max(n, least), w.users)
	for _, b := range w.bounds {
		n = min(n, *b)
	}
	if n < w.heapLimit-w.heapLimit/256 || n > w.heapLimit && n-n/32 > w.heapLimit {
		debug.SetMemoryLimit(n)
		w.heapLimit = n
	}
}

// heap returns what Go had of the system's memory at the last reading.
func (w *watch) heap() int64 { return int64(w.samples[0].Value.Uint64() - w.samples[1].Value.Uint64()) }

// LimitHeap bounds the growth of Go's memory by garbage, for the whole process,
// and returns a function that ends the bound.
func LimitHeap(growth int64) (undo func()) {
	a, n := Process, new(int64)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.measure()
	*n = a.watch.heap() + growth
	a.watch.bounds = append(a.watch.bounds, n)
	a.measure()
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.watch.bounds = slices.DeleteFunc(a.watch.bounds, func(b *int64) bool { return b == n })
		a.measure()
	}
}

// Taken returns the memory of the process that no account counts: Go's, and code;
// and the pages of mapped files that are in memory.
func Taken() (program, mapped int64) {
	code, data, objects := cpu.ResidentFiles()
	if objects == 0 {
		Process.Refresh()
		return Process.Of(Program), data
	}
	s := []metrics.Sample{
		{Name: "/memory/classes/metadata/mcache/inuse:bytes"}, {Name: "/memory/classes/metadata/mspan/inuse:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"}, {Name: "/memory/classes/other:bytes"}, {Name: "/memory/classes/profiling/buckets:bytes"},
	}
	metrics.Read(s)
	for i := range s {
		program += int64(s[i].Value.Uint64())
	}
	return program + objects + code, data
}

// MeasureProgram collects garbage, and returns the memory that the process has and
// the bytes of its heap that are in use. A second collection would empty pools,
// too: a few kilobytes, for most of the time that opening a small model takes.
func MeasureProgram() (resident, live int64) {
	debug.FreeOSMemory() // collects
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	if resident = cpu.Resident(); resident == 0 {
		Process.Refresh()
		resident = Process.Of(Program)
	}
	return resident, int64(s[0].Value.Uint64())
}
