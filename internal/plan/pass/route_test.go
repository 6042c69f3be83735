package pass

import (
	"errors"
	"fmt"
	"testing"

	"atenia/internal/plan"
)

// fake is a backend with full support except for the listed opcodes.
type fake struct {
	name  string
	lacks plan.Opcode
	cap   AdapterCapability
	one   plan.Opcode // runs this opcode one slot at a time
}

const noOpcode = plan.Opcode(255)

func (f fake) Name() string { return f.name }

func (f fake) Capability(op plan.Opcode) (AdapterCapability, bool) {
	c := f.cap
	if op == f.one {
		c.Batch = false
	}
	return c, op != f.lacks
}

var (
	full    = fake{"full", noOpcode, AdapterCapability{Batch: true}, noOpcode}
	single  = fake{"single", noOpcode, AdapterCapability{}, noOpcode}
	eight   = fake{"eight", noOpcode, AdapterCapability{Batch: true, MaxBatch: 8}, noOpcode}
	noFFN   = fake{"noffn", plan.OpFFN, AdapterCapability{Batch: true}, noOpcode}
	oneHead = fake{"onehead", noOpcode, AdapterCapability{Batch: true}, plan.OpLMHead}
)

func routed(t *testing.T, batch int, bs ...Backend) (*Routing, error) {
	t.Helper()
	return Route(compile(t, "llama", plan.ModeDecode, 2, Options{}), batch, bs...)
}

func TestRouteBatch1(t *testing.T) {
	for _, b := range []fake{full, single, eight, oneHead} {
		r, err := routed(t, 1, b)
		if err != nil || r.Backend.Name() != b.name || len(r.Rejected) != 0 {
			t.Errorf("%s: %+v, %v", b.name, r, err)
		}
	}
}

func TestRouteBatchN(t *testing.T) {
	for _, tc := range []struct {
		b     fake
		batch int
		ok    bool
	}{{full, 1000, true}, {eight, 8, true}, {eight, 9, false}, {single, 2, false}, {oneHead, 2, false}} {
		if _, err := routed(t, tc.batch, tc.b); (err == nil) != tc.ok {
			t.Errorf("%s with batch %d: %v", tc.b.name, tc.batch, err)
		}
	}
}

// The next backend gets the plan if the first rejects it, and the reason is
// kept.
func TestRouteBatchAlternateBackend(t *testing.T) {
	r, err := routed(t, 4, single, noFFN, full)
	if err != nil || r.Backend.Name() != "full" || r.Batch != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(r.Rejected) != 2 || !errors.Is(r.Rejected[0], plan.ErrBatchUnsupported) || !errors.Is(r.Rejected[1], plan.ErrUnsupportedOpcode) {
		t.Errorf("rejected for %v", r.Rejected)
	}
}

func TestRouteBatchUnsupportedTyped(t *testing.T) {
	_, err := routed(t, 9, eight, single)
	e, ok := errors.AsType[*plan.BatchError](err)
	if !ok || !errors.Is(err, plan.ErrBatchUnsupported) || e.Backend != "eight" || e.Batch != 9 || e.Max != 8 || e.Index != 0 || e.Op != plan.OpEmbedding {
		t.Errorf("got %v", err)
	}
	_, err = routed(t, 2, oneHead)
	if e, ok := errors.AsType[*plan.BatchError](err); !ok || e.Op != plan.OpLMHead || e.Max != 1 {
		t.Errorf("got %v", err)
	}
	if _, err := routed(t, 0, full); !errors.Is(err, plan.ErrInvalidPlan) {
		t.Errorf("batch 0: %v", err)
	}
}

// A missing adapter is named with its backend and instruction.
func TestRouteUnsupportedOpcodeTyped(t *testing.T) {
	_, err := routed(t, 1, noFFN)
	e, ok := errors.AsType[*plan.OpcodeError](err)
	if !ok || !errors.Is(err, plan.ErrUnsupportedOpcode) || e.Op != plan.OpFFN || e.Backend != "noffn" || e.Index == 0 {
		t.Errorf("got %v", err)
	}
	if _, err := routed(t, 1); !errors.Is(err, plan.ErrUnsupportedOpcode) {
		t.Errorf("without a backend: %v", err)
	}
}

// A backend may reject an instruction for properties other than its opcode.
func TestRouteAccept(t *testing.T) {
	picky := full
	picky.name = "picky"
	picky.cap.Accept = func(p *plan.ExecutionPlan, i int) error {
		if w := p.Registers[p.Instructions[i].Out[0]].Cols; w > toyDim {
			return fmt.Errorf("rows of %d", w)
		}
		return nil
	}
	_, err := routed(t, 1, picky)
	if e, ok := errors.AsType[*plan.OpcodeError](err); !ok || e.Op != plan.OpLMHead || e.Why != "rows of 320" {
		t.Errorf("got %v", err)
	}
}

// Routing queries each instruction once and chooses one backend for the whole
// plan before anything runs.
func TestRouteAsksEachInstructionOnce(t *testing.T) {
	c := compile(t, "llama", plan.ModeDecode, 2, Options{})
	asked := 0
	b := full
	b.cap.Accept = func(*plan.ExecutionPlan, int) error { asked++; return nil }
	if _, err := Route(c, 1, b); err != nil || asked != len(c.Plan.Instructions) {
		t.Errorf("asked %d times for %d instructions, %v", asked, len(c.Plan.Instructions), err)
	}
}

func TestGraph(t *testing.T) {
	graph := full
	graph.cap.Graph = true
	for _, b := range []fake{full, graph} {
		if r, err := routed(t, 1, b); err != nil || r.Records() != b.cap.Graph {
			t.Errorf("a backend records work exactly if it says so: %+v, %v", r, err)
		}
	}
}
