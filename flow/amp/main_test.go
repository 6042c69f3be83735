//go:build linux && (amd64 || arm64) && !static

package amp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"

	"atenia/flow/amp"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/node"
	"atenia/internal/machine/library"
)

// TestMain makes the test binary the children, too: the node host, and the one
// that scans a library. With a file named before the library, the scanning
// child appends the library's name to it, so that tests can count scans.
func TestMain(m *testing.M) {
	args := os.Args[1:]
	switch {
	case len(args) >= 1 && args[0] == "node-host":
		if amp.Serve(amp.CLAP()) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case len(args) == 3 && args[0] == "node-scan":
		f, err := os.OpenFile(args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			fmt.Fprintln(f, filepath.Base(args[2]))
			f.Close()
		}
		os.Exit(amp.ServeManifest(args[2]))
	case len(args) == 2 && args[0] == "node-scan":
		os.Exit(amp.ServeManifest(args[1]))
	}
	if len(args) >= 2 && args[0] == "clap-scan" {
		os.Exit(amp.ServeCLAPScan(args[1:]))
	}
	os.Exit(flowtest.Main(m))
}

// open loads the nodes for tests.
func open(t testing.TB, o amp.Options, flags ...string) *amp.Library {
	t.Helper()
	l, err := amp.Open(flowtest.Library(t, "testdata/nodes.c", flags...), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// fresh loads a new copy of the test library, with a separate count of states.
func fresh(t testing.TB) *amp.Library {
	t.Helper()
	l, err := amp.Open(flowtest.Copy(t, flowtest.Library(t, "testdata/nodes.c")), amp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// template loads the template node.
func template(t testing.TB) *amp.Library {
	t.Helper()
	l, err := amp.Open(flowtest.Library(t, flowtest.Include(t)+"/template.c"), amp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// exported gives access to the counters of the test library.
type exported struct{ handle library.Handle }

func peek(t testing.TB, l *amp.Library) exported {
	t.Helper()
	h, err := library.Open(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	return exported{h}
}

func (e exported) call(name string) int {
	f, err := e.handle.Symbol(name)
	if err != nil {
		return -1
	}
	return int(library.Call(f))
}

// seen returns the values recorded by the last call.
func (e exported) seen() *[8]uint64 {
	f, _ := e.handle.Symbol("test_seen")
	p := library.Call(f)
	return *(**[8]uint64)(unsafe.Pointer(&p))
}

var mono = []graph.Shape{{B: 1, C: 1}}

// rig makes one node of a library.
func rig[F node.Float](t testing.TB, l *amp.Library, n graph.Node, in ...graph.Shape) *flowtest.Rig[F] {
	t.Helper()
	return flowtest.NewRig[F](t, l.Types(), &n, 48000, in, 1024)
}

// ramp is a stream of 1, 2, 3 …
func ramp[F node.Float](s graph.Shape, n int) node.Tensor[F] {
	x := flowtest.NewTensor[F](s, n)
	for i := range x.Data {
		x.Data[i] = F(i + 1)
	}
	return x
}

// run makes one call of n tokens and returns it with its result.
func run[F node.Float](g *flowtest.Rig[F], in []node.Tensor[F], n0, n int) (node.Call[F], graph.Code) {
	c := g.Call(in, n0, n)
	code := g.Inst.Forward(&c)
	return c, code
}

// kinds are the kinds of the events so far, with messages' texts.
func kinds(l *amp.Library) (list []string) {
	for _, e := range l.Events() {
		if e.Kind == amp.Message {
			list = append(list, e.Text)
		} else {
			list = append(list, fmt.Sprint(e.Node, ": ", e.Kind))
		}
	}
	return list
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
