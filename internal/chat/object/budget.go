package object

// Limits bound a rendering. A field that is zero has its default.
type Limits struct {
	Steps  int64 // nodes visited and 32-byte pieces of text touched; 20 million
	Bytes  int64 // text and lists created in all, alive or not; 256 MiB
	Output int64 // bytes of the result; 32 MiB
	Calls  int   // macros and recursive loops inside each other; 200
}

func (l Limits) withDefaults() Limits {
	if l.Steps == 0 {
		l.Steps = 20_000_000
	}
	if l.Bytes == 0 {
		l.Bytes = 256 << 20
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
	steps  int64 // left
	bytes  int64 // left
}

// NewMachine returns a machine with full budgets.
func NewMachine(l Limits) *Machine {
	l = l.withDefaults()
	return &Machine{Limits: l, steps: l.Steps, bytes: l.Bytes}
}

// Step charges n units of work.
func (m *Machine) Step(n int) error {
	if m.steps -= int64(n); m.steps < 0 {
		return Fail(KindLimit, "more than %d steps", m.Limits.Steps)
	}
	return nil
}

// Alloc charges n bytes of memory and the work of filling them.
func (m *Machine) Alloc(n int) error {
	if m.bytes -= int64(n); m.bytes < 0 {
		return Fail(KindLimit, "more than %d bytes of intermediate values", m.Limits.Bytes)
	}
	return m.Step(1 + n/32)
}
