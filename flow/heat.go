package flow

import (
	"fmt"
	"math"
	"strings"

	"atenia/internal/spelling"
)

// A Mode distinguishes forward and backward calls.
type Mode int32

// The modes of a call, numbered as in the C interface.
const (
	Forward  Mode = 0
	Backward Mode = 1
)

var modeNames = [...]string{"forward", "backward"}

// String returns "forward" or "backward".
func (m Mode) String() string {
	if m < 0 || int(m) >= len(modeNames) {
		return fmt.Sprintf("mode %d", int32(m))
	}
	return modeNames[m]
}

// A meter sums the reports of nodes. There is one float64 sum per node, so that
// ten million reports of 0.1 J lose no significant digits, and totals do not
// depend on the order in which threads visit nodes: a node is called by one
// thread at a time. Methods do not allocate or write pointers, so they may be
// called in real time.
type meter struct {
	names   []string
	heat    [2][]float64 // joules by mode and node
	calls   [2][]int64
	ns      [2][]int64
	ignored [2][]int64 // reports that were not finite
	delay   []int32    // largest measured delay, frames
	late    []int64    // calls that exceeded their limit
	under   []bool     // a delay above the declared one was reported
	spare   [][6]float32
	lost    int64 // blocks
}

// newMeter returns a meter of the named nodes, all at zero.
func newMeter(names []string) *meter {
	m := &meter{names: names, delay: make([]int32, len(names)), late: make([]int64, len(names)), under: make([]bool, len(names)), spare: make([][6]float32, len(names))}
	for i := range m.heat {
		m.heat[i] = make([]float64, len(names))
		m.calls[i] = make([]int64, len(names))
		m.ns[i] = make([]int64, len(names))
		m.ignored[i] = make([]int64, len(names))
	}
	return m
}

// Blank returns a new meter of the same nodes, all at zero.
func (m *meter) Blank() *meter { return newMeter(m.names) }

// Add counts one call of a node and the joules it reported. A value that is not
// finite is left out of the sum and counted.
func (m *meter) Add(node int, mode Mode, joules float64) {
	m.calls[mode][node]++
	if joules-joules != 0 { // NaN or infinite
		m.ignored[mode][node]++
		return
	}
	m.heat[mode][node] += joules
}

// Repeat adds n calls with the same report.
func (m *meter) Repeat(node int, mode Mode, joules float64, n int64) {
	m.Add(node, mode, joules)
	m.calls[mode][node] += n - 1
	if joules-joules != 0 {
		m.ignored[mode][node] += n - 1
		return
	}
	m.heat[mode][node] += joules * float64(n-1)
}

// Time adds the duration of a node's calls, in nanoseconds.
func (m *meter) Time(node int, mode Mode, ns int64) { m.ns[mode][node] += ns }

// Late counts a forward call that exceeded its limit.
func (m *meter) Late(node int) { m.late[node]++ }

// Delay records a measured delay in frames and reports whether it is the first
// of this node that exceeds the declared one.
func (m *meter) Delay(node, measured, declared int) bool {
	m.delay[node] = max(m.delay[node], int32(min(measured, math.MaxInt32)))
	if measured <= declared || m.under[node] {
		return false
	}
	m.under[node] = true
	return true
}

// Reserved keeps the reserved floats of a node's report, those of its last call that set one.
func (m *meter) Reserved(node int, x [6]float32) { m.spare[node] = x }

// Joules returns the sum over all nodes, in node order.
func (m *meter) Joules(mode Mode) float64 {
	sum := 0.0
	for _, h := range m.heat[mode] {
		sum += h
	}
	return sum
}

// Reset sets everything to zero.
func (m *meter) Reset() {
	for i := range m.heat {
		clear(m.heat[i])
		clear(m.calls[i])
		clear(m.ns[i])
		clear(m.ignored[i])
	}
	clear(m.delay)
	clear(m.late)
	clear(m.under)
	clear(m.spare)
	m.lost = 0
}

// Report returns the totals so far.
func (m *meter) Report() Metrics {
	r := Metrics{Nodes: make([]NodeMetrics, len(m.names)), LostBlocks: m.lost}
	for i, name := range m.names {
		n := NodeMetrics{Name: name, MeasuredDelay: int(m.delay[i]), UnderDeclared: m.under[i], Timeouts: m.late[i], Reserved: m.spare[i]}
		for mode := range m.heat {
			n.Joules[mode], n.Calls[mode], n.Nanos[mode] = m.heat[mode][i], m.calls[mode][i], m.ns[mode][i]
			r.Joules[mode] += m.heat[mode][i]
			r.Ignored += m.ignored[mode][i]
		}
		r.Nodes[i] = n
	}
	return r
}

// Metrics holds the totals of a session. Arrays are indexed by mode, [Forward]
// or [Backward].
type Metrics struct {
	Nodes   []NodeMetrics // in the order of the plan
	Joules  [2]float64
	Ignored int64 // reports of heat that were no finite number
	// LostBlocks counts the blocks that were not computed, or in which zeros took the place of an output: a call failed,
	// exceeded its limit or gave NaN, or its node is suspended.
	LostBlocks int64
}

// NodeMetrics is one node's share of [Metrics].
type NodeMetrics struct {
	Name          string
	Joules        [2]float64
	Calls         [2]int64
	Nanos         [2]int64 // zero unless time is measured
	MeasuredDelay int      // frames; the largest reported
	UnderDeclared bool     // MeasuredDelay exceeds the declared delay
	Timeouts      int64    // calls that exceeded their limit; their outputs are zero
	Suspended     bool     // no longer called for that reason
	// Reserved holds amp_node_metrics_t.reserved of the last call that set any of it. The ABI gives these floats no
	// meaning yet; they are not summed.
	Reserved [6]float32
}

// String returns a table with one node per line.
func (m Metrics) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %8s %8s %14s %14s %12s %6s\n", "node", "calls", "backward", "J forward", "J backward", "ns/call", "delay")
	for _, n := range m.Nodes {
		per := "-"
		if calls := n.Calls[Forward] + n.Calls[Backward]; calls > 0 && n.Nanos[Forward]+n.Nanos[Backward] > 0 {
			per = fmt.Sprint((n.Nanos[Forward] + n.Nanos[Backward]) / calls)
		}
		delay := fmt.Sprint(n.MeasuredDelay)
		if n.UnderDeclared {
			delay += " under-declared"
		}
		if n.Timeouts > 0 {
			delay += " " + spelling.Count(n.Timeouts, "timeout")
		}
		if n.Suspended {
			delay += " suspended"
		}
		fmt.Fprintf(&b, "%-16s %8d %8d %14.6g %14.6g %12s %6s\n", n.Name, n.Calls[Forward], n.Calls[Backward],
			n.Joules[Forward], n.Joules[Backward], per, delay)
		if n.Reserved != [6]float32{} {
			fmt.Fprintf(&b, "  reserved %v\n", n.Reserved)
		}
	}
	fmt.Fprintf(&b, "total %.6g J forward, %.6g J backward, %s ignored\n", m.Joules[Forward], m.Joules[Backward], spelling.Count(m.Ignored, "report"))
	if m.LostBlocks > 0 {
		fmt.Fprintf(&b, "%s lost: not computed, or an output is silent\n", spelling.Count(m.LostBlocks, "block"))
	}
	return b.String()
}
