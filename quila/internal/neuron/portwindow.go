package neuron

import "atenia/grad"

// A Window is the input of all ports over T steps of B sequences. Rows are in the
// order step, sequence, neuron.
type Window[F grad.Float] struct {
	T, B  int
	Phase int // 1 to 6; in 2 the masks are open

	X       grad.Ref // h_final [T·B·N, D]
	Conf    grad.Ref // confidence [T·B·N]
	Utility grad.Ref // moving utility of the neurons [T·B·N]; needed with two Thinkers or more
	Trace   []F      // [T·B·N] or [B·N]: session traces
	PTrace  []F      // [T·B·N] or [B·N]: persistent ones; nil is all zero

	Slots []F // [Slots][B][D]: at the start; Run replaces it by those at the end

	E     []F       // [T·B·D_e]: rows of the codebook of the boundary codes, before RoPE; with wmq_read
	Queue *Queue[F] // entries of steps before; Run adds the window's; with wmq_read
}

// RegisterPort registers the gradients of a window's operations, of the read-out and
// of its losses.
func RegisterPort[F grad.Float](reg *grad.Registry[F]) {
	reg.Register(keyPorts, portsBack[F])
	reg.Register(keyRead, readBack[F])
	reg.Register(keyMerge, mergeBack[F])
	reg.Register(keyLogits, logitsBack[F])
	reg.Register(keyBrier, brierBack[F])
}

const (
	keyPorts  grad.Key = "quila.ports"
	keyRead   grad.Key = "quila.wmq_read"
	keyMerge  grad.Key = "quila.merge"
	keyLogits grad.Key = "quila.logits"
	keyBrier  grad.Key = "quila.brier"
)

// Run records a window: the merged outputs [T·B, D], order step, sequence, and
// the merged confidences [T·B]. refs has the tensors of [Ports.Tensors] by name.
func (p *Ports[F]) Run(t *grad.Tape[F], refs map[string]grad.Ref, w *Window[F]) (m, conf grad.Ref, err error) {
	o, cu, err := p.runPorts(t, refs, w)
	if err != nil {
		return 0, 0, err
	}
	if p.Config.WMQRead {
		if o, err = p.runRead(t, refs, w, o); err != nil {
			return 0, 0, err
		}
	}
	return p.runMerge(t, refs["port.generator.mhc"], o, cu, w.T*w.B)
}
