package grad

// A Memory is how many bytes a tape's buffers take: exact sums of their sizes.
type Memory struct {
	Params   int64 // copies of parameters and inputs, constants too
	Borrowed int64 // parameters that are the caller's
	Results  int64 // what operations computed
	Saved    int64 // what operations keep for their gradients
	Grads    int64 // gradients held now
	GradPeak int64 // the most that gradients took at once since Reset
	Reserved int64 // what the arenas hold from the system, used or not
}

// Memory reports what the tape takes now.
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
