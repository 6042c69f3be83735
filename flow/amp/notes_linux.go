//go:build (amd64 || arm64) && !static

package amp

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// Listen reports whether the node takes events.
func (n *remoteInstance[F]) Listen() bool { return n.piece.events != 0 }

// sendEvents writes the events of a call into the region.
func (n *remoteInstance[F]) sendEvents(l *lane, e *node.Events) {
	if n.piece.events != 0 {
		all := e.All()
		n.header(l).Events = uint32(len(all))
		copy(values[node.Event](&l.r, n.piece.events, maxRemoteEvents), all)
	}
}

// takeEvents gives the call the events that the host sent.
func (w *worker[F]) takeEvents() graph.Code {
	if w.p.events == 0 {
		return graph.Success
	}
	if w.back.Events == nil {
		w.back.Events = &node.Events{}
		w.back.Events.Reserve(maxRemoteEvents)
	}
	w.back.Events.Clear()
	if w.h.Events > maxRemoteEvents {
		return graph.NoMemory
	}
	for _, e := range values[node.Event](&w.s.r, w.p.events, int(w.h.Events)) {
		w.back.Events.Add(e)
	}
	return graph.Success
}
