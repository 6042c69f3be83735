//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"bytes"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"atenia/flow"
	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/live"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

const tremolo = `{"nodes": [{"name": "osc", "type": "Oscillator", "params": {"kind": "saw", "frequency_hz": 321.7}},
	{"name": "tremolo", "type": "Tremolo.c", "supports_v2": true, "params": {"rate": 7.3, "depth": 0.8}},
	{"name": "low", "type": "Biquad", "params": {"f0": 3000}}, {"name": "shape", "type": "WaveShaper", "params": {"kind": "soft"}},
	{"name": "gain", "type": "Gain", "params": {"gain": 0.6}}, {"name": "mix", "type": "Mix"},
	{"name": "shaken", "type": "Probe"}, {"name": "chain", "type": "Probe"}, {"name": "out", "type": "Probe"}],
	"edges": [{"source": "osc", "target": "tremolo"}, {"source": "tremolo", "target": "shaken"},
	{"source": "osc", "target": "low"}, {"source": "low", "target": "shape"}, {"source": "shape", "target": "gain"}, {"source": "gain", "target": "chain"},
	{"source": "tremolo", "target": "mix.in0"}, {"source": "gain", "target": "mix.in1"}, {"source": "mix", "target": "out"}]}`

// TestKilledWhilePlaying: a tremolo in a separate process and a shipped chain play in real time while the process is
// killed twenty times. The recording of the chain is that of an undisturbed run; the tremolo's is, too, apart from
// blocks of zeros, and the session counts as many lost blocks as there are of those.
func TestKilledWhilePlaying(t *testing.T) {
	const kills, most = 20, 12000
	path := flowtest.Library(t, "testdata/tremolo.c", "-Wl,--no-as-needed", "-lm")
	p, there := start(t, path, amp.ProcessConfig{Timeout: time.Millisecond, Patience: time.Minute})
	l, err := amp.Open(path, amp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	plan, err := graph.Parse([]byte(tremolo))
	if err != nil {
		t.Fatal(err)
	}
	memory, err := flow.NewArena(flow.ArenaOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	session, err := flow.New[float32](plan, flow.Options{Catalog: append(flow.ShippedTypes(), there...), Policy: flow.Mute, Memory: memory})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	play, err := live.NewLoopPlayer(session, live.LoopConfig{Rate: 48000, Blocks: most, Priority: -1}, most)
	if err != nil {
		t.Fatal(err)
	}
	play.Start()
	var report live.LoopReport
	var over atomic.Bool
	ended := make(chan bool)
	go func() {
		report = play.Wait()
		over.Store(true)
		close(ended)
	}()
	calls := func(n int) { // waits for so many more, or the end
		until := p.Status().Requests + int64(n)
		await.Until(t, "more calls", func() bool { return p.Status().Requests >= until || over.Load() })
	}
	for k := range kills {
		await.Until(t, "the next process", func() bool { s := p.Status(); return s.Restarts >= k && s.Ready })
		if err := p.Resume(); err != nil { // forgets the earlier faults: the next one has no back-off
			t.Fatal(err)
		}
		calls(8 + k%7)
		if err := syscall.Kill(p.Status().PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	await.Until(t, "the last process", func() bool { return p.Status().Restarts >= kills })
	calls(15)
	play.Stop()
	<-ended
	s := p.Status()
	if s.Crashes != kills || s.Restarts != kills {
		t.Errorf("%+v", s)
	}
	if s.Lost > 0 || report.Blocks == most {
		t.Skipf("SKIPPED: the machine is so busy that a process starts later than calls can wait: %+v, %v", s, report)
	}
	same, err := flow.New[float32](plan, flow.Options{Catalog: append(flow.ShippedTypes(), l.Types()...)})
	if err != nil {
		t.Fatal(err)
	}
	defer same.Close()
	muted, quiet := compare(t, play, same, int(report.Blocks))
	if lost := session.Metrics().LostBlocks; muted != lost || muted < kills || quiet != 0 {
		t.Errorf("%d muted blocks in the recording, of which %d are silent in the reference; %d counted", muted, quiet, lost)
	}
	t.Logf("%d of %d blocks muted by %d kills, %d calls late", muted, report.Blocks, kills, s.Timeouts)
}

// compare runs the reference and compares every block of every probe. It returns the number of blocks in which the
// tremolo is muted, and of those that would be zeros without.
func compare(t *testing.T, play *live.LoopPlayer[float32], same *flow.Session[float32], blocks int) (muted, quiet int64) {
	t.Helper()
	got, zeros := make([]float32, 64), make([]float32, 64)
	take := func(name string) (want node.Tensor[float32]) {
		n, ok, err := play.Get(name, got)
		if err != nil || !ok {
			t.Fatal(n, ok, err)
		}
		if want, err = same.Probe(name); err != nil || want.N != n {
			t.Fatalf("%s has %d frames, want %d: %v", name, n, want.N, err)
		}
		return want
	}
	for k := range blocks {
		if err := same.Block(); err != nil {
			t.Fatal(err)
		}
		silent := false
		if want := take("shaken"); !equalBits(got, want.Data[:64]) {
			if silent = equalBits(got, zeros); !silent {
				t.Fatalf("block %d of the tremolo is neither muted nor that of the reference", k)
			}
			muted++
		} else if equalBits(got, zeros) {
			quiet++
		}
		if want := take("chain"); !equalBits(got, want.Data[:64]) {
			t.Fatalf("block %d of the chain differs", k)
		}
		chain := append([]float32(nil), got...)
		want := take("out").Data[:64]
		if silent {
			want = chain
		}
		if !equalBits(got, want) {
			t.Fatalf("block %d of the mix differs", k)
		}
	}
	return muted, quiet
}

func equalBits(a, b []float32) bool {
	of := func(x []float32) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*len(x)) }
	return bytes.Equal(of(a), of(b))
}
