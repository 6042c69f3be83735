package chat

import "errors"

// Limits bound a rendering. A field that is zero has its default.
type Limits struct {
	Steps  int64 // nodes visited and pieces of text touched; 10 million, which take about a second
	Bytes  int64 // text and lists created in all, alive or not; 64 MiB, with what grows at most four times as much
	Output int64 // bytes of the result; 32 MiB
	Calls  int   // macros and recursive loops inside each other; 200
}

func (l Limits) withDefaults() Limits {
	if l.Steps == 0 {
		l.Steps = 10_000_000
	}
	if l.Bytes == 0 {
		l.Bytes = 64 << 20
	}
	if l.Output == 0 {
		l.Output = 32 << 20
	}
	if l.Calls == 0 {
		l.Calls = 200
	}
	return l
}

// A Machine computes with values within limits.
type Machine struct {
	Limits Limits
	steps  int64 // left, but for later
	later  int64 // steps left after the next look whether to give up
	bytes  int64 // left
	depth  int
	done   <-chan struct{} // rendering gives up when it is closed; nil = never
	tracer
}

// stepsAtATime is how many steps pass between two looks whether to give up: some
// milliseconds.
const stepsAtATime = 1 << 16

// newMachine returns a machine with full budgets.
func newMachine(l Limits) *Machine {
	l = l.withDefaults()
	return &Machine{Limits: l, later: l.Steps, bytes: l.Bytes}
}

// Step charges n units of work.
func (m *Machine) Step(n int) error {
	if m.steps -= int64(n); m.steps < 0 {
		return m.look()
	}
	return nil
}

// look gives the machine its next steps, if there are some and nobody has left.
func (m *Machine) look() error {
	if ended(m.done) {
		return errEnded
	}
	all := m.steps + m.later
	m.steps = min(all, stepsAtATime)
	m.later = all - m.steps
	if m.steps < 0 {
		return fail(kindLimit, "more than %d steps", m.Limits.Steps)
	}
	return nil
}

// errEnded is the error of what gave up; whoever closed the channel knows why.
var errEnded = errors.New("it was given up")

func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Read charges for looking through a text.
func (m *Machine) Read(s string) error { return m.Step(len(s) / 32) }

// Scan charges for looking at every character of a text.
func (m *Machine) Scan(s string) error { return m.Step(len(s) / 2) }

// Alloc charges n bytes of memory and the work of filling them.
func (m *Machine) Alloc(n int) error { return m.AllocEach(1, n) }

// AllocEach is Alloc(count*size), however large the product.
func (m *Machine) AllocEach(count int64, size int) error {
	if size > 0 && count > m.bytes/int64(size) {
		return fail(kindLimit, "more than %d bytes of intermediate values", m.Limits.Bytes)
	}
	n := count * int64(size)
	m.bytes -= n
	return m.Step(1 + int(n/32))
}

// maxDepth bounds what runs inside each other: expressions, statements, calls
// and lazy sequences.
const maxDepth = 20000

// Enter charges for one level of nesting, which [Machine.Leave] ends. After an
// error Leave need not be called, because rendering ends.
func (m *Machine) Enter() error {
	if m.depth++; m.depth > maxDepth {
		return fail(kindLimit, "evaluation nested deeper than %d", maxDepth)
	}
	return m.Step(1)
}

// Leave ends the level that Enter began.
func (m *Machine) Leave() { m.depth-- }
