package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"atenia/internal/memory/coded"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/store/blob"
)

// Codecs are the values of [Config.Codec].
var Codecs = []string{"", "auto", "off", "planehuff", "planezstd"}

// A codec is the decision about the form in which weights are streamed.
type codec struct {
	name   string // planes, planehuff or planezstd: "" if weights are read as the file has them
	reason string
	use    bool           // a file of coded weights is or will be used
	write  bool           // it may be written if it is not there
	all    []coded.Source // what a file holds
	path   string         // of the file that is used
	fault  error          // of a file that could not be
}

// String says which codec it is, and why.
func (c codec) String() string {
	s := "off: "
	if c.use {
		s = c.name + ": "
	}
	s += c.reason
	switch {
	case c.fault != nil:
		s += "; " + c.fault.Error()
	case c.path != "":
		s += " (" + c.path + ")"
	}
	return s
}

// chooseCodec decides in which form a placement's weights are streamed. It reads
// a sample of them, and the index of a file, if there is one.
func (p *Plan) chooseCodec(pl *place.Placement) codec {
	asked := p.Config.Codec
	if asked == "off" {
		return codec{reason: "as asked"}
	}
	c := codec{name: "planes", all: p.footprint.floats}
	switch asked {
	case "planehuff":
		c.name = asked
		c.all = slices.DeleteFunc(slices.Clone(c.all), func(s coded.Source) bool { return s.Codec != blob.PlaneHuff })
	case "planezstd":
		c.name, c.all = asked, slices.Clone(c.all)
		for i := range c.all {
			c.all[i].Codec = blob.PlaneZstd
		}
	}
	largest := c.largest(pl)
	switch {
	case largest == nil:
		c.reason = "no weights are streamed that it is for; quantised ones hardly get smaller"
		return c
	case len(p.files.Paths) == 0:
		c.reason = "the weights are not those of a file"
		return c
	}
	c.find(p)
	if c.name == asked {
		c.use, c.write, c.reason = true, true, "as asked"
		return c
	}
	choice, err := chooseFor(largest, p.codecRates(pl))
	switch {
	case err != nil:
		c.fault = err
	case choice.Codec == blob.None:
		c.reason = choice.Reason
	case c.path == "" && p.Config.Pack != pack.OnDisk:
		c.reason = choice.Reason + "; --pack disk would write a file of coded weights"
	default:
		c.use, c.write, c.reason = true, p.Config.Pack == pack.OnDisk, choice.Reason
	}
	return c
}

// largest returns the largest weight that is streamed and may be coded.
func (c *codec) largest(pl *place.Placement) (out *coded.Source) {
	for i := range pl.Tensors {
		t := &pl.Tensors[i]
		at := slices.IndexFunc(c.all, func(s coded.Source) bool { return s.Name == t.Name })
		if t.Streamed() && at >= 0 && (out == nil || c.all[at].Bytes > out.Bytes) {
			out = &c.all[at]
		}
	}
	return out
}

// codecRates are the rates of the disk and of the cores that a pass leaves idle.
func (p *Plan) codecRates(pl *place.Placement) blob.Rates {
	in, d := pl.Input(), pl.Decode
	busy := 0.0
	if d.Seconds > 0 {
		busy = min(1, max(d.Compute, d.RAM)/d.Seconds)
	}
	threads := float64(max(1, p.Config.Threads))
	return blob.Rates{CoresFree: max(0, float64(runtime.GOMAXPROCS(0))-threads*busy), ReadBytes: in.Rates.SSD}
}

// chooseFor lets a sample of a weight and its measured rate of decoding decide.
func chooseFor(s *coded.Source, r blob.Rates) (blob.Choice, error) {
	f, err := os.Open(s.File)
	if err != nil {
		return blob.Choice{}, err
	}
	defer f.Close()
	sample := make([]byte, min(s.Bytes, coded.ChunkBytes))
	if _, err := f.ReadAt(sample, s.Offset+(s.Bytes-int64(len(sample)))/2&^3); err != nil {
		return blob.Choice{}, fmt.Errorf("%s: %w", s.File, err)
	}
	if r.DecodeBytes[s.Codec], err = blob.DecodeRate(s.Codec, sample); err != nil {
		return blob.Choice{}, err
	}
	class := blob.Floats
	if s.Codec == blob.PlaneHuff {
		class = blob.Weights16
	}
	return blob.Choose(sample, class, r)
}

// id is that of a file of coded weights for the model's files as they are.
func (c *codec) id(p *Plan) coded.ID {
	return sha256.Sum256(append(p.files.Source[:], c.name...))
}

// paths are where such a file may be.
func (c *codec) paths(p *Plan) (out []string) {
	for _, path := range p.files.Paths {
		out = append(out, strings.TrimSuffix(path, ".packed")+".coded")
	}
	return out
}

// find finds the file.
func (c *codec) find(p *Plan) *coded.File {
	for _, path := range c.paths(p) {
		f, err := coded.Open(path, c.id(p))
		if err == nil {
			c.path, c.fault = path, nil
			return f
		}
		if !errors.Is(err, fs.ErrNotExist) {
			c.fault = errors.Join(c.fault, err)
		}
	}
	return nil
}

// openCodec decides, and opens the file of coded weights that is used, or writes
// it first. A file that cannot be used or written is a warning, unless the
// configuration is strict.
func (p *Plan) openCodec(ctx context.Context, pl *place.Placement) (f *coded.File, c codec, err error) {
	c = p.chooseCodec(pl)
	if c.use {
		if f = c.find(p); f == nil && c.write {
			f, err = p.writeCodec(ctx, &c)
		}
		c.use = f != nil
	}
	if err == nil && c.fault != nil && f == nil {
		if p.Config.Strict {
			return nil, c, strictError("codec", c.fault.Error())
		}
		p.Config.Logger.Warn("coded weights on disk", "err", c.fault)
	}
	p.Config.Logger.Info("codec of streamed weights", "decision", c.String())
	return f, c, err
}

// writeCodec writes the file where that is possible.
func (p *Plan) writeCodec(ctx context.Context, c *codec) (*coded.File, error) {
	for _, path := range c.paths(p) {
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			pack.RemoveUnfinished(path)
			err = coded.Write(ctx, path, c.id(p), c.all)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			c.fault = errors.Join(c.fault, err)
			continue
		}
		return c.find(p), nil
	}
	return nil, nil
}
