//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"atenia/flow/amp"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
)

// TestNegotiate goes through the eight cases: the plan's flag, the library's
// symbol, and whether v2 knows the forward mode.
func TestNegotiate(t *testing.T) {
	t.Run("A48", func(t *testing.T) {
		for i := range 8 {
			flag, symbol, refuses := i&1 != 0, i&2 != 0, i&4 != 0
			t.Run(fmt.Sprintf("flag=%v,symbol=%v,refuses=%v", flag, symbol, refuses), func(t *testing.T) {
				flags := []string{}
				if !symbol {
					flags = append(flags, "-DV1ONLY")
				}
				l := open(t, amp.Options{}, flags...)
				view := peek(t, l)
				typ := "Metrics.c"
				if refuses {
					typ = "Reluctant.c"
				}
				n := flowtest.Node(typ)
				n.SupportsV2 = flag
				g := rig[float64](t, l, n, mono...)
				in := []node.Tensor[float64]{ramp[float64](mono[0], 8)}
				for range 3 {
					c, code := run(g, in, 0, 8)
					if code != graph.Success {
						t.Fatal(code)
					}
					equal(t, "output", c.Out[0].Data, in[0].Data)
				}
				if v2 := view.seen()[3] != 0; v2 != (flag && symbol && !refuses) {
					t.Errorf("the last call was one of v2: %v", v2)
				}
				want := []string{}
				switch {
				case flag && !symbol:
					want = append(want, typ+": "+amp.NoV2.String())
				case flag && refuses:
					want = append(want, typ+": "+amp.Demoted.String())
				}
				equal(t, "events", kinds(l), want)
				adjoint, ok := g.Inst.(node.Adjoint[float64])
				if ok != (flag && refuses) { // Reluctant.c has a backward mode
					t.Errorf("adjoint: %v", ok)
				}
				if !ok {
					return
				}
				b := node.Back[float64]{Call: g.Call(in, 0, 8), DOut: in, DIn: in, DParam: make([]node.Grad[float64], 1)}
				if code := adjoint.Backward(&b); code != graph.Unsupported {
					t.Errorf("backward of what runs as v1: %v", code)
				}
			})
		}
	})
}

// TestMode: the template answers unknown modes and short descriptors, and
// changes nothing.
func TestMode(t *testing.T) {
	t.Run("A08", func(t *testing.T) {
		out, err := exec.Command(flowtest.Program(t, "testdata/modes.c", "-std=c99", flowtest.Include(t)+"/template.c")).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// TestVersion: another major version is rejected, a later minor one is not.
func TestVersion(t *testing.T) {
	open(t, amp.Options{}, "-DMINOR=9")
	_, err := amp.Open(flowtest.Library(t, "testdata/nodes.c", "-DMAJOR=3"), amp.Options{})
	if e, ok := errors.AsType[*amp.LoadError](err); !ok || e.Code != graph.Version {
		t.Errorf("%v", err)
	}
}

// TestOpen: files that are no libraries of nodes, and manifests of other files.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.amp.so")
	if err := os.WriteFile(text, []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "absent.amp.so"), text, flowtest.Library(t, "testdata/none.c")} {
		_, err := amp.Open(path, amp.Options{})
		if _, ok := errors.AsType[*amp.LoadError](err); !ok {
			t.Errorf("%s: %v", path, err)
		}
	}
	m := &amp.Manifest{ABI: [2]int{2, 0}, SHA256: fmt.Sprintf("%064d", 1)}
	if _, err := amp.Open(flowtest.Library(t, "testdata/nodes.c"), amp.Options{Manifest: m}); err == nil {
		t.Error("the checksum of another file is accepted")
	}
}

// TestTypes: plans that do not fit a type are rejected, with the position.
func TestTypes(t *testing.T) {
	l := open(t, amp.Options{})
	n := flowtest.Node("Index.c", "channels", 0.5)
	_, err := flowtest.Link(l.Types(), &n, nil, 64)
	if e, ok := errors.AsType[*graph.Error](err); !ok || e.Code != graph.Malformed {
		t.Error(err)
	}
	typ, ok := l.Types().Lookup("Look.c")
	if !ok || !typ.Dynamic || typ.Adjoint {
		t.Errorf("%+v", typ)
	}
}
