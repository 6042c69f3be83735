package adjoint

import (
	"fmt"
	"strings"

	"atenia/flow/graph"
	"atenia/flow/node"
)

// A Report says how gradients were found and what that took.
type Report struct {
	Blocks         int // of the stream, the last ones after its end included
	Firings        int // replayed
	Every          int // blocks between snapshots, 1 when every call was kept
	Slots          int // snapshots at one time, 0 without that limit
	Forced         []string
	Recomputed     int   // blocks run again
	KeptBytes      int64 // at most, of calls
	SnapshotBytes  int64 // of snapshots
	InputBytes     int64 // of inputs, kept to run blocks again
	EdgeBytes      int64 // at most, of gradients between nodes
	TruncateBlocks int   // 0: the gradient is that of the whole stream
}

// PeakBytes is the sum of all that was held at most.
func (r Report) PeakBytes() int64 {
	return r.KeptBytes + r.SnapshotBytes + r.InputBytes + r.EdgeBytes
}

// String is a few lines of text.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d blocks, %d firings replayed\n", r.Blocks, r.Firings)
	switch {
	case len(r.Forced) > 0:
		fmt.Fprintf(&b, "every call kept: these nodes cannot save their state: %s\n", strings.Join(r.Forced, ", "))
	case r.Slots > 0:
		fmt.Fprintf(&b, "at most %d snapshots at a time, %d blocks recomputed\n", r.Slots, r.Recomputed)
	case r.Every > 1:
		fmt.Fprintf(&b, "a snapshot every %d blocks, %d blocks recomputed\n", r.Every, r.Recomputed)
	default:
		fmt.Fprintln(&b, "every call kept")
	}
	fmt.Fprintf(&b, "bytes at most: %d of calls, %d of snapshots, %d of inputs, %d between nodes\n", r.KeptBytes, r.SnapshotBytes, r.InputBytes, r.EdgeBytes)
	if r.TruncateBlocks > 0 {
		fmt.Fprintf(&b, "truncated every %d blocks: this is not the gradient of the whole stream\n", r.TruncateBlocks)
	}
	return b.String()
}

// Unsaved are the nodes whose state cannot be saved.
func Unsaved[F node.Float](l *graph.Linked, inst []node.Instance[F]) (names []string) {
	for v := range l.Nodes {
		n := &l.Nodes[v]
		if _, ok := inst[v].(node.Stateful[F]); !ok && inst[v] != nil && n.Spec.Caps != 0 && n.Spec.Caps&capStateless == 0 {
			names = append(names, n.Name)
		}
	}
	return names
}

// capStateless is the capability of a C node that carries nothing from call to
// call. Other nodes have no capability bits: they can be saved, or carry
// nothing.
const capStateless = 1 << 4
