//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"atenia/flow/amp"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
	"atenia/internal/golden/await"

	"golang.org/x/sys/unix"
)

// start runs a library in a separate process, and returns the types that it
// has, which make their instances there.
func start(t testing.TB, path string, cfg amp.ProcessConfig) (*amp.Process, node.Table) {
	t.Helper()
	cfg.Command = []string{os.Args[0], "node-host"}
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute // the machine may be busy
	}
	p, err := amp.StartProcess(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	l, err := amp.Open(path, amp.Options{}) // for its manifest only
	if err != nil {
		t.Fatal(err)
	}
	return p, amp.Types(l.Manifest(), p)
}

func nodes(t testing.TB) string { return flowtest.Library(t, "testdata/nodes.c") }
func isolateTemplate(t testing.TB) string {
	return flowtest.Library(t, flowtest.Include(t)+"/template.c")
}

var isolateMono = []graph.Shape{{B: 1, C: 1}}

// block is a call of one row.
func block[F node.Float](g *flowtest.Rig[F], v ...F) *node.Call[F] {
	c := g.Call([]node.Tensor[F]{{Data: v, B: 1, C: 1, N: len(v)}}, 0, len(v))
	return &c
}

func isolateRig[F node.Float](t testing.TB, types node.Table, n graph.Node) *flowtest.Rig[F] {
	t.Helper()
	return flowtest.NewRig[F](t, types, &n, 48000, isolateMono, 64)
}

