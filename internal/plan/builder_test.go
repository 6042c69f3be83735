package plan

import (
	"errors"
	"strings"
	"testing"

	"atenia/tensor"
)

// stub resolves names for the tests of the builder; fails selects one to fail.
type stub struct{ fails string }

var errStub = errors.New("no such number")

func (s stub) Params(op Opcode, _ string, _ int) (Params, error) {
	switch {
	case s.fails == "params":
		return nil, errStub
	case s.fails == "payload":
		return &MoEParams{}, nil
	case op == OpNorm:
		return &NormParams{Dim: 8}, nil
	case op == OpAttention:
		return &AttentionParams{}, nil
	}
	return &AddParams{Scale: 1}, nil
}

func (s stub) Cols(Opcode, string, int) (uint32, error) {
	if s.fails == "cols" {
		return 0, errStub
	}
	return 8, nil
}

func (s stub) State(op Opcode, _ string, _ int) (StateKey, bool) {
	return StateKey{Kind: StateKV, Group: 3}, op == OpAttention
}

func (s stub) Weight(id string, _ int) (string, bool) { return id, id != "absent" }

func lowered(t *testing.T, r Resolver, text string) (*ExecutionPlan, error) {
	t.Helper()
	prog, err := ParseProgram(text)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBuilder(ModePrefill, r)
	x := b.Input("in", RegSpec{DType: tensor.F32, Rank: 2, Cols: 8})
	return b.Build(b.Lower(prog, 2, x, RowsTokens))
}

func TestBuilder(t *testing.T) {
	p, err := lowered(t, stub{}, "n = norm(x) weight=w\nm = norm(in) weight=w bias=absent\ny = residual_add(n, m)")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Weights) != 1 || p.Instructions[1].Weights[1] != NoWeight || p.Instructions[1].In[0] != p.Inputs[0] {
		t.Errorf("a weight that is there once, an optional one that is not, an input by name: %+v", p)
	}
	if p.Registers[1].Name != "L2.n" || p.Instructions[0].Layer != 2 {
		t.Errorf("names and layers: %+v", p.Registers)
	}
	// An empty program is its input.
	if p, err = lowered(t, stub{}, ""); err != nil || p.Outputs[0] != p.Inputs[0] {
		t.Errorf("empty program: %+v, %v", p, err)
	}
}

// The builder keeps its first error and reports it in Build.
func TestBuilderErrors(t *testing.T) {
	for _, tc := range []struct {
		fails, text string
		want        error
		why         string
	}{
		{"", "n = norm(z) weight=w", ErrInvalidPlan, `no producer for "z"`},
		{"", "n = norm(x) weight=w\nn = norm(x) weight=w", ErrInvalidPlan, `"n" written twice`},
		{"", "x = norm(x) weight=w", ErrInvalidPlan, `"x" written twice`},
		{"", "a = attention(x) q=q k=k v=v", ErrWeightBinding, `"o" is required and not given`},
		{"", "a = attention(x) q=q k=absent v=v o=o", ErrWeightBinding, `no weight "absent"`},
		{"", "a = attention(x) q=q k=k v=v o=o", ErrInvalidPlan, "state kv.3 is not declared"},
		{"params", "n = norm(x) weight=w", errStub, ""},
		{"payload", "n = norm(x) weight=w", ErrInvalidParamBlockABI, ""},
		{"cols", "n = norm(x) weight=w\nn = norm(z)", errStub, ""},
	} {
		p, err := lowered(t, stub{tc.fails}, tc.text)
		if p != nil || !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.why) {
			t.Errorf("%q: got %v, want %v %q", tc.text, err, tc.want, tc.why)
		}
	}
	b := NewBuilder(ModePrefill, stub{})
	b.State(StateDescriptor{Kind: StateKV})
	b.State(StateDescriptor{Kind: StateKV})
	b.Lower(Program{{Op: 200, Out: "y", In: []string{"x"}}}, 0, 0, RowsTokens)
	if _, err := b.Build(); err == nil || !strings.Contains(err.Error(), "declared twice") {
		t.Errorf("a state declared twice: %v", err)
	}
	b = NewBuilder(ModePrefill, stub{})
	b.Lower(Program{{Op: 200, Out: "y", In: []string{"x"}}}, 0, 0, RowsTokens)
	if _, err := b.Build(); !errors.Is(err, ErrUnsupportedOpcode) {
		t.Errorf("an unknown opcode: %v", err)
	}
	b = NewBuilder(ModePrefill, stub{})
	b.Lower(Program{{Op: OpNorm, Out: "y", In: []string{"x"}, W: map[string]string{"colour": "w"}}}, 0, 0, RowsTokens)
	if _, err := b.Build(); !errors.Is(err, ErrWeightBinding) {
		t.Errorf("an unknown slot: %v", err)
	}
}
