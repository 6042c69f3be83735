package flow

import (
	"context"
	"fmt"
	"math"
	"time"

	"atenia/flow"
	"atenia/flow/node"
	"atenia/flow/view"
)

// tensor32 is a stream in float32.
type tensor32 = node.Tensor[float32]

// An oscRow is the oscillator's part of bench.
type oscRow struct {
	Seconds  float64 `json:"audio_seconds"`
	Forward  float64 `json:"forward_frames_per_second"`
	Metered  float64 `json:"forward_frames_per_second_with_metrics"`
	Backward float64 `json:"backward_frames_per_second"`
	Overhead float64 `json:"metrics_overhead"` // share of the time without
	Joules   float64 `json:"joules"`           // forward
	Reverse  float64 `json:"joules_backward"`
	Nanos    float64 `json:"ns_per_node"` // forward, a block
}

// oscRounds is how often each way is tried, in turns; the best counts.
const oscRounds = 3

// oscillator measures a saw, 8 times oversampled, whose heat is a microjoule a
// frame.
func (b *bencher) oscillator(ctx context.Context, r *benched) error {
	const text = `{"nodes":[{"name":"saw","type":"Oscillator","oversample_ratio":8,"supports_v2":true,"params":{"kind":"saw","frequency_hz":440,"thermo.heat":1e-6}},{"name":"out","type":"Probe"}],
		"edges":[{"source":"saw","target":"out"}]}`
	const frames, rate, parts = 480, 48000, 2
	blocks := max(1, int(b.osc*rate/frames))
	row := &oscRow{Seconds: float64(blocks) * frames / rate}
	plain, metered := math.Inf(1), math.Inf(1)
	set := view.NewMetrics()
	for range oscRounds {
		for _, with := range []bool{false, true} {
			s, err := session(text, frames, flow.Options{})
			if err != nil {
				return err
			}
			start := time.Now()
			for k := range blocks {
				if k%100 == 0 {
					if err := ctx.Err(); err != nil {
						return err
					}
					if with { // a scrape a second of sound
						set.Update(view.Snapshot{Metrics: s.Metrics(), Blocks: s.Blocks()})
					}
				}
				if err := s.Block(); err != nil {
					return err
				}
			}
			took := time.Since(start).Seconds()
			if with {
				metered = min(metered, took)
				row.Joules = s.Metrics().Joules[flow.Forward]
			} else {
				plain = min(plain, took)
			}
			s.Close()
		}
	}
	total := float64(blocks) * frames
	row.Forward, row.Metered, row.Overhead = total/plain, total/metered, metered/plain-1
	row.Nanos = plain / float64(blocks*parts) * 1e9
	var err error
	row.Backward, row.Reverse, err = reverse(text, frames, blocks)
	r.Osc = row
	return err
}

// reverse runs a plan forward and its whole stream backward, and returns frames
// a second of the sweep and its heat.
func reverse(text string, frames, blocks int) (perSecond, joules float64, err error) {
	s, err := session(text, frames, flow.Options{Training: true})
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	rec, err := s.Record(flow.Recording{Every: flow.EverySqrt})
	if err != nil {
		return 0, 0, err
	}
	out, err := s.Run(nil, blocks)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	g, err := rec.Backward(out, flow.Sweep{}) // of half the energy
	if err != nil {
		return 0, 0, err
	}
	took := time.Since(start).Seconds()
	if v := g.Param("saw", "frequency_hz"); v == nil || v.Data[0] == 0 {
		return 0, 0, fmt.Errorf("the sweep found no gradient")
	}
	return float64(out["out"].N) / took, s.Metrics().Joules[flow.Backward], nil
}
