package amp

import (
	"unsafe"

	"atenia/flow/amp/internal/abi"
	"atenia/flow/node"
)

// extend gives a node that takes events the extension for them. Others, such as those of libraries of ABI version 1, or
// of 2.0, see the descriptor that they know.
func (c *core) extend() {
	if c.caps&abi.CapEvents == 0 {
		return
	}
	e := abi.Make[abi.Events](c.mem, 1)
	c.notes = &e[0]
	*c.notes = abi.Events{StructSize: uint32(unsafe.Sizeof(e[0])), Version: 1, EventSize: uint32(unsafe.Sizeof(node.Event{}))}
	c.desc.Reserved[0] = abi.Address(e)
}

// show sets the events of a call, which [node.Event] has in C's layout; hide takes them away after it. The caller keeps
// them alive.
func (c *core) show(e *node.Events) {
	if c.notes != nil {
		all := e.All()
		c.notes.Count, c.notes.Events = uint32(len(all)), abi.Address(all)
	}
}

func (c *core) hide() {
	if c.notes != nil {
		c.notes.Count, c.notes.Events = 0, 0
	}
}

// Listen reports whether the node takes events.
func (c *core) Listen() bool { return c.notes != nil }

// maxRemoteEvents is the most events of one call of an isolated node; a call with more fails.
const maxRemoteEvents = 4096

// eventBytes returns the room that a type's events take in the memory shared with a child.
func eventBytes(caps uint32) int {
	if caps&abi.CapEvents == 0 {
		return 0
	}
	return maxRemoteEvents * int(unsafe.Sizeof(node.Event{}))
}
