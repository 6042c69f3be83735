package engine

import (
	"context"
	"runtime"

	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
)

// Codecs are the values of [Config.Codec].
var Codecs = ring.Codecs

// chooseCodec decides in which form a placement's weights are streamed.
func (p *Plan) chooseCodec(pl *place.Placement) *ring.CodeChoice {
	streamed := map[string]bool{}
	for i := range pl.Tensors {
		streamed[pl.Tensors[i].Name] = pl.Tensors[i].Streamed()
	}
	c := ring.CodeConfig{
		Mode: p.Config.Codec, Write: p.Config.Pack == pack.OnDisk, Floats: p.footprint.floats,
		Streamed: func(name string) bool { return streamed[name] }, Model: p.files.Source,
		CoresFree: p.idleCores(pl), ReadBytes: pl.Input().Rates.SSD,
	}
	for _, path := range p.files.Paths {
		c.Paths = append(c.Paths, ring.PathBeside(path))
	}
	return ring.ChooseCode(c)
}

// idleCores are the cores that a pass leaves idle while it waits for the disk.
func (p *Plan) idleCores(pl *place.Placement) float64 {
	busy, d := 0.0, pl.Decode
	if d.Seconds > 0 {
		busy = min(1, max(d.Compute, d.RAM)/d.Seconds)
	}
	return max(0, float64(runtime.GOMAXPROCS(0))-float64(max(1, p.Config.Threads))*busy)
}

// openCodec decides, and opens the coded file that is used. One that cannot be
// used or written is a warning, unless the configuration is strict.
func (p *Plan) openCodec(ctx context.Context, pl *place.Placement) (*ring.CodedFile, *ring.CodeChoice, error) {
	c := p.chooseCodec(pl)
	f, err := c.Open(ctx)
	if err == nil && c.Fault != nil && f == nil {
		if p.Config.Strict {
			return nil, nil, strictError("codec", c.Fault.Error())
		}
		p.Config.Logger.Warn("coded weights on disk", "err", c.Fault)
	}
	p.Config.Logger.Info("codec of streamed weights", "decision", c.String())
	return f, c, err
}
