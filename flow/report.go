package flow

import (
	"fmt"
	"strings"

	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/spelling"
)

// A SweepReport says how gradients were computed and at what cost.
type SweepReport struct {
	Blocks         int // of the stream, including those that drained it
	Firings        int // replayed
	Every          int // blocks between snapshots, 1 if every call was kept
	Slots          int // bound of snapshots at one time, 0 for none
	Forced         []string
	Recomputed     int   // blocks recomputed
	KeptBytes      int64 // peak, of recorded calls
	SnapshotBytes  int64 // of snapshots
	InputBytes     int64 // of inputs, kept to recompute blocks
	EdgeBytes      int64 // peak, of gradients between nodes
	TruncateBlocks int   // 0: the gradient is that of the whole stream
}

// PeakBytes returns the sum of the peaks.
func (r SweepReport) PeakBytes() int64 {
	return r.KeptBytes + r.SnapshotBytes + r.InputBytes + r.EdgeBytes
}

// String formats the report in a few lines.
func (r SweepReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s replayed\n", spelling.Count(r.Blocks, "block"), spelling.Count(r.Firings, "firing"))
	switch {
	case len(r.Forced) > 0:
		fmt.Fprintf(&b, "every call kept: these nodes cannot save their state: %s\n", strings.Join(r.Forced, ", "))
	case r.Slots > 0:
		fmt.Fprintf(&b, "at most %s at a time, %s recomputed\n", spelling.Count(r.Slots, "snapshot"), spelling.Count(r.Recomputed, "block"))
	case r.Every > 1:
		fmt.Fprintf(&b, "a snapshot every %d blocks, %s recomputed\n", r.Every, spelling.Count(r.Recomputed, "block"))
	default:
		fmt.Fprintln(&b, "every call kept")
	}
	fmt.Fprintf(&b, "bytes at most: %d of calls, %d of snapshots, %d of inputs, %d between nodes\n", r.KeptBytes, r.SnapshotBytes, r.InputBytes, r.EdgeBytes)
	if r.TruncateBlocks > 0 {
		fmt.Fprintf(&b, "truncated every %s: this is not the gradient of the whole stream\n", spelling.Count(r.TruncateBlocks, "block"))
	}
	return b.String()
}

// unsavedNodes returns the names of the nodes whose state cannot be saved.
func unsavedNodes[F node.Float](l *graph.Linked, inst []node.Instance[F]) (names []string) {
	for v := range l.Nodes {
		n := &l.Nodes[v]
		if _, ok := inst[v].(node.Stateful[F]); !ok && inst[v] != nil && n.Spec.Caps != 0 && n.Spec.Caps&capStateless == 0 {
			names = append(names, n.Name)
		}
	}
	return names
}

// capStateless is the capability of a C node that carries no state. Other nodes
// have no capability bits: they can be saved, or have no state.
const capStateless = 1 << 4
