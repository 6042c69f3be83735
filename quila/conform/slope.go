package conform

import (
	"atenia/quila/internal/network"
	"atenia/quila/internal/school"
	"math"
	"slices"
	"strings"
)

// brierWeight is the share of Brier's score in the loss.
const brierWeight = .01

// slopes compares the gradient of every weight that is trained with differences
// of the loss, in float64: moved along its own gradient, a tensor changes the
// loss by the gradient's norm. Confidences are constants to some of their readers,
// so their calibration is held to the sign. A wrong sign in one room of the network leaves
// most losses of short trainings as they are; here it shows.
func slopes(t *report) {
	const rows, steps, h = 2, 7, 1e-5
	c := tinyConfig(t)
	c.MHCGrad = "exact" // the other forms do not claim to be slopes
	n, err := network.New[float64](c, 11, nil)
	t.Must(err)
	for i, s := range n.Weights.Specs {
		if strings.HasPrefix(s.Name, "port.") && strings.HasSuffix(s.Name, ".tau") {
			n.Weights.At(i)[0] = .01 // ports of a new network are so near that nothing is aligned
		}
	}
	codes := windows(school.MakeToy(8, 400).Text, rows, steps, 3)
	loss := func() float64 { // as a window differentiates it: with a share of Brier's score
		n.Changed()
		s := n.Open(rows, true)
		nats, err := s.Window(codes, nil)
		t.Must(err)
		return nats + brierWeight*s.Brier()
	}
	params := n.Params()
	for _, p := range params { // many tensors begin at 0, where others have no gradient
		for i := range p.Value {
			p.Value[i] += .02 * math.Sin(float64(3*i+len(p.Name)))
		}
		clear(p.Grad)
	}
	loss()
	var grads [][]float64
	for _, p := range params {
		grads = append(grads, slices.Clone(p.Grad)) // the losses below add to them
	}
	moved, worst := 0, 0.0
	for k, p := range params {
		var norm float64
		for _, g := range grads[k] {
			norm += g * g
		}
		if norm = math.Sqrt(norm); norm < 1e-9 {
			continue // nothing of this window depends on it
		}
		moved++
		step := func(by float64) float64 {
			for i, g := range grads[k] {
				p.Value[i] += by * g / norm
			}
			return loss()
		}
		up := step(h)
		slope := (up - step(-2*h)) / (2 * h)
		step(h)
		off := math.Abs(slope/norm - 1)
		limit := .05
		if p.Name == "s5.calibration" {
			limit = .9 // approximate by design: the sign counts
		} else {
			worst = max(worst, off)
		}
		if !(off < limit) {
			t.Errorf("along its gradient of norm %.3g, %s changes the loss by %.3g", norm, p.Name, slope)
		}
	}
	if 4*moved < 3*len(params) {
		t.Errorf("%d of %d tensors have a gradient", moved, len(params))
	}
	t.Figure("gradients of %d of %d tensors within %.1g of slopes", moved, len(params), worst)
}
