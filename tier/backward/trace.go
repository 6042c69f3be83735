package backward

import (
	"context"
	"fmt"

	"atenia/tier"
	"atenia/tier/stream"
	"atenia/tier/timeline"
)

// A RecordKind is the outcome for one gradient.
type RecordKind uint8

// The kinds of records.
const (
	Skipped RecordKind = iota
	Planned
	Applied
	Failed
)

var recordKinds = [...]string{"Skipped", "Planned", "Applied", "Failed"}

func (k RecordKind) String() string {
	if int(k) < len(recordKinds) {
		return recordKinds[k]
	}
	return fmt.Sprintf("RecordKind(%d)", uint8(k))
}

// MarshalText writes the name of the kind.
func (k RecordKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the name of a kind.
func (k *RecordKind) UnmarshalText(b []byte) error {
	for i, n := range recordKinds {
		if n == string(b) {
			*k = RecordKind(i)
			return nil
		}
	}
	return fmt.Errorf("no kind of record %q; there are %v", b, recordKinds)
}

// A Record is one step of moving a gradient to its target. Planned and Applied
// have From and To, Skipped and Failed a Reason.
type Record struct {
	Kind   RecordKind
	ID     string
	From   tier.Tier
	To     tier.Tier
	Reason string
}

// A Trace records how the backward pass of a node was placed.
type Trace struct {
	Node      uint64        `json:"node_id"`
	Forward   stream.Target `json:"forward_target"`
	Requested stream.Target `json:"requested_backward_target"`
	Final     stream.Target `json:"final_backward_target"`
	Reason    string        `json:"reason"`
	Moves     []Record      `json:"moves"`
}

// ExecuteTraced is [Execute] with a record of every step. It tries all gradients
// of a node before it degrades the node to the processor.
func ExecuteTraced(ctx context.Context, t *timeline.Timeline, m *tier.Manager, nodes []Node, gpu bool) ([]Trace, error) {
	traces := make([]Trace, 0, len(nodes))
	for i := range nodes {
		n := &nodes[len(nodes)-1-i]
		tr := n.trace(ctx, m, gpu)
		if err := ctx.Err(); err != nil {
			return traces, err
		}
		t.Submit(n.task(tr.Final))
		fallback := 0
		if tr.Final != tr.Requested {
			fallback = 1
		}
		t.Linef("AUTOGRAD node=%d target=%s moves=%d fallback=%d", n.ID, tr.Final, len(tr.Moves), fallback)
		traces = append(traces, tr)
	}
	return traces, nil
}

// trace moves the gradients of a node to its target, or degrades the node to the
// processor.
func (n *Node) trace(ctx context.Context, m *tier.Manager, gpu bool) Trace {
	requested := n.Target(gpu)
	tr := Trace{Node: n.ID, Forward: n.Forward, Requested: requested, Final: requested, Reason: n.Reason, Moves: []Record{}}
	if tr.moveAll(ctx, m, n.gradients()) || requested == stream.OnCPU {
		return tr
	}
	tr.Final = stream.OnCPU
	if tr.Reason != "" {
		tr.Reason += "; "
	}
	tr.Reason += "GPU fallback due to move failure"
	tr.moveAll(ctx, m, n.gradients())
	return tr
}

// moveAll moves the gradients to the memory of the final target and records each
// step. It reports whether all moves succeeded.
func (tr *Trace) moveAll(ctx context.Context, m *tier.Manager, grads []Gradient) bool {
	to, all := memory(tr.Final), true
	for _, g := range grads {
		r := Record{Kind: Skipped, ID: g.ID}
		at, ok := m.Tier(g.ID)
		switch {
		case !ok:
			r.Reason = "tensor not registered in memory manager"
		case at == to:
			r.Reason = "already in target tier"
		default:
			r = Record{Kind: Planned, ID: g.ID, From: at, To: to}
		}
		tr.Moves = append(tr.Moves, r)
		if r.Kind == Skipped {
			continue
		}
		if err := move(ctx, m, g.ID, to); err != nil {
			r, all = Record{Kind: Failed, ID: g.ID, Reason: "error: " + err.Error()}, false
		} else {
			r.Kind = Applied
		}
		tr.Moves = append(tr.Moves, r)
	}
	return all
}
