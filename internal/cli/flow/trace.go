package flow

import (
	"io"
	"slices"
	"time"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/flow/view"
	"atenia/internal/store/durable"
)

// traced calls do while the trace is open, if there is one. Nodes are then
// wrapped so that they record each call.
func (r *runner) traced(o *flow.Options, do func() error) error {
	if r.trace == "" {
		return do()
	}
	return durable.WriteFile(r.trace, func(w io.Writer) error {
		t := &tracer{to: view.NewTrace(w), start: time.Now()}
		o.Threads = 1 // so that calls have an order
		o.Catalog = t.wrap(o.Catalog)
		if err := do(); err != nil {
			return err
		}
		return t.to.Close()
	})
}

// A tracer draws the calls of nodes.
type tracer struct {
	to    *view.Trace
	start time.Time
}

// wrap returns a table whose nodes are timed.
func (t *tracer) wrap(all node.Table) node.Table {
	out := slices.Clone(all)
	for i := range out {
		new32, new64 := out[i].New32, out[i].New64
		if new32 != nil {
			out[i].New32 = func(c node.Config) (node.Instance[float32], error) { return wrapped(t, c, new32) }
		}
		if new64 != nil {
			out[i].New64 = func(c node.Config) (node.Instance[float64], error) { return wrapped(t, c, new64) }
		}
	}
	return out
}

func wrapped[F node.Float](t *tracer, c node.Config, make func(node.Config) (node.Instance[F], error)) (node.Instance[F], error) {
	inst, err := make(c)
	if err != nil {
		return nil, err
	}
	return &timed[F]{inst, t, c.Node.Name}, nil
}

// A timed node records each of its calls.
type timed[F node.Float] struct {
	node.Instance[F]
	t    *tracer
	name string
}

// Forward implements [node.Instance].
func (n *timed[F]) Forward(c *node.Call[F]) graph.Code {
	start := time.Since(n.t.start)
	code := n.Instance.Forward(c)
	n.t.to.Call(view.Call{Node: n.name, Start: start, Took: time.Since(n.t.start) - start, Tokens: c.Tokens})
	return code
}
