//go:build linux && (amd64 || arm64) && !static

package abi

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"atenia/flow/internal/flowtest"
	"atenia/internal/golden/await"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/library"
)

// testNodes loads the test library and returns a function that looks up its
// symbols.
func testNodes(t testing.TB) func(name string) uintptr {
	t.Helper()
	h, err := library.Open(flowtest.Library(t, "../../testdata/nodes.c"))
	if err != nil {
		t.Fatal(err)
	}
	return func(name string) uintptr {
		f, err := h.Symbol(name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
}

// newList returns a list of n records in a new Memory.
func newList(t testing.TB, n int) (*Memory, *List, []Record) {
	t.Helper()
	m, err := NewMemory(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Release)
	l, r := &Make[List](m, 1)[0], Make[Record](m, n)
	l.Records, l.Count = Address(r), uint64(n)
	return m, l, r
}

// runs are the two ways into a list: from a goroutine, and from a thread that
// is on its system stack.
var runs = map[string]func(*List){
	"goroutine":   Run,
	"systemstack": func(l *List) { call(entryDirectPC(), unsafe.Pointer(l)) },
}

func TestConvention(t *testing.T) {
	if err := Check(); err != nil {
		t.Fatal(err)
	}
	symbol := testNodes(t)
	type words [8]uint64
	seen := At[words](uintptr(library.Call(symbol("test_seen"))))
	const unsupported = -4
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			six := Record{Desc: 0x1111111111111111, State: 0x2222222222222222, In: 0x3333333333333333, Out: 0x4444444444444444, Mode: 0x55555555, Metrics: 0x6666666666666666}
			t.Run("A03", func(t *testing.T) {
				_, l, r := newList(t, 2)
				r[0], r[1] = six, Record{Mode: 7}
				r[0].Fn, r[1].Fn = symbol("test_six"), symbol("test_six")
				l.Count = 1
				run(l)
				if *seen != (words{0x1111111111111111, 0x2222222222222222, 0x3333333333333333, 0x4444444444444444, 0x55555555, 0x6666666666666666}) {
					t.Errorf("arguments %x", *seen)
				}
				if r[0].Result != unsupported || r[1].Result != 0 {
					t.Errorf("results %d, %d of the one call", r[0].Result, r[1].Result)
				}
				l.Count = 2
				run(l)
				if seen[4] != 7 || seen[0] != 0 || r[1].Result != unsupported {
					t.Errorf("the second call: %x", *seen)
				}
			})
			t.Run("A04", func(t *testing.T) {
				_, l, r := newList(t, 1)
				*seen = words{}
				r[0] = six
				r[0].Fn = symbol("test_four")
				run(l)
				if *seen != (words{0x1111111111111111, 0x2222222222222222, 0x3333333333333333, 0x4444444444444444}) || r[0].Result != unsupported {
					t.Errorf("arguments %x, result %d", *seen, r[0].Result)
				}
			})
		})
	}
}

// node fills in a record that runs a type of the nodes for tests on one row of
// 64 values.
func nodeRecord(t testing.TB, m *Memory, symbol func(string) uintptr, typ string, host uintptr, x, y []float32) Record {
	t.Helper()
	d := Make[Descriptor](m, 1)
	d[0] = Descriptor{StructSize: 136, Version: 2, Type: MakeString(m, typ), TypeLen: uint64(len(typ)), Params: MakeString(m, "{}"), ParamsLen: 2,
		Inputs: 1, Outputs: 1, OversampleRatio: 1, MaxFrames: 64, DType: F32, SampleRate: 48000, Host: host}
	one := Make[float32](m, 1)
	one[0] = 0.999
	row := Buffer{Batches: 1, Channels: 1, Frames: uint32(len(x)), StrideB: int64(len(x)), StrideC: int64(len(x)), RateNum: 1, RateDen: 1}
	b := Make[Buffer](m, 4)
	b[0], b[3] = row, row
	b[0].Data, b[3].Data = Address(x), Address(y)
	b[1] = Buffer{Data: Address(one), Batches: 1, Channels: 1, Frames: 1, StrideB: 1, StrideC: 1, Role: RoleParam, Flags: Const, RateNum: 1, RateDen: 1}
	b[2] = b[1]
	b[2].Flags |= Absent
	return Record{Fn: symbol("amp_run_node_v2"), Desc: Address(d), State: Address(Make[uintptr](m, 1)), In: Address(b[:3]), Out: Address(b[3:]), Metrics: Address(Make[Metrics](m, 1))}
}

