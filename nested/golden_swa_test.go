package nested_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"atenia/grad"
	"atenia/nested"
)

func init() { families["swa"] = family{swaName, swaRun} }

type swaCase struct {
	T, D, Heads, Window            int
	Q, K, V, Dout, Out, Dq, Dk, DV nums
}

func swaName(c json.RawMessage) string {
	var h struct{ T, D, Heads, Window int }
	if json.Unmarshal(c, &h) != nil {
		return "unreadable"
	}
	return fmt.Sprintf("t%d-d%d-heads%d-window%d", h.T, h.D, h.Heads, h.Window)
}

func swaRun(t *testing.T, raw json.RawMessage) {
	c := decode[swaCase](t, raw)
	t.Run("float64", func(t *testing.T) { swaCheck[float64](t, &c) })
	t.Run("float32", func(t *testing.T) { swaCheck[float32](t, &c) })
}

func swaCheck[F float32 | float64](t *testing.T, c *swaCase) {
	var reg grad.Registry[F]
	nested.RegisterAttention(&reg)
	tape := grad.New(&reg, grad.CheckImmutable())
	in := func(n nums) grad.Ref { return tape.Input(cast[F](n.V), c.T, c.D) }
	q, k, v := in(c.Q), in(c.K), in(c.V)
	y := nested.AttendOn(tape, c.Heads, c.Window, 0, q, k, v)
	if err := tape.BackwardFrom(y, cast[F](c.Dout.V)); err != nil {
		t.Fatal(err)
	}
	tol := tolerance[F](1e-10, 1e-5)
	near(t, "out", tape.Value(y), c.Out.V, tol)
	for _, g := range []struct {
		name string
		ref  grad.Ref
		want nums
	}{{"dq", q, c.Dq}, {"dk", k, c.Dk}, {"dv", v, c.DV}} {
		got, _ := tape.Grad(g.ref)
		near(t, g.name, got, g.want.V, tol)
	}
}
