package ring

// An order is a list of slots from the most to the least recently used, linked
// through the slots.
type order struct{ first, last int32 } // -1 = empty

func (o *order) init() { o.first, o.last = -1, -1 }

// oldest returns the slot that is evicted next, or -1.
func (o *order) oldest() int32 { return o.last }

// push adds a slot as the most recently used, or at the other end.
func (o *order) push(slots []expertSlot, k int32, atEnd bool) {
	s := &slots[k]
	if atEnd {
		s.prev, s.next = o.last, -1
		o.last = k
		if s.prev < 0 {
			o.first = k
		} else {
			slots[s.prev].next = k
		}
		return
	}
	s.prev, s.next = -1, o.first
	o.first = k
	if s.next < 0 {
		o.last = k
	} else {
		slots[s.next].prev = k
	}
}

func (o *order) remove(slots []expertSlot, k int32) {
	s := &slots[k]
	if s.prev < 0 {
		o.first = s.next
	} else {
		slots[s.prev].next = s.next
	}
	if s.next < 0 {
		o.last = s.prev
	} else {
		slots[s.next].prev = s.prev
	}
}