// TestEnvironment: a node that leaves flush-to-zero on is detected, and later
// nodes compute as before.
func TestEnvironment(t *testing.T) {
	symbol := testNodes(t)
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			m, l, r := newList(t, 1)
			x, y := Make[float32](m, 64), Make[float32](m, 64)
			before := cpu.GetFloatEnv()
			r[0] = nodeRecord(t, m, symbol, "Gain.c", 0, x, y)
			run(l)
			if r[0].Result != 0 || l.EnvChanged != 0 {
				t.Fatalf("result %d, changed %d", r[0].Result, l.EnvChanged)
			}
			r[0] = nodeRecord(t, m, symbol, "Denormals.c", 0, x, y)
			run(l)
			if r[0].Result != 0 || l.EnvChanged != 1 {
				t.Errorf("result %d, changed %d", r[0].Result, l.EnvChanged)
			}
			if !cpu.SameFloatEnv(before, cpu.GetFloatEnv()) {
				t.Errorf("environment %#x, before %#x", cpu.GetFloatEnv(), before)
				cpu.SetFloatEnv(before)
			}
		})
	}
}

// TestCallbacks: a node allocates, frees and logs; messages that do not fit the
// ring are counted.
func TestCallbacks(t *testing.T) {
	symbol := testNodes(t)
	libc, err := library.Open("libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCallbacks(libc, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range runs {
		m, l, r := newList(t, 1)
		x, y := Make[float32](m, 64), Make[float32](m, 64)
		r[0] = nodeRecord(t, m, symbol, "Talk.c", c.Host(), x, y)
		for range 3 {
			run(l)
		}
		list, lost := c.Drain()
		if len(list) != 3 || lost != 0 || list[2] != (Message{2, "hello from C"}) {
			t.Errorf("%s: %v, %d lost", name, list, lost)
		}
		for range slotCount + 7 {
			run(l)
		}
		if list, lost = c.Drain(); len(list) != slotCount || lost != 7 {
			t.Errorf("%s: %d messages, %d lost", name, len(list), lost)
		}
	}
	// Threads log at once; each message is whole.
	var wait sync.WaitGroup
	for range 4 {
		m, l, r := newList(t, 1)
		text := MakeString(m, strings.Repeat("y", 500))
		r[0] = Record{Fn: hostLogPC(), Desc: c.host[0].Context, State: 5, In: text}
		wait.Go(func() {
			for range 50 {
				Run(l)
			}
		})
	}
	wait.Wait()
	list, lost := c.Drain()
	if len(list) != 200 || lost != 0 {
		t.Errorf("%d messages, %d lost", len(list), lost)
	}
	for _, m := range list {
		if m.Level != 5 || m.Text != strings.Repeat("y", slotText) {
			t.Fatalf("%+v", m)
		}
	}
}

// TestText: a C string that does not end is cut.
func TestText(t *testing.T) {
	m, _, _ := newList(t, 1)
	p := MakeString(m, "abc")
	if Text(p, 10) != "abc" || Text(p, 2) != "ab" || Text(0, 10) != "" {
		t.Error(Text(p, 10))
	}
}

func TestNoAllocation(t *testing.T) {
	symbol := testNodes(t)
	m, l, r := newList(t, 1)
	x, y := Make[float32](m, 64), Make[float32](m, 64)
	r[0] = nodeRecord(t, m, symbol, "Gain.c", 0, x, y)
	if n := await.Allocs(100, func() { Run(l) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// BenchmarkCall times one call of a trivial function, and lists of chained gains
// of 64 frames.
func BenchmarkCall(b *testing.B) {
	symbol := testNodes(b)
	for name, run := range map[string]func(*List){"one": Run, "one/direct": direct} {
		b.Run(name, func(b *testing.B) {
			_, l, r := newList(b, 1)
			r[0].Fn = symbol("test_four")
			for b.Loop() {
				run(l)
			}
		})
	}
	h, err := library.Open(flowtest.Library(b, "testdata/gain.c", "-O3", "-mavx2"))
	if err != nil {
		b.Fatal(err)
	}
	gain := func(name string) uintptr { f, _ := h.Symbol(name); return f }
	for _, frames := range []int{64, 256, 1024} {
		b.Run(fmt.Sprintf("list/100/%d", frames), func(b *testing.B) {
			m, l, r := newList(b, 100)
			x := Make[float32](m, frames)
			for i := range x {
				x[i] = float32(i)
			}
			for i := range r {
				y := Make[float32](m, frames)
				r[i] = nodeRecord(b, m, gain, "Gain", 0, x, y)
				x = y
			}
			b.ReportAllocs()
			for b.Loop() {
				Run(l)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/node")
		})
	}
}
