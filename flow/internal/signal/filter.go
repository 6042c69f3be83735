package signal

import (
	"atenia/flow/graph"
	"atenia/flow/node"
	"atenia/internal/kernel/dsp"
)

// A resamplingFilter changes the rate of rows by up/down: y[j] = Σ h[j·down − i·up] x[i]
// with zeros before the stream. Output j uses every up-th tap, from phase
// (j·down) mod up; the transpose uses every down-th. The zeros between frames
// are never multiplied.
type resamplingFilter[F node.Float] struct {
	up, down, taps int
	forward        [][]F // taps of each phase, in reverse
	transpose      [][]F // taps of each phase of the transpose
	past           []F   // [rows, history]: inputs before the call
	future         []F   // [rows, ahead]: gradients of outputs after the call
	history, ahead int
	work           []F
}

// newResamplingFilter returns a filter of rows rows whose calls take at most
// maxTokens·down frames. Set its taps with SetTaps; rows share them.
func newResamplingFilter[F node.Float](up, down, taps, rows, maxTokens int, training bool) *resamplingFilter[F] {
	f := &resamplingFilter[F]{
		up: up, down: down, taps: taps, history: (taps - 1) / up, ahead: (taps + down - 1) / down,
		forward: phases[F](taps, up), transpose: phases[F](taps, down),
	}
	f.past = make([]F, rows*f.history)
	f.work = make([]F, maxTokens*max(up, down)+max(f.history, f.ahead))
	if training {
		f.future = make([]F, rows*f.ahead)
	}
	return f
}

// phases returns n slices, each with every n-th of the taps.
func phases[F node.Float](taps, n int) [][]F {
	list := make([][]F, n)
	for p := range list {
		list[p] = make([]F, max(0, (taps-p+n-1)/n))
	}
	return list
}

// SetTaps sets the taps, which may be done between calls.
func (f *resamplingFilter[F]) SetTaps(h []F) {
	for k, v := range h {
		phase := f.forward[k%f.up]
		phase[len(phase)-1-k/f.up] = v
		f.transpose[k%f.down][k/f.down] = v
	}
}

// row concatenates the history of a row and the frames of the call.
func (f *resamplingFilter[F]) row(past, x []F) []F {
	w := f.work[:f.history+len(x)]
	copy(w, past)
	copy(w[f.history:], x)
	return w
}

// Forward filters len(y)/up tokens of a row.
func (f *resamplingFilter[F]) Forward(row int, y, x []F) {
	past := f.past[row*f.history : (row+1)*f.history]
	w := f.row(past, x)
	last, phase := f.history, 0
	for j := range y {
		h := f.forward[phase]
		y[j] = dsp.Dot(w[last+1-len(h):last+1], h)
		for phase += f.down; phase >= f.up; phase -= f.up {
			last++
		}
	}
	copy(past, w[len(x):])
}

// Backward maps the gradient of a row's outputs to that of its inputs. Calls
// must come in reverse order.
func (f *resamplingFilter[F]) Backward(row int, dx, dy []F) {
	future := f.future[row*f.ahead : (row+1)*f.ahead]
	w := f.work[:len(dy)+f.ahead]
	copy(w, dy)
	copy(w[len(dy):], future)
	for i := range dx {
		first := (i*f.up + f.down - 1) / f.down
		h := f.transpose[first*f.down-i*f.up]
		dx[i] = dsp.Dot(w[first:first+len(h)], h)
	}
	copy(future, w)
}

// AddTaps adds the gradient of the taps to sum: each output's gradient times
// the inputs it was computed from. Past is the history before the call.
func (f *resamplingFilter[F]) AddTaps(sum []float64, past, x, dy []F) {
	w := f.row(past, x)
	for j := len(dy) - 1; j >= 0; j-- {
		at := j * f.down
		last, d := f.history+at/f.up, float64(dy[j])
		for k := at % f.up; k < f.taps; k += f.up {
			sum[k] += float64(d * float64(w[last]))
			last--
		}
	}
}

// Reset clears the history.
func (f *resamplingFilter[F]) Reset() { clear(f.past) }

// ResetAdjoint clears the gradients of later outputs.
func (f *resamplingFilter[F]) ResetAdjoint() { clear(f.future) }

// StateBytes is the size of the history in a snapshot.
func (f *resamplingFilter[F]) StateBytes() int { return node.FloatBytes[F](len(f.past)) }

// Save writes the history, as [node.Stateful] describes.
func (f *resamplingFilter[F]) Save(dst []byte) int { return node.PutFloats(dst, f.past) }

// Load reads what Save wrote.
func (f *resamplingFilter[F]) Load(src []byte) graph.Code {
	if len(src) != f.StateBytes() {
		return graph.State
	}
	node.GetFloats(f.past, src)
	return graph.Success
}
