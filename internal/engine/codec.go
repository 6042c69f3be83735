package engine

import (
	"context"
	"runtime"

	"atenia/internal/memory/coded"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
)

// Codecs are the values of [Config.Codec].
var Codecs = coded.Modes

// chooseCodec decides in which form a placement's weights are streamed.
func (p *Plan) chooseCodec(pl *place.Placement) *coded.Choice {
	streamed := map[string]bool{}
	for i := range pl.Tensors {
		streamed[pl.Tensors[i].Name] = pl.Tensors[i].Streamed()
	}
	c := coded.Config{
		Mode: p.Config.Codec, Write: p.Config.Pack == pack.OnDisk, Floats: p.footprint.floats,
		Streamed: func(name string) bool { return streamed[name] }, Model: p.files.Source,
		CoresFree: p.idleCores(pl), ReadBytes: pl.Input().Rates.SSD,
	}
	for _, path := range p.files.Paths {
		c.Paths = append(c.Paths, coded.PathBeside(path))
	}
	return coded.Choose(c)
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
func (p *Plan) openCodec(ctx context.Context, pl *place.Placement) (*coded.File, *coded.Choice, error) {
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
