package decide

import (
	"context"
	"errors"
	"fmt"

	"atenia/internal/memory"
	"atenia/internal/memory/lane"
	"atenia/internal/policy/record"
)

// traceInputs are the inputs of a [BackwardTrace]: the node, where its gradients
// were, and how their moves ended. A trace follows from them alone.
type traceInputs struct {
	Node   BackwardNode    `json:"node"`
	GPU    bool            `json:"gpu_available"`
	Found  []foundGradient `json:"found"`  // each once
	Failed []string        `json:"failed"` // of each move that was tried, in order; "" if it succeeded
}

// A foundGradient is a gradient before the moves; a nil tier says that the manager
// did not know it.
type foundGradient struct {
	ID   string       `json:"id"`
	Tier *memory.Tier `json:"tier"`
}

func (in traceInputs) draft(*history) (record.Draft, error) {
	m := &replayedMover{at: map[string]memory.Tier{}, failed: in.Failed}
	for _, f := range in.Found {
		if f.Tier != nil {
			m.at[f.ID] = *f.Tier
		}
	}
	tr := in.Node.trace(context.Background(), m, in.GPU)
	if m.short {
		return record.Draft{}, errors.New("inputs: failed has fewer outcomes than moves were tried")
	}
	return traceDraft(&tr), nil
}

// traceDraft tells a trace: the requested target and the steps of all gradients are
// what was evaluated.
func traceDraft(tr *BackwardTrace) record.Draft {
	d := record.Draft{Rule: "AsRequested", Target: tr.Final.String(), Reason: tr.Reason, Evaluated: []string{fmt.Sprintf("requested %v", tr.Requested)}}
	if tr.Final != tr.Requested {
		d.Rule = "MoveFailure"
	}
	for _, r := range tr.Moves {
		d.Evaluated = append(d.Evaluated, r.String())
	}
	return d
}

// A replayedMover ends the moves as they ended when they were recorded.
type replayedMover struct {
	at     map[string]memory.Tier
	failed []string
	short  bool // there were more moves than outcomes
}

func (m *replayedMover) Tier(id string) (memory.Tier, bool) {
	at, ok := m.at[id]
	return at, ok
}

func (m *replayedMover) bring(_ context.Context, id string, to memory.Tier) error {
	if len(m.failed) == 0 {
		m.short = true
		return nil
	}
	why := m.failed[0]
	if m.failed = m.failed[1:]; why != "" {
		return errors.New(why)
	}
	m.at[id] = to
	return nil
}

// A watchedMover notes what a mover is asked and answers.
type watchedMover struct {
	gradientMover
	in   *traceInputs
	seen map[string]bool
}

func (m *watchedMover) Tier(id string) (memory.Tier, bool) {
	at, ok := m.gradientMover.Tier(id)
	if !m.seen[id] {
		m.seen[id] = true
		f := foundGradient{ID: id}
		if ok {
			f.Tier = &at
		}
		m.in.Found = append(m.in.Found, f)
	}
	return at, ok
}

func (m *watchedMover) bring(ctx context.Context, id string, to memory.Tier) error {
	why, err := "", m.gradientMover.bring(ctx, id, to)
	if err != nil {
		why = err.Error()
	}
	m.in.Failed = append(m.in.Failed, why)
	return err
}

// ExecuteBackward is [ExecuteBackward] with a record of every step. It tries all gradients
// of a node before it degrades the node to the processor. The decision of
// [Recorder.Backward] and the trace of what came of it are recorded for each node.
func (r *Recorder) ExecuteBackward(ctx context.Context, t *lane.Timeline, m *memory.Manager, nodes []BackwardNode, gpu bool) ([]BackwardTrace, error) {
	traces := make([]BackwardTrace, 0, len(nodes))
	for i := range nodes {
		n := &nodes[len(nodes)-1-i]
		r.Backward(n, gpu)
		in := traceInputs{Node: *n, GPU: gpu, Found: []foundGradient{}, Failed: []string{}}
		tr, err := n.execute(ctx, t, &watchedMover{managed{m}, &in, map[string]bool{}}, gpu)
		if err != nil { // the pass was cancelled: its moves are no evidence
			return traces, err
		}
		if r.Journal != nil {
			r.record("autograd", in, traceDraft(&tr))
		}
		traces = append(traces, tr)
	}
	return traces, nil
}
