package amp

import (
	"fmt"
	"sync/atomic"

	"atenia/flow/amp/internal/abi"
)

// An EventKind classes events.
type EventKind int

// The violations that instances detect.
const (
	NoV2          EventKind = iota // the plan says supports_v2, but the library has no amp_run_node_v2: v1 is used
	Demoted                        // amp_run_node_v2 rejects the forward mode: v1 is used from then on
	Environment                    // the floating-point environment was changed and not restored; the host restores it
	BadOutput                      // frames, shape or pointer of an output were changed
	BadCode                        // a result that no node may return
	UnderDeclared                  // the measured delay is larger than the declared one
	Message                        // the node logged something
	Crash                          // a separate process ended
	Restarted                      // another was started in its place
	kinds
)

var kindTexts = [kinds]string{
	NoV2:          "declared v2, symbol missing: v1 is used",
	Demoted:       "v2 does not know the forward mode: v1 is used",
	Environment:   "changes the floating-point environment and does not set it back",
	BadOutput:     "changed the frames, the shape or the pointer of an output",
	BadCode:       "returns a result that no node may return",
	UnderDeclared: "under-declared delay",
	Message:       "message",
	Crash:         "crash",
	Restarted:     "restarted",
}

// String describes the kind.
func (k EventKind) String() string { return kindTexts[k] }

// An Event is a violation or a message of a node. A violation is reported once,
// however often it occurs.
type Event struct {
	Node  string // "" of a message, since libraries log without naming a node, and of a process
	Kind  EventKind
	Level int    // of a message, as the node gave it
	Text  string // of a message; what happened to a process
}

// String describes the event in one line.
func (e Event) String() string {
	switch e.Kind {
	case Crash, Restarted:
		return e.Text
	case Message:
		return fmt.Sprintf("message of level %d: %s", e.Level, e.Text)
	}
	return e.Node + ": " + e.Kind.String()
}

// counts holds how often an instance detected each kind; told says which
// kinds have been reported. Counting stores no pointer and takes no lock.
type counts struct {
	n    [kinds]atomic.Uint32
	told [kinds]bool
}

func (c *counts) add(k EventKind) { c.n[k].Add(1) }

// events returns the kinds that were not yet reported.
func (c *core) events() (list []Event) {
	for k := range kinds {
		if !c.counts.told[k] && c.counts.n[k].Load() > 0 {
			c.counts.told[k] = true
			list = append(list, Event{Node: c.name, Kind: k})
		}
	}
	return list
}

// Events returns what happened since the last call: each kind of violation once
// per instance, and the messages of the nodes. Messages are lost if more than
// 256 arrive between calls.
func (l *Library) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.left
	l.left = nil
	for _, c := range l.instances {
		list = append(list, c.events()...)
	}
	return append(list, messages(l.callbacks.Drain())...)
}

// messages makes events of a log.
func messages(all []abi.Message, lost int) (list []Event) {
	for _, m := range all {
		list = append(list, Event{Kind: Message, Level: m.Level, Text: m.Text})
	}
	if lost > 0 {
		list = append(list, Event{Kind: Message, Text: fmt.Sprintf("%d messages were lost", lost)})
	}
	return list
}
