package observe

import (
	"context"

	"atenia/internal/machine/hw"
	"atenia/internal/policy/learn"
)

// A meter measures the context in which something is learned.
type meter struct {
	sampler *hw.Sampler
	device  bool
	vram    float32
}

func newMeter(ctx context.Context, device func(context.Context) (bool, float32)) *meter {
	m := &meter{sampler: hw.NewSampler()}
	if device != nil {
		m.device, m.vram = device(ctx)
	}
	return m
}

// context measures the current pressures. Unknown ones count as none.
func (m *meter) context() learn.Context {
	return learn.NewContext(m.device, m.vram, m.sampler.Sample().Pressure)
}

func (m *meter) close() { m.sampler.Close() }
