package neuron

import "atenia/grad"

// Read records the Thinkers' reads alone, for models that have a reader and no
// ports: of w only T, B, E and Queue count. o is [Thinkers, T·B, D], order step,
// sequence, and so is what it returns: o with what was read added.
func (p *Ports[F]) Read(t *grad.Tape[F], refs map[string]grad.Ref, w *Window[F], o grad.Ref) (grad.Ref, error) {
	c, tb := p.Config, w.T*w.B
	if err := t.Err(); err != nil {
		return 0, err
	}
	if got := len(t.Value(o)); got != c.Thinkers*tb*c.D {
		return 0, &inputError{"outputs", c.Thinkers * tb * c.D, got}
	}
	if len(w.E) != tb*c.DE || w.Queue == nil || !w.Queue.fits(c, w.B) {
		return 0, &inputError{"embeddings of the reader", tb * c.DE, len(w.E)}
	}
	return p.runRead(t, refs, w, o)
}
