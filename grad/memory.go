package grad

// A Memory is the size of a tape's buffers in bytes: exact sums, not estimates.
type Memory struct {
	Params   int64 // copies of parameters and inputs, constants too
	Borrowed int64 // parameters owned by the caller
	Results  int64 // results of operations
	Saved    int64 // kept by operations for their gradients
	Grads    int64 // gradients currently held
	GradPeak int64 // peak of gradients since Reset
	Reserved int64 // held by the arenas from the system, used or not
}

// Memory returns the current size of the tape's buffers.
func (t *Tape[F]) Memory() Memory {
	var m Memory
	size := int64(t.vals.elem())
	for i := range t.bufs {
		b := &t.bufs[i]
		n := int64(len(b.val)) * size
		switch b.role {
		case roleBorrow:
			m.Borrowed += n
		case roleParam, roleInput, roleConst:
			m.Params += n
		case roleHidden, roleSaved:
			m.Saved += n
		default:
			m.Results += n
		}
	}
	m.Grads, m.GradPeak = int64(t.grads.live)*size, int64(t.grads.peak)*size
	m.Reserved = int64(t.vals.reserved() + t.grads.reserved())
	return m
}
