package live

import (
	"fmt"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A resampler changes the rate of interleaved frames by a ratio that may follow a clock. It is a session of an
// AsyncResample, in float64, because a ratio in float32 would itself be a clock that drifts.
type resampler struct {
	session *flow.Session[float64]
	step    func() graph.Code
	in      node.Tensor[float64] // [1, channels, block]
	trim    node.Tensor[float64] // [1, 1, block]: by what the ratio is multiplied
	out     []float32            // interleaved
	rows    int
	ratio   float64
	hidden  float64 // frames of the new rate that were taken, and not given yet
}

// resampleBlock is the most frames that a resampler's session takes at a time. It gives whole blocks, so that a short
// one holds back little.
const resampleBlock = 16

// newResampler returns a resampler that takes block frames at a time.
func newResampler(channels, block int, ratio float64) (*resampler, error) {
	plan, err := graph.Parse(fmt.Appendf(nil, `{"nodes": [
		{"name": "in", "type": "Input", "params": {"channels": %d}}, {"name": "trim", "type": "Input"},
		{"name": "change", "type": "AsyncResample", "params": {"ratio": %.17g, "most": %d}}, {"name": "out", "type": "Probe"}], "edges": [
		{"source": "in", "target": "change"}, {"source": "trim", "target": "change.ratio", "mode": "mul"}, {"source": "change", "target": "out"}]}`,
		channels, ratio, int(ratio*(1+2*mostTrim))+1))
	if err != nil {
		return nil, err
	}
	r := &resampler{rows: channels, ratio: ratio}
	part := min(block, resampleBlock)
	for block%part != 0 {
		part--
	}
	if r.session, err = flow.New[float64](plan, flow.Options{BlockFrames: part}); err != nil {
		return nil, err
	}
	r.step = r.session.Step()
	if r.in, err = r.session.Input("in"); err != nil {
		return nil, err
	}
	if r.trim, err = r.session.Input("trim"); err != nil {
		return nil, err
	}
	r.out = make([]float32, (int(ratio*(1+2*mostTrim))+1)*(block+2)*channels)
	return r, nil
}

// mostTrim bounds what the ratio of a resampler is corrected by: 0.5 %, ten times what two quartz clocks differ by.
const mostTrim = 0.005

// run resamples one block, and returns the frames that it gives. Move's rules hold.
func (r *resampler) run(x []float32, trim float64) []float32 {
	for i := range r.trim.Data {
		r.trim.Data[i] = 1 + trim
	}
	part, n := r.in.N*r.rows, 0
	for ; len(x) >= part; x = x[part:] {
		for c := range r.rows {
			row := r.in.Row(c)
			for i := range row {
				row[i] = float64(x[i*r.rows+c])
			}
		}
		if r.step() != graph.Success {
			break
		}
		t, _ := r.session.Probe("out")
		for c := range r.rows {
			for i, v := range t.Row(c) {
				r.out[n+i*r.rows+c] = float32(v)
			}
		}
		n += t.N * r.rows
		r.hidden += float64(r.in.N)*r.ratio*(1+trim) - float64(t.N)
	}
	return r.out[:n]
}

func (r *resampler) close() { r.session.Close() }

// A follower keeps what an output holds near a target, by the ratio of the resampler before it: a proportional-integral
// loop of 0.3 rad/s, damped by 0.7, which hears no jitter of single blocks.
type follower struct {
	target, mean, sum, trim float64
	seen                    bool
}

// update takes what the output holds after a block of dt seconds; queued and target are seconds.
func (f *follower) update(queued, dt float64) {
	const omega, damping, smooth = 0.3, 0.7, 0.1
	if !f.seen {
		f.seen, f.mean = true, queued
	}
	f.mean += (queued - f.mean) * min(dt/smooth, 1)
	e := f.target - f.mean
	p := 2 * damping * omega * e
	if s := f.sum + omega*omega*e*dt; p+s < mostTrim && p+s > -mostTrim {
		f.sum = s
	}
	f.trim = max(-mostTrim, min(mostTrim, p+f.sum))
}
