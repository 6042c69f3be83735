//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"atenia/flow"
	"atenia/flow/amp"
	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/live"
	"atenia/flow/node"
	"atenia/internal/machine/library"
)

// catalogOpen makes a catalogue of the template and the nodes for tests.
func catalogOpen(t testing.TB, trusted ...string) *amp.Catalog {
	t.Helper()
	files := []string{flowtest.Library(t, flowtest.Include(t)+"/template.c"), flowtest.Library(t, "testdata/nodes.c")}
	c, err := amp.OpenCatalog(context.Background(), amp.CatalogConfig{
		Scan:    amp.ScanConfig{Folders: files, Limit: time.Minute, Cache: filepath.Join(filepath.Dir(files[0]), "cache"), Command: []string{os.Args[0], "node-scan"}},
		Isolate: amp.ProcessConfig{Timeout: time.Minute, Command: []string{os.Args[0], "node-host"}},
		Trusted: trusted,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

const plan = `{"nodes": [{"name": "x", "type": "Input"}, {"name": "y", "type": "Probe"},
 {"name": "c", "type": "Crash.c", "supports_v2": true},
 {"name": "g", "type": "Gain", "params": {"gain": 0.01}},
 {"name": "s", "type": "Smooth", "supports_v2": true, "params": {"a": 0.25, "thermo.heat": 0.5}}],
 "edges": [{"source": "x", "target": "c"}, {"source": "c", "target": "g"}, {"source": "g", "target": "s"}, {"source": "s", "target": "y"}]}`

func session[F node.Float](t testing.TB, c *amp.Catalog, o flow.Options) *flow.Session[F] {
	t.Helper()
	p, err := graph.Parse([]byte(plan))
	if err != nil {
		t.Fatal(err)
	}
	o.Catalog = slices.Concat(flow.ShippedTypes(), c.Types())
	s, err := flow.New[F](p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// play runs blocks of a tone, one of them with a poison value, and returns the
// output. step runs a block.
func play(t testing.TB, s *flow.Session[float32], blocks, poison int, step func()) []float32 {
	t.Helper()
	in, err := s.Input("x")
	if err != nil {
		t.Fatal(err)
	}
	var out []float32
	for b := range blocks {
		for i := range in.Data[:in.N] {
			in.Data[i] = float32(math.Sin(float64(b*in.N + i)))
		}
		if b == poison {
			in.Data[0] = 666
		}
		step()
		y, err := s.Probe("y")
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, y.Data[:y.N]...)
	}
	return out
}

// TestCatalogSame: a graph gives the same bits with its C nodes in this process and in
// processes of their own, in the throughput executor and on the real-time
// thread, and the same heat.
func TestCatalogSame(t *testing.T) {
	dir := filepath.Dir(flowtest.Library(t, "testdata/nodes.c"))
	var want []float32
	heat := 0.0
	for _, trusted := range [][]string{{dir}, nil} {
		for _, realtime := range []bool{false, true} {
			t.Run(fmt.Sprintf("trusted=%v,realtime=%v", trusted != nil, realtime), func(t *testing.T) {
				c := catalogOpen(t, trusted...)
				if len(c.Running()) != 0 {
					t.Error("libraries run before they are needed")
				}
				s := session[float32](t, c, flow.Options{})
				step := func() {
					if err := s.Block(); err != nil {
						t.Fatal(err)
					}
				}
				if realtime {
					step = func() {
						l, err := live.NewLoop(live.LoopConfig{Blocks: 1, Priority: -1}, s.Step())
						if err != nil {
							t.Fatal(err)
						}
						if r := l.Run(); r.Blocks != 1 {
							t.Fatalf("%+v", r)
						}
					}
				}
				got := play(t, s, 20, -1, step)
				if want == nil {
					want, heat = got, s.Metrics().Joules[flow.Forward]
				}
				if !slices.Equal(got, want) || len(got) != 20*64 {
					t.Error("the bits differ")
				}
				if s.Metrics().Joules[flow.Forward] != heat || heat != 640 {
					t.Errorf("heat %g, want %g", s.Metrics().Joules[flow.Forward], heat)
				}
				for _, r := range c.Running() {
					if r.Isolated == (trusted != nil) || len(r.Events) != 0 {
						t.Errorf("%+v", r)
					}
				}
				if len(c.Running()) != 2 {
					t.Error(c.Running())
				}
			})
		}
	}
}

// TestClose: closing a session releases the states of its C nodes.
func TestClose(t *testing.T) {
	path := flowtest.Copy(t, flowtest.Library(t, "testdata/nodes.c"))
	l, err := amp.Open(path, amp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h, err := library.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	live, err := h.Symbol("test_live")
	if err != nil {
		t.Fatal(err)
	}
	p, err := graph.Parse([]byte(`{"nodes": [{"name": "x", "type": "Input"}, {"name": "r", "type": "Replace.c"}, {"name": "y", "type": "Probe"}],
		"edges": [{"source": "x", "target": "r"}, {"source": "r", "target": "y"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flow.New[float32](p, flow.Options{Catalog: slices.Concat(flow.ShippedTypes(), l.Types())})
	if err != nil {
		t.Fatal(err)
	}
	for range 7 {
		if err := s.Block(); err != nil {
			t.Fatal(err)
		}
	}
	if n := library.Call(live); n != 1 {
		t.Errorf("%d states while it runs", n)
	}
	s.Close()
	if n := library.Call(live); n != 0 {
		t.Errorf("%d states when it is closed", n)
	}
}

// TestCatalogCrash: an untrusted node crashes in a graph with policy mute, and the
// graph keeps running.
func TestCatalogCrash(t *testing.T) {
	c := catalogOpen(t)
	s := session[float32](t, c, flow.Options{Policy: flow.Mute})
	play(t, s, 10, 5, func() {
		if err := s.Block(); err != nil {
			t.Fatal(err)
		}
	})
	crashes := 0
	for e := range s.Events() {
		if e.Code != graph.Crashed || e.Block < 5 {
			t.Errorf("%+v", e)
		}
		crashes++
	}
	if crashes == 0 {
		t.Error("no event of the crash")
	}
}

// TestCatalogOpen: a catalogue lists the libraries found, and makes no nodes once
// closed.
func TestCatalogOpen(t *testing.T) {
	c := catalogOpen(t, "/elsewhere")
	if n := len(c.Result().Libraries); n != 2 || len(c.Result().Types) != len(c.Types()) {
		t.Errorf("%d libraries, %d types", n, len(c.Types()))
	}
	typ, ok := c.Types().Lookup("Smooth")
	if !ok || !typ.Adjoint {
		t.Fatalf("%+v", typ)
	}
	c.Close()
	if _, err := typ.New64(node.Config{}); err == nil {
		t.Error("a closed catalogue makes nodes")
	}
}
