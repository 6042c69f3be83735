//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/flow"
	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/live"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

// catalog finds the plug-ins for tests, trusted or each file in a process.
func catalog(t testing.TB, trusted bool) *amp.CLAPCatalog {
	t.Helper()
	path := flowtest.Copy(t, flowtest.Plugins(t, "testdata/plugins.c"))
	cfg := amp.CLAPConfig{Folders: []string{filepath.Dir(path)}, Command: []string{os.Args[0], "clap-scan"},
		Isolate: amp.ProcessConfig{Command: []string{os.Args[0], "node-host"}, Timeout: time.Minute}}
	if trusted {
		cfg.Trusted = []string{path}
	}
	c, err := amp.OpenCLAPCatalog(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Files() {
		if f.Err != nil {
			t.Fatal(f.Err)
		}
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// both runs a test with plug-ins in this process and in another. It fails if
// a plug-in says that it was called as it must not be.
func both(t *testing.T, f func(t *testing.T, c *amp.CLAPCatalog)) {
	for _, trusted := range []bool{true, false} {
		t.Run(fmt.Sprintf("trusted=%v", trusted), func(t *testing.T) {
			c := catalog(t, trusted)
			f(t, c)
			for _, e := range events(c) {
				if e != "called back" {
					t.Error(e)
				}
			}
		})
	}
}

func events(c *amp.CLAPCatalog) (list []string) {
	for _, r := range c.Running() {
		for _, e := range r.Events {
			list = append(list, e.Text)
		}
	}
	return list
}

var monoPorts = []graph.Shape{{B: 1, C: 1}}

func noise(r *rand.Rand, s graph.Shape, n int) node.Tensor[float32] {
	t := flowtest.NewTensor[float32](s, n)
	for i := range t.Data {
		t.Data[i] = float32(r.IntN(65)-32) / 32
	}
	return t
}

func cuts(r *rand.Rand, n, most int) (list []int) {
	for n > 0 {
		k := min(1+r.IntN(most), n)
		list, n = append(list, k), n-k
	}
	return list
}

// TestContract runs the checks of shipped nodes: independence of cuts, no
// allocation, an end without a trace.
func TestContract(t *testing.T) {
	both(t, func(t *testing.T, c *amp.CLAPCatalog) {
		for _, n := range []graph.Node{
			flowtest.Node("test.gain", "gain_x", 0.5, "frames", 7),
			flowtest.Node("test.gain", "gain_x", flowtest.Ramp(1, 1, 13, 0, 4)),
			flowtest.Node("test.delay", "frames", 1),
			flowtest.Node("test.size"),
			flowtest.Node("test.synth", "notes", "0 60 0.8 20, 5 70 1 100 3", "frames", 16),
		} {
			in := monoPorts
			switch n.Type {
			case "test.gain":
				in = []graph.Shape{{B: 1, C: 2}}
			case "test.synth":
				in = nil
			}
			t.Run(n.Type, func(t *testing.T) { flowtest.CheckNode(t, c.Types(), flowtest.Case{Node: n, In: in, Tokens: 200}) })
		}
	})
}

// TestGain: parameters change at their frame, in random cuts and frames of
// process calls: a gain of values that change now and then gives exactly the
// product, frames-1 later. Values are clamped, and the plug-in's own default
// holds until the plan gives another.
func TestCLAPGain(t *testing.T) {
	both(t, func(t *testing.T, c *amp.CLAPCatalog) {
		r := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			n, frames := 50+r.IntN(300), 1+r.IntN(70)
			gain := graph.Tensor{B: 1, C: 1, F: n, Data: make([]float64, n)}
			v := 1.0
			for i := range gain.Data {
				if r.IntN(5) == 0 {
					v = float64(r.IntN(200)-20) / 32
				}
				gain.Data[i] = v
			}
			p := flowtest.Node("test.gain", "gain_x", gain, "frames", frames)
			g := flowtest.NewRig[float32](t, c.Types(), &p, 48000, []graph.Shape{{B: 1, C: 2}}, 100)
			if g.Node.Spec.Delay != frames-1 {
				t.Fatalf("delay %d of %d frames", g.Node.Spec.Delay, frames)
			}
			x := noise(r, graph.Shape{B: 1, C: 2}, n)
			y := g.Forward(t, []node.Tensor[float32]{x}, cuts(r, n, 100))[0]
			for ch := range 2 {
				for i, got := range y.Row(ch) {
					want := float32(0)
					if at := i - (frames - 1); at >= 0 {
						want = x.Row(ch)[at] * float32(min(max(gain.Data[at], 0), 4))
					}
					if got != want {
						t.Fatalf("%d frames a call: channel %d, frame %d: %v, not %v", frames, ch, i, got, want)
					}
				}
			}
		}
		p := flowtest.Node("test.gain", "frames", 1)
		g := flowtest.NewRig[float32](t, c.Types(), &p, 48000, []graph.Shape{{B: 1, C: 1}}, 100) // one channel for both
		x := noise(r, monoPorts[0], 40)
		y := g.Forward(t, []node.Tensor[float32]{x}, []int{40})[0]
		if !slices.Equal(y.Row(0), x.Data) || !slices.Equal(y.Row(1), x.Data) {
			t.Error("the default gain, or a channel for all")
		}
	})
}

// TestCallback: a plug-in that asks for it is called on the main thread.
func TestCallback(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		c := catalog(t, trusted)
		n := flowtest.Node("test.gain")
		flowtest.NewRig[float32](t, c.Types(), &n, 48000, []graph.Shape{{B: 1, C: 2}}, 8)
		await.Until(t, fmt.Sprintf("a call, trusted %v", trusted), func() bool { return slices.Contains(events(c), "called back") })
	}
}

// TestState: what a plug-in saves comes back in another of its kind, from the
// plan and from a file, and a state that is not its own is refused.
func TestCLAPState(t *testing.T) {
	both(t, func(t *testing.T, c *amp.CLAPCatalog) {
		run := func(params ...any) (float32, error) {
			n := flowtest.Node("test.state", append([]any{"frames", 1}, params...)...)
			n.Name = "keep"
			l, err := flowtest.Link(c.Types(), &n, monoPorts, 8)
			if err != nil {
				return 0, err
			}
			inst, err := node.New[float32](c.Types(), node.Config{SampleRate: 48000, MaxTokens: 8, Node: l})
			if err != nil {
				return 0, err
			}
			g := flowtest.Rig[float32]{Node: l, Inst: inst}
			return g.Forward(t, []node.Tensor[float32]{flowtest.NewTensor[float32](monoPorts[0], 1)}, []int{1})[0].Data[0], nil
		}
		if y, err := run(); y != 3 || err != nil {
			t.Fatal(y, err)
		}
		b, err := c.State("keep")
		if err != nil || len(b) != 300008 {
			t.Fatalf("a state of %d bytes, %v", len(b), err)
		}
		b[6], b[7] = 0x14, 0x40 // 5
		if y, err := run("state", base64.StdEncoding.EncodeToString(b)); y != 5 || err != nil {
			t.Error(y, err)
		}
		file := filepath.Join(t.TempDir(), "preset")
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if y, err := run("state_file", file); y != 5 || err != nil {
			t.Error(y, err)
		}
		if y, err := run("state_file", file, "gain_x", 2); y != 2 || err != nil {
			t.Error("a value of the plan counts more than the state:", y, err)
		}
		b[1000]++
		for what, params := range map[string][]any{
			"damaged": {"state", base64.StdEncoding.EncodeToString(b)}, "short": {"state", "AAAA"}, "no base64": {"state", "="},
			"no file": {"state_file", file + "x"}, "twice": {"state", "AAAA", "state_file", file},
		} {
			if y, err := run(params...); err == nil {
				t.Errorf("%s: accepted, and gives %v", what, y)
			}
		}
		big := flowtest.Node("test.big")
		big.Name = "big"
		flowtest.NewRig[float32](t, c.Types(), &big, 48000, monoPorts, 8)
		if b, err := c.State("big"); err == nil {
			t.Errorf("a state of %d bytes, part of what was written", len(b))
		}
		if _, err := c.State("nobody"); err == nil {
			t.Error("a state of no node")
		}
	})
}

// TestNotes: a score begins and ends notes at their frames, whatever the cuts.
func TestNotes(t *testing.T) {
	both(t, func(t *testing.T, c *amp.CLAPCatalog) {
		r := rand.New(rand.NewPCG(3, 4))
		for range 10 {
			frames, n := 1+r.IntN(40), 400
			var score []string
			on := map[int]bool{}
			held, at := make([]bool, n), r.IntN(20)
			for at < n {
				length := 1 + r.IntN(50)
				score = append(score, fmt.Sprintf("%d %d 0.5 %d %d", at, 60+r.IntN(2), length, r.IntN(16)))
				on[at] = true
				for i := at; i < min(at+length, n); i++ {
					held[i] = true
				}
				at += length + r.IntN(3)
			}
			r.Shuffle(len(score), func(i, j int) { score[i], score[j] = score[j], score[i] })
			p := flowtest.Node("test.synth", "frames", frames, "notes", strings.Join(score, ", "))
			g := flowtest.NewRig[float32](t, c.Types(), &p, 48000, nil, 100)
			y := g.Forward(t, nil, cuts(r, n, 100))[0].Data
			for i := frames - 1; i < n; i++ {
				at := i - frames + 1
				if got := y[i]; (got != 0) != held[at] || on[at] && got != 0.5 {
					t.Fatalf("%d frames a call, frame %d: %v, held %v", frames, at, got, held[at])
				}
			}
		}
	})
}

const delayed = `{"nodes": [{"name": "in", "type": "Input"}, {"name": "late", "type": "test.delay", "pdc": "trim"%s}, {"name": "out", "type": "Probe"}],
	"edges": [{"source": "in", "target": "late"}, {"source": "late", "target": "out"}]}`

// TestLatency: the latency is compensated without a word in the plan, for any
// block, and one that is not as declared is refused by its numbers.
func TestLatency(t *testing.T) {
	both(t, func(t *testing.T, c *amp.CLAPCatalog) {
		r := rand.New(rand.NewPCG(5, 6))
		x := noise(r, monoPorts[0], 960).Data
		p, err := graph.Parse(fmt.Appendf(nil, delayed, ""))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range []int{16, 64, 48, 480} {
			var y []float32
			s, err := flow.New[float32](p, flow.Options{Catalog: append(flow.ShippedTypes(), c.Types()...), BlockFrames: block, SampleRate: 48000})
			if err != nil {
				t.Fatal(err)
			}
			if d := s.Linked().Nodes[1].DeclaredDelay; d != 163 {
				t.Fatalf("a delay of %d frames", d)
			}
			got, err := s.Run(map[string]node.Tensor[float32]{"in": {Data: x, B: 1, C: 1, N: len(x)}}, len(x)/block)
			if err != nil {
				t.Fatal(err)
			}
			y = got["out"].Data
			if len(y) < 700 || !slices.Equal(y, x[:len(y)]) {
				t.Errorf("blocks of %d: %d frames, or others than went in", block, len(y))
			}
			s.Close()
		}
		slow, err := graph.Parse(fmt.Appendf(nil, delayed, `, "params": {"gain_x": 4}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := flow.New[float32](slow, flow.Options{Catalog: append(flow.ShippedTypes(), c.Types()...)}); err == nil || !strings.Contains(err.Error(), "set declared_delay to 263") {
			t.Errorf("a latency that a parameter changes: %v", err)
		}
		for rate, ok := range map[float64]bool{44100: true, 96000: false} {
			s, err := flow.New[float32](p, flow.Options{Catalog: append(flow.ShippedTypes(), c.Types()...), SampleRate: rate})
			if ok && err == nil {
				s.Close()
				continue
			}
			if ok || err == nil || !strings.Contains(err.Error(), "set declared_delay to 263") {
				t.Errorf("%v Hz: %v", rate, err)
			}
		}
	})
}

// TestRefused: what a plug-in claims is bounded, and each refusal is an error
// of this package or of the graph.
func TestCLAPRefused(t *testing.T) {
	both(t, func(t *testing.T, c *amp.CLAPCatalog) {
		for typ, why := range map[string]string{
			"test.null": "no process", "test.ports": "4000000000 audio ports", "test.params": "4000000000 parameters", "test.name": "NaN to +Inf",
			"test.refuse": "init refuses", "test.early": "ended the process",
		} {
			n := flowtest.Node(typ)
			_, err := flowtest.Link(c.Types(), &n, monoPorts, 8)
			if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Unsupported || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v", typ, err)
			}
		}
		for what, n := range map[string]graph.Node{
			"ports differ":          flowtest.Node("test.lie"),
			"1 audio inputs":        flowtest.Node("test.size", "inputs", 2),
			"no input of notes":     flowtest.Node("test.size", "notes", "0 1 1 1"),
			"note 1":                flowtest.Node("test.synth", "notes", "0 128 1 1"),
			"one value for all":     flowtest.Node("test.gain", "gain_x", graph.Tensor{B: 1, C: 2, F: 1, Data: []float64{1, 2}}),
			"integer in 1..8192":    flowtest.Node("test.size", "frames", 0),
			"activate refuses 1 Hz": flowtest.Node("test.size"),
		} {
			rate := 48000.0
			if strings.HasPrefix(what, "activate") {
				rate = 1
			}
			l, err := flowtest.Link(c.Types(), &n, monoPorts, 8)
			if err == nil {
				_, err = node.New[float32](c.Types(), node.Config{SampleRate: rate, MaxTokens: 8, Node: l})
			}
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

// TestLibraries: what a file claims of its plug-ins is bounded, and one that
// cannot be used is an error of its own.
func TestLibraries(t *testing.T) {
	for flag, why := range map[string]string{
		"NULLENTRY": "lacks init or get_factory", "NULLFACTORY": "no factory", "NODESC": "no descriptor of plug-in 0", "NULLID": "an id that is empty", "LONGID": "too long",
		"COUNT": "4000000000 plug-ins", "DRAFT": "CLAP version 0.26", "INITFAIL": "init refuses", "INITCRASH": "ended the process",
	} {
		path := flowtest.Plugins(t, "testdata/plugins.c", "-D"+flag, "-Wno-unused", "-Wno-pedantic")
		c, err := amp.OpenCLAPCatalog(t.Context(), amp.CLAPConfig{Folders: []string{path}, Command: []string{os.Args[0], "clap-scan"}})
		if err != nil {
			t.Fatal(err)
		}
		f := c.Files()[0]
		if _, ok := errors.AsType[*amp.CLAPRefusedError](f.Err); !ok || !strings.Contains(f.Err.Error(), why) || len(c.Types()) != 0 {
			t.Errorf("%s: %v", flag, f.Err)
		}
		if flag == "INITCRASH" {
			continue
		}
		if _, err := amp.OpenCLAP(path); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s, in this process: %v", flag, err)
		}
	}
	path := filepath.Join(t.TempDir(), "none.clap")
	if err := os.WriteFile(path, []byte("no library"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := amp.OpenCLAP(path); err == nil {
		t.Error("a text is a library")
	}
}

// TestFaults: a plug-in that crashes, exits, writes too much or fails costs
// muted calls, and plays on; the process is a new one.
func TestFaults(t *testing.T) {
	c := catalog(t, false)
	for typ, want := range map[string]graph.Code{"test.crash": graph.Crashed, "test.exit": graph.Crashed, "test.over": graph.InvalidArg, "test.fail": graph.Fail} {
		n := flowtest.Node(typ, "frames", 4)
		g := flowtest.NewRig[float32](t, c.Types(), &n, 48000, monoPorts, 8)
		call := func(v float32) (graph.Code, []float32) {
			x := flowtest.NewTensor[float32](monoPorts[0], 4)
			for i := range x.Data {
				x.Data[i] = v
			}
			b := g.Call([]node.Tensor[float32]{x}, 0, 4)
			code := g.Inst.Forward(&b)
			return code, b.Out[0].Data
		}
		if code, _ := call(1); code != graph.Success {
			t.Fatal(typ, code)
		}
		if code, y := call(11); code != want || y[3] == 11 {
			t.Errorf("%s: %v, %v", typ, code, y)
		}
		await.Until(t, "success of "+typ, func() bool { code, _ := call(1); return code == graph.Success })
		if _, y := call(1); y[0] != 1 || y[3] != 1 {
			t.Errorf("%s: afterwards %v", typ, y)
		}
	}
	n := flowtest.Node("test.fail", "frames", 1)
	g := flowtest.NewRig[float32](t, c.Types(), &n, 48000, monoPorts, 8)
	b := g.Call([]node.Tensor[float32]{{Data: []float32{-11}, B: 1, C: 1, N: 1}}, 0, 1)
	if code := g.Inst.Forward(&b); code != graph.Fail || b.Out[0].Data[0] != 0 {
		t.Error(code, b.Out[0].Data)
	}
	if list := events(c); !slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, "status that CLAP does not know") }) {
		t.Error(list)
	}
}

// TestMany: of a plug-in with more parameters than a node has, those count that
// the plan gives, whichever they are.
func TestMany(t *testing.T) {
	both(t, func(t *testing.T, c *amp.CLAPCatalog) {
		n := flowtest.Node("test.many", "frames", 1, "p299", 1, "p100", 0.5, "p3", 1)
		g := flowtest.NewRig[float32](t, c.Types(), &n, 48000, monoPorts, 8)
		y := g.Forward(t, []node.Tensor[float32]{{Data: []float32{1}, B: 1, C: 1, N: 1}}, []int{1})[0].Data[0]
		if y != 1+299+50+3 {
			t.Error(y)
		}
	})
}

// TestRealTime plays a gain and a delay on the real-time thread.
func TestRealTime(t *testing.T) {
	both(t, func(t *testing.T, c *amp.CLAPCatalog) {
		p, err := graph.Parse(fmt.Appendf(nil, delayed, `, "params": {"frames": 1}`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := flow.New[float32](p, flow.Options{Catalog: append(flow.ShippedTypes(), c.Types()...), BlockFrames: 50, SampleRate: 48000})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		play, err := live.NewLoopPlayer(s, live.LoopConfig{Blocks: 20}, 64)
		if err != nil {
			t.Fatal(err)
		}
		x := noise(rand.New(rand.NewPCG(7, 8)), monoPorts[0], 1000).Data
		for at := 0; at < len(x); at += 50 {
			if ok, err := play.Put("in", x[at:at+50]); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		play.Start()
		play.Wait()
		var y []float32
		for block := make([]float32, 50); ; {
			n, ok, err := play.Get("out", block)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			y = append(y, block[:n]...)
		}
		if len(y) < 900 || !slices.Equal(y, x[:len(y)]) {
			t.Errorf("%d frames, or others than went in", len(y))
		}
	})
}

// TestGradient: a strict sweep through a plug-in is refused with its name.
func TestGradient(t *testing.T) {
	c := catalog(t, true)
	p, err := graph.Parse([]byte(`{"nodes": [{"name": "in", "type": "Input"}, {"name": "fx", "type": "test.size", "supports_v2": true}, {"name": "out", "type": "Probe"}],
		"edges": [{"source": "in", "target": "fx"}, {"source": "fx", "target": "out"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flow.New[float64](p, flow.Options{Catalog: append(flow.ShippedTypes(), c.Types()...), BlockFrames: 8, Training: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Record(flow.Recording{})
	if err == nil {
		err = s.Block()
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Backward(map[string]node.Tensor[float64]{"out": flowtest.NewTensor[float64](monoPorts[0], 8)}, flow.Sweep{Strict: true})
	if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Unsupported || !slices.Equal(e.Names, []string{"fx"}) {
		t.Error(err)
	}
}

// TestSet: a parameter that the plan does not give is the plug-in's own until a
// program sets it.
func TestSet(t *testing.T) {
	both(t, func(t *testing.T, c *amp.CLAPCatalog) {
		p, err := graph.Parse([]byte(`{"nodes": [{"name": "in", "type": "Constant", "params": {"value": 1}}, {"name": "fx", "type": "test.gain", "params": {"frames": 4}}, {"name": "out", "type": "Probe"}],
			"edges": [{"source": "in", "target": "fx"}, {"source": "fx", "target": "out"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		s, err := flow.New[float32](p, flow.Options{Catalog: append(flow.ShippedTypes(), c.Types()...), BlockFrames: 8})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for block, want := range []float32{1, 3, 1} {
			if block > 0 {
				if err := s.Set("fx", "gain_x", []float64{float64(want)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Block(); err != nil {
				t.Fatal(err)
			}
			if y, err := s.Probe("out"); err != nil || y.Row(1)[7] != want {
				t.Errorf("block %d: %v, %v, not %v", block, y.Row(1), err, want)
			}
		}
	})
}

// BenchmarkForward times one process call of 64 frames of the stereo gain.
func BenchmarkForward(b *testing.B) {
	for _, trusted := range []bool{true, false} {
		b.Run(fmt.Sprintf("trusted=%v", trusted), func(b *testing.B) {
			c := catalog(b, trusted)
			n := flowtest.Node("test.gain", "gain_x", 0.5)
			g := flowtest.NewRig[float32](b, c.Types(), &n, 48000, []graph.Shape{{B: 1, C: 2}}, 64)
			call := g.Call([]node.Tensor[float32]{flowtest.NewTensor[float32](graph.Shape{B: 1, C: 2}, 64)}, 0, 64)
			b.ReportAllocs()
			for b.Loop() {
				g.Inst.Forward(&call)
			}
		})
	}
}
