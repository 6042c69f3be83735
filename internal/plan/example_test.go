package plan_test

import (
	"fmt"
	"os"
	"strings"

	"atenia/internal/plan"
	"atenia/internal/plan/pass"
	"atenia/tensor"
)

// perceptron resolves the numbers and names of a model with one layer.
type perceptron struct{}

func (perceptron) Params(op plan.Opcode, tag string, layer int) (plan.Params, error) {
	switch op {
	case plan.OpNorm:
		return &plan.NormParams{Dim: 64, Eps: 1e-5}, nil
	case plan.OpFFN:
		return &plan.FFNParams{Dim: 64, Hidden: 128, Gated: 1}, nil
	}
	return &plan.AddParams{Scale: 1}, nil
}
func (perceptron) Cols(plan.Opcode, string, int) (uint32, error)            { return 64, nil }
func (perceptron) State(plan.Opcode, string, int) (k plan.StateKey, _ bool) { return k, false }
func (perceptron) Weight(id string, layer int) (string, bool) {
	return fmt.Sprintf("blk.%d.%s", layer, id), true
}

// A program becomes a plan; the compiler finds out how long every value lives.
func ExampleBuilder() {
	block, err := plan.ParseProgram(`
n = norm(x) weight=ffn_norm
f = ffn(n) gate=ffn_gate up=ffn_up down=ffn_down
y = residual_add(x, f)`)
	if err != nil {
		fmt.Println(err)
		return
	}
	b := plan.NewBuilder(plan.ModePrefill, perceptron{})
	x := b.Input("x", plan.RegSpec{DType: tensor.F32, Rank: 2, Cols: 64})
	y := b.Lower(block, 0, x, plan.RowsTokens)
	p, err := b.Build(y)
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := pass.Compile(p, pass.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(c)
	// Output:
	// plan mode=prefill instructions=3 registers=4 peak=3 states=0 weights=4
	// input r0:x[tokens,64]
	//    0 L0   norm           r0 -> r1:L0.n[tokens,64] weight=blk.0.ffn_norm {dim=64 eps=1e-05}
	//    1 L0   ffn            r1! -> r2:L0.f[tokens,64] gate=blk.0.ffn_gate up=blk.0.ffn_up down=blk.0.ffn_down {dim=64 hidden=128 gated=1}
	//    2 L0   residual_add   r0!,r2! -> r3:L0.y[tokens,64] {scale=1}
	// output r3
}

// The text form reads back, and shows buffers when given a mapping. The sum
// takes over the buffer of the value it is added to.
func ExamplePrint() {
	const text = `plan mode=decode instructions=1 registers=3 peak=3 states=0 weights=0
input r0:x[slots,64]
input r1:branch[slots,64]
0 L0 residual_add r0!,r1! -> r2:y[slots,64] {scale=0.5}
output r2
`
	c, err := pass.LoadText(strings.NewReader(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := pass.Map(c, plan.Sizing{Slots: 8}, nil)
	if err := plan.Print(os.Stdout, c, plan.PrintOptions{Mapping: &m}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// plan mode=decode instructions=1 registers=3 peak=3 states=0 weights=0
	// buffer b0 bytes=2048 align=64
	// buffer b1 bytes=2048 align=64
	// input r0:x[slots,64]@b0
	// input r1:branch[slots,64]@b1
	//    0 L0   residual_add   r0@b0!,r1@b1! -> r2:y[slots,64]@b0 {scale=0.5}
	// output r2@b0
}

// An error has the position and the cause, and matches a sentinel.
func ExampleParseText() {
	_, err := plan.ParseText(strings.NewReader("plan mode=dreaming"))
	fmt.Println(err)
	// Output: line 1, column 11: invalid plan: unknown mode "dreaming"
}
