//go:build (amd64 || arm64) && !static

package amp

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// Listen reports whether the node takes events.
func (n *remoteInstance[F]) Listen() bool { return n.piece.events != 0 }

// sendEvents writes the events of a call into the region.
func (n *remoteInstance[F]) sendEvents(at int, e *node.Events) uint32 {
	if n.piece.events == 0 {
		return 0
	}
	all := e.All()
	copy(values[node.Event](&n.p.r, at+n.piece.events, maxRemoteEvents), all)
	return uint32(len(all))
}

// takeEvents gives the call the events that the host sent.
func (w *worker[F]) takeEvents(at int, count uint32) graph.Code {
	if w.p.events == 0 {
		return graph.Success
	}
	if w.back.Events == nil {
		w.back.Events = &node.Events{}
		w.back.Events.Reserve(maxRemoteEvents)
	}
	w.back.Events.Clear()
	if count > maxRemoteEvents {
		return graph.NoMemory
	}
	for _, e := range values[node.Event](&w.s.r, at+w.p.events, int(count)) {
		w.back.Events.Add(e)
	}
	return graph.Success
}
