package memory_test

import (
	"slices"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/policy/decide"
)

func init() { goldenTopics["autograd"] = runAutograd }

func runAutograd(t *testing.T, c *goldenCase) {
	var in struct {
		Memory goldenMemory
		Nodes  []decide.BackwardNode
		GPU    bool `json:"gpu_available"`
	}
	var want struct {
		Timeline []string
		Trace    []wantBackward
		Tensors  []wantTensor
		Ledger   wantLedger
	}
	c.decode(t, &in, &want)
	m := in.Memory.build(t)
	timeline, lines := goldenTimeline(true)
	var traces []decide.BackwardTrace
	var err error
	if c.Fn == "execute_backward" {
		err = decide.ExecuteBackward(t.Context(), timeline, m.Manager, in.Nodes, in.GPU)
	} else {
		traces, err = (&decide.Recorder{}).ExecuteBackward(t.Context(), timeline, m.Manager, in.Nodes, in.GPU)
	}
	if err != nil || len(traces) != len(want.Trace) {
		t.Fatalf("%d traces, %v, want %d", len(traces), err, len(want.Trace))
	}
	for i := range traces {
		want.Trace[i].check(t, &traces[i])
	}
	checkLines(t, "timeline", *lines, want.Timeline)
	m.checkTensors(t, "at the end", want.Tensors)
	m.checkLedger(t, "at the end", want.Ledger, false)
}

// A wantBackward is the trace of a node as cases write it.
type wantBackward struct {
	Node      uint64        `json:"node_id"`
	Forward   decide.Target `json:"forward_target"`
	Requested decide.Target `json:"requested_backward_target"`
	Final     decide.Target `json:"final_backward_target"`
	Reason    string
	Moves     []struct {
		Record   decide.BackwardRecordKind
		ID       string
		From, To *memory.Tier
		Reason   *string
	}
}

func (w *wantBackward) check(t *testing.T, tr *decide.BackwardTrace) {
	t.Helper()
	got := decide.BackwardTrace{Node: w.Node, Forward: w.Forward, Requested: w.Requested, Final: w.Final, Reason: w.Reason}
	if got.Node != tr.Node || got.Forward != tr.Forward || got.Requested != tr.Requested || got.Final != tr.Final || got.Reason != tr.Reason {
		t.Errorf("got %+v, want %+v", tr, w)
	}
	if len(tr.Moves) != len(w.Moves) {
		t.Fatalf("node %d: moves %+v, want %+v", w.Node, tr.Moves, w.Moves)
	}
	for i, r := range tr.Moves {
		wr := w.Moves[i]
		if r.Kind != wr.Record || r.ID != wr.ID || wr.From != nil && (r.From != *wr.From || r.To != *wr.To) {
			t.Errorf("node %d move %d: got %+v, want %+v", w.Node, i, r, wr)
		}
		if slices.Contains([]decide.BackwardRecordKind{decide.Skipped, decide.Failed}, r.Kind) {
			checkText(t, "reason of a record", r.Reason, wr.Reason)
		}
	}
}
