package decide

import (
	"context"
	"fmt"

	"atenia/internal/memory"

	"atenia/internal/memory/lane"
)

// A BackwardRecordKind is the outcome for one gradient.
type BackwardRecordKind uint8

// The kinds of records.
const (
	Skipped BackwardRecordKind = iota
	routePlanned
	Applied
	Failed
)

var recordKinds = [...]string{"Skipped", "Planned", "Applied", "Failed"}

func (k BackwardRecordKind) String() string {
	if int(k) < len(recordKinds) {
		return recordKinds[k]
	}
	return fmt.Sprintf("RecordKind(%d)", uint8(k))
}

// MarshalText writes the name of the kind.
func (k BackwardRecordKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the name of a kind.
func (k *BackwardRecordKind) UnmarshalText(b []byte) error {
	for i, n := range recordKinds {
		if n == string(b) {
			*k = BackwardRecordKind(i)
			return nil
		}
	}
	return fmt.Errorf("no kind of record %q; there are %v", b, recordKinds)
}

// A BackwardRecord is one step of moving a gradient to its target. Planned and Applied
// have From and To, Skipped and Failed a Reason.
type BackwardRecord struct {
	Kind   BackwardRecordKind
	ID     string
	From   memory.Tier
	To     memory.Tier
	Reason string
}

// A BackwardTrace records how the backward pass of a node was placed.
type BackwardTrace struct {
	Node      uint64           `json:"node_id"`
	Forward   Target           `json:"forward_target"`
	Requested Target           `json:"requested_backward_target"`
	Final     Target           `json:"final_backward_target"`
	Reason    string           `json:"reason"`
	Moves     []BackwardRecord `json:"moves"`
}

// execute brings the gradients of a node to its target and submits it.
func (n *BackwardNode) execute(ctx context.Context, t *lane.Timeline, g gradientMover, gpu bool) (BackwardTrace, error) {
	tr := n.trace(ctx, g, gpu)
	if err := ctx.Err(); err != nil {
		return tr, err
	}
	t.Submit(n.task(tr.Final))
	fallback := 0
	if tr.Final != tr.Requested {
		fallback = 1
	}
	t.Linef("AUTOGRAD node=%d target=%s moves=%d fallback=%d", n.ID, tr.Final, len(tr.Moves), fallback)
	return tr, nil
}

// A gradientMover knows where gradients are and moves them: a manager, or the
// record of what one did.
type gradientMover interface {
	Tier(id string) (memory.Tier, bool)
	bring(ctx context.Context, id string, to memory.Tier) error
}

// managed moves the gradients of a manager.
type managed struct{ *memory.Manager }

func (m managed) bring(ctx context.Context, id string, to memory.Tier) error {
	return move(ctx, m.Manager, id, to)
}

// trace moves the gradients of a node to its target, or degrades the node to the
// processor.
func (n *BackwardNode) trace(ctx context.Context, m gradientMover, gpu bool) BackwardTrace {
	requested := n.Target(gpu)
	tr := BackwardTrace{Node: n.ID, Forward: n.Forward, Requested: requested, Final: requested, Reason: n.Reason, Moves: []BackwardRecord{}}
	if tr.moveAll(ctx, m, n.gradients()) || requested == OnCPU {
		return tr
	}
	tr.Final = OnCPU
	if tr.Reason != "" {
		tr.Reason += "; "
	}
	tr.Reason += "GPU fallback due to move failure"
	tr.moveAll(ctx, m, n.gradients())
	return tr
}

// moveAll moves the gradients to the memory of the final target and records each
// step. It reports whether all moves succeeded.
func (tr *BackwardTrace) moveAll(ctx context.Context, m gradientMover, grads []Gradient) bool {
	to, all := memoryOf(tr.Final), true
	for _, g := range grads {
		r := BackwardRecord{Kind: Skipped, ID: g.ID}
		at, ok := m.Tier(g.ID)
		switch {
		case !ok:
			r.Reason = "tensor not registered in memory manager"
		case at == to:
			r.Reason = "already in target tier"
		default:
			r = BackwardRecord{Kind: routePlanned, ID: g.ID, From: at, To: to}
		}
		tr.Moves = append(tr.Moves, r)
		if r.Kind == Skipped {
			continue
		}
		if err := m.bring(ctx, g.ID, to); err != nil {
			r, all = BackwardRecord{Kind: Failed, ID: g.ID, Reason: "error: " + err.Error()}, false
		} else {
			r.Kind = Applied
		}
		tr.Moves = append(tr.Moves, r)
	}
	return all
}

// Failures lists the gradients that are not where the node wants them, each with its reason.
func (tr *BackwardTrace) Failures() (out []string) {
	for _, r := range tr.Moves {
		if r.Kind == Failed {
			out = append(out, r.String())
		}
	}
	return out
}

// String returns the record in one line, such as "Applied layers.3: Ssd to Ram".
func (r BackwardRecord) String() string {
	if r.Reason != "" {
		return fmt.Sprintf("%v %s: %s", r.Kind, r.ID, r.Reason)
	}
	return fmt.Sprintf("%v %s: %v to %v", r.Kind, r.ID, r.From, r.To)
}
