package exec

import (
	"fmt"
	"strings"

	"atenia/internal/plan"
	"atenia/internal/plan/pass"
)

// graphBatch is the largest batch of the backend that records: as devices do, it has a
// bound, and a plan for more goes to the next backend or is refused.
const graphBatch = 512

// onGraph is the backend that records the instructions of a step and evaluates them when the
// step ends, or when a stage's values leave it, as backends do that hand whole graphs to a
// device. What it evaluates is the processor's kernels: results are the same bits.
var onGraph pass.Backend = graphBackend{}

type graphBackend struct{}

func (graphBackend) Name() string { return "graph" }

// Capability is the processor's, recorded and bounded.
func (graphBackend) Capability(op plan.Opcode) (pass.AdapterCapability, bool) {
	c, ok := onCPU.Capability(op)
	c.Graph, c.MaxBatch = true, graphBatch
	return c, ok
}

// Backends returns the backends of a list of names, in order of preference: "graph,cpu"
// records what the first can take. "" is the processor.
func Backends(list string) ([]pass.Backend, error) {
	if list == "" {
		return []pass.Backend{onCPU}, nil
	}
	var out []pass.Backend
	for name := range strings.SplitSeq(list, ",") {
		switch {
		case strings.EqualFold(name, onCPU.Name()):
			out = append(out, onCPU)
		case strings.EqualFold(name, onGraph.Name()):
			out = append(out, onGraph)
		default:
			return nil, fmt.Errorf("there is no backend %q, want %s, %s, or both in order of preference", name, onCPU.Name(), onGraph.Name())
		}
	}
	return out, nil
}

// route chooses a backend for each plan of a step by the largest batch that it gets, and
// completes the boundaries between them: what leaves a stage that records, or arrives in
// one, is waited for.
func (x *Executor) route(plans *plan.ModelPlans) error {
	backends, err := Backends(x.cfg.Backend)
	if err != nil {
		return err
	}
	for _, c := range []*plan.CompiledPlan{plans.Scatter, plans.Prefill, plans.Decode, plans.Early} {
		if c == nil { // encoders do not decode, few models read images
			continue
		}
		batch := x.cfg.MaxTokens
		if c == plans.Decode || c == plans.Early {
			batch = x.cfg.MaxLogits
		}
		r, err := pass.Route(c, batch, backends...)
		if err != nil {
			return err
		}
		if r.Records() {
			x.recorded = append(x.recorded, c.Plan.Mode)
		}
	}
	m := pass.Synchronised(plans, x.recorded...)
	x.handoffs = m.Handoffs
	return pass.CheckHandoffs(m, x.recorded...)
}

// stage runs a program of a step. One that is recorded runs with those recorded before it,
// once: at the end of the step, or where the next program waits for its values.
func (x *Executor) stage(p *program, s *Step, last bool) error {
	if !p.recorded {
		return execute(p.bound, s)
	}
	x.graph = append(x.graph, p.bound...)
	if !last && !p.sync {
		return nil
	}
	graph := x.graph
	x.graph = graph[:0]
	if s.Counters != nil {
		s.Counters.evaluations.Add(1)
	}
	return execute(graph, s)
}