// TestSame runs the checks of shipped nodes on nodes in a separate process, and
// compares their bits with those of the same node in this process.
func TestSame(t *testing.T) {
	_, types := start(t, isolateTemplate(t), amp.ProcessConfig{})
	for name, n := range map[string]graph.Node{
		"constant": flowtest.Node("Smooth", "a", 0.3, node.Heat, 0.25),
		"framed":   flowtest.Node("Smooth", "a", flowtest.Ramp(1, 3, 40, 0.1, 0.9)),
	} {
		t.Run(name, func(t *testing.T) {
			flowtest.CheckNode(t, types, flowtest.Case{Node: n, In: []graph.Shape{{B: 2, C: 3}}})
		})
	}
	l, err := amp.Open(isolateTemplate(t), amp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	n := flowtest.Node("Smooth", "a", 0.3)
	here, there := isolateRig[float32](t, l.Types(), n), isolateRig[float32](t, types, n)
	in := []node.Tensor[float32]{{Data: make([]float32, 256), B: 1, C: 1, N: 256}}
	for i := range in[0].Data {
		in[0].Data[i] = float32(math.Sin(float64(i)))
	}
	cuts := []int{64, 1, 63, 64, 64}
	x, y := here.Forward(t, in, cuts), there.Forward(t, in, cuts)
	if !slices.Equal(x[0].Data, y[0].Data) {
		t.Error("outputs differ")
	}
	dx, px := here.Backward(t, x)
	dy, py := there.Backward(t, y)
	if !slices.Equal(dx[0].Data, dy[0].Data) || !slices.Equal(px[0], py[0]) {
		t.Errorf("gradients differ: %v, %v", px, py)
	}
}

// TestCrash: a node crashes in block 10. That block is lost, the host keeps
// running, and the node continues from its last snapshot.
func TestCrash(t *testing.T) {
	for _, spare := range []bool{false, true} {
		name := map[bool]string{false: "A57", true: "spare"}[spare]
		t.Run(name, func(t *testing.T) {
			p, types := start(t, nodes(t), amp.ProcessConfig{Spare: spare})
			g := isolateRig[float64](t, types, flowtest.Node("Crash.c"))
			sum := 0.0
			for range 10 {
				c := block(g, 1.0, 2)
				if code := g.Inst.Forward(c); code != graph.Success {
					t.Fatal(code)
				}
				if sum += 3; c.Out[0].Data[1] != sum {
					t.Fatalf("%g, want %g", c.Out[0].Data[1], sum)
				}
			}
			if code := g.Inst.Forward(block(g, 666.0, 0)); code != graph.Crashed {
				t.Fatalf("the block of the crash: %v", code)
			}
			c := block(g, 1.0, 2)
			await.Until(t, "a block after the crash", func() bool { return g.Inst.Forward(c) != graph.Crashed })
			if sum += 3; c.Out[0].Data[1] != sum {
				t.Errorf("after the crash %g, want %g: the state is not that of the last snapshot", c.Out[0].Data[1], sum)
			}
			if s := p.Status(); s.Crashes != 1 || s.Quarantined || s.Suspended || !s.Ready {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestIsolateQuarantine: from the second crash on there is a back-off, from the third in a minute it is called a
// quarantine, and after it, or by Resume, there is a new child.
func TestIsolateQuarantine(t *testing.T) {
	t.Parallel()
	p, types := start(t, nodes(t), amp.ProcessConfig{})
	g := isolateRig[float32](t, types, flowtest.Node("Crash.c"))
	frames := 0
	crash := func(n int) { // makes it crash until it has n times
		for p.Status().Crashes < n {
			if p.Status().Ready {
				g.Inst.Forward(block[float32](g, 666))
			} else {
				g.Inst.Forward(block(g, make([]float32, 48)...))
			}
		}
	}
	crash(3)
	if s := p.Status(); s.Crashes != 3 || s.Ready {
		t.Errorf("%+v", s)
	}
	if code := g.Inst.Forward(block[float32](g, 1)); code != graph.Crashed {
		t.Error(code)
	}
	if err := p.Resume(); err != nil {
		t.Fatal(err)
	}
	if code := g.Inst.Forward(block[float32](g, 1)); code != graph.Success || !p.Status().Ready {
		t.Error(code, p.Status())
	}
	crash(5) // Resume has forgotten three: at once, then after 100 ms
	for ; !p.Status().Ready; frames += 48 {
		g.Inst.Forward(block(g, make([]float32, 48)...))
		runtime.Gosched()
	}
	if frames < 4800-2*48 { // a block may pass before the back-off begins
		t.Errorf("started again after %d frames, want a back-off of 4800", frames)
	}
	said := ""
	for _, e := range p.Events() {
		said += e.String() + "\n"
	}
	for _, s := range []string{"its process crashed (segmentation fault) in node Crash.c at frame 0; it is started again at once\n",
		"; it is started again after 0.1 s of the stream\n", "; it is started again after 0.2 s of the stream\n", "its process was started again\n"} {
		if !strings.Contains(said, s) {
			t.Errorf("no %q in\n%s", s, said)
		}
	}
}

// TestHang: a node that hangs is ended when patience ends, and started again after a back-off.
func TestHang(t *testing.T) {
	t.Parallel()
	p, types := start(t, nodes(t), amp.ProcessConfig{Timeout: 30 * time.Millisecond, Patience: 80 * time.Millisecond})
	g := isolateRig[float32](t, types, flowtest.Node("Hang.c", "after", 0.0))
	for i := range 5 {
		if code := g.Inst.Forward(block[float32](g, 1)); code != graph.Timeout {
			t.Errorf("call %d: %v", i, code)
		}
	}
	if s := p.Status(); s.Timeouts != 3 || !s.Suspended || s.Ready || s.Crashes != 0 {
		t.Errorf("%+v", s)
	}
	for p.Status().Restarts == 0 {
		g.Inst.Forward(block(g, make([]float32, 48)...))
	}
	if s := p.Status(); s.Crashes != 0 || s.Suspended || !s.Ready {
		t.Errorf("%+v", s)
	}
}

// TestHiccup: a node that sleeps once, for longer than ten blocks may wait, costs the blocks that were late, each a
// Timeout, and nothing more: its state has seen all blocks, and its process is the same.
func TestHiccup(t *testing.T) {
	t.Parallel()
	p, types := start(t, nodes(t), amp.ProcessConfig{Timeout: time.Millisecond, Patience: time.Minute})
	g := isolateRig[float64](t, types, flowtest.Node("Nap.c", "after", 10.0))
	pid, sum, late, good := p.Status().PID, 0.0, 0, 0
	for k := 0; good < 100; k++ {
		v := float64(k % 100) // the node ends its process at 333
		c := block(g, v, 2)
		code := g.Inst.Forward(c)
		sum += v + 2
		switch {
		case code == graph.Timeout:
			late++
		case code != graph.Success:
			t.Fatalf("block %d: %v", k, code)
		case c.Out[0].Data[1] != sum:
			t.Fatalf("block %d: %g, want %g", k, c.Out[0].Data[1], sum)
		default:
			good++
		}
	}
	s := p.Status()
	if late == 0 || s.Timeouts != int64(late) || s.PID != pid || s.Restarts+s.Crashes != 0 || s.Lost != 0 || !s.Ready {
		t.Errorf("%d blocks late, %+v", late, s)
	}
}

// TestFollow: the child's thread runs under the caller's scheduling.
func TestFollow(t *testing.T) {
	p, types := start(t, nodes(t), amp.ProcessConfig{})
	g := isolateRig[float64](t, types, flowtest.Node("Gain.c"))
	runtime.LockOSThread() // the thread ends with the test: it is not given back
	fifo := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 7}
	if err := unix.SchedSetAttr(0, &fifo, 0); err != nil {
		t.Skipf("SKIPPED: no real-time priority here: %v", err)
	}
	if code := g.Inst.Forward(block(g, 1.0)); code != graph.Success {
		t.Fatal(code)
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.Status().PID))
	if err != nil {
		t.Fatal(err)
	}
	want := uint32(7)
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err == nil && set.Count() == 1 {
		want = 6 // the caller must be able to go on, see follow
	}
	found := 0
	for _, x := range tasks {
		id, _ := strconv.Atoi(x.Name())
		if a, err := unix.SchedGetAttr(id, 0); err == nil && a.Policy == unix.SCHED_FIFO && a.Priority == want {
			found++
		}
	}
	if s := p.Status(); found != 1 || s.Priority != int(want) || s.Refused != nil {
		t.Errorf("%d threads, %+v", found, s)
	}
}

// TestLate: an answer after the time limit is not mistaken for the next one.
func TestLate(t *testing.T) {
	t.Parallel()
	p, types := start(t, nodes(t), amp.ProcessConfig{Timeout: time.Nanosecond})
	g := isolateRig[float32](t, types, flowtest.Node("Gain.c", "gain", 2.0))
	for i := range 100 {
		c := block(g, float32(i))
		if code := g.Inst.Forward(c); code == graph.Success && c.Out[0].Data[0] != float32(2*i) {
			t.Fatalf("call %d: %g", i, c.Out[0].Data[0])
		}
		if p.Status().Suspended {
			if err := p.Resume(); err != nil {
				t.Fatal(err)
			}
		}
		if i == 20 {
			break
		}
	}
}

// TestBatch: one request for many nodes gives the results of single calls.
func TestBatch(t *testing.T) {
	p, types := start(t, nodes(t), amp.ProcessConfig{})
	var list []node.Instance[float32]
	var calls []*node.Call[float32]
	for i := range 20 {
		g := isolateRig[float32](t, types, flowtest.Node("Gain.c", "gain", float64(i)))
		list, calls = append(list, g.Inst), append(calls, block[float32](g, 1, 2, 3))
	}
	b, ok := amp.NewBatch(list, calls)
	if !ok {
		t.Fatal("no batch")
	}
	codes := make([]graph.Code, len(list))
	b.Forward(codes)
	for i, c := range calls {
		if codes[i] != graph.Success || !slices.Equal(c.Out[0].Data, []float32{float32(i), float32(2 * i), float32(3 * i)}) {
			t.Errorf("%d: %v, %v", i, codes[i], c.Out[0].Data)
		}
	}
	if n := await.Allocs(20, func() { b.Forward(codes) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if _, ok := amp.NewBatch(append(list, list[0]), append(calls, calls[0])); ok {
		t.Error("one node twice")
	}
	p.Close()
	b.Forward(codes)
	if codes[0] != graph.Crashed || codes[19] != graph.Crashed {
		t.Error(codes)
	}
}

// TestThreads: instances of one library may be called from several threads.
func TestThreads(t *testing.T) {
	t.Parallel()
	_, types := start(t, nodes(t), amp.ProcessConfig{})
	done := make(chan float64)
	for i := range 4 {
		g := isolateRig[float64](t, types, flowtest.Node("Crash.c"))
		go func() {
			c := block(g, float64(i))
			for range 200 {
				g.Inst.Forward(c)
			}
			done <- c.Out[0].Data[0] / float64(max(i, 1))
		}()
	}
	sum := 0.0
	for range 4 {
		sum += <-done
	}
	if sum != 600 {
		t.Error(sum)
	}
}

// TestStart: a child that does not start is an error.
func TestStart(t *testing.T) {
	t.Parallel()
	for _, cfg := range []amp.ProcessConfig{{}, {Command: []string{"/nonexistent"}}, {Command: []string{"/bin/true"}}} {
		if p, err := amp.StartProcess(nodes(t), cfg); err == nil {
			t.Errorf("%v started", cfg.Command)
			p.Close()
		}
	}
	if _, err := amp.StartProcess("/nonexistent.amp.so", amp.ProcessConfig{Command: []string{os.Args[0], "node-host"}}); err == nil {
		t.Error("a library that is not there")
	}
}

// BenchmarkRoundTrip times one isolated call of 64 frames.
func BenchmarkRoundTrip(b *testing.B) {
	_, types := start(b, nodes(b), amp.ProcessConfig{})
	g := isolateRig[float32](b, types, flowtest.Node("Gain.c", "gain", 0.5))
	c := block(g, make([]float32, 64)...)
	b.ReportAllocs()
	for b.Loop() {
		g.Inst.Forward(c)
	}
}
