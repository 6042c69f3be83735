package residence

import (
	"atenia/internal/memory/lane"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/tensor"
	"maps"
	"runtime"
	"slices"
)

// Floats lists the matrices that may be kept in coded form, with the codec that
// suits their type.
func Floats(m *compile.Model, d *file.Description) (out []ring.CodedSource) {
	for _, name := range slices.Sorted(maps.Keys(m.Weights)) {
		w := m.Weights[name]
		at, ok := locate(&w, d)
		if !ok || len(at.View.Shape) < 2 || !codable(at.View.DType) {
			continue
		}
		n, err := at.View.Shape.Bytes(at.View.DType)
		if err != nil {
			continue
		}
		out = append(out, ring.CodedSource{Name: name, File: at.File, Offset: at.Offset, Bytes: int64(n), Codec: ring.CodecOf(at.View.DType)})
	}
	return out
}

// codable reports whether weights of a type may be kept in coded form: floats
// are, quantized ones hardly get smaller.
func codable(d tensor.DType) bool { return d == tensor.BF16 || d == tensor.F16 || d == tensor.F32 }

// coded returns the coded form of a weight that is streamed, if there is one.
func (o *opening) coded(name string, v *tensor.View) (*ring.CodedWeight, bool) {
	if o.c.Coded == nil || !codable(v.DType) {
		return nil, false
	}
	w, ok := o.c.Coded.Weights[name]
	return w, ok && w.Bytes == int64(len(v.Data))
}

// openCoded opens the file of coded weights if units are in it and the ring has
// room for chunks; otherwise they are read as the model's files have them.
func (o *opening) openCoded(c *ring.Config) error {
	any := false
	c.Stages = ring.Stages(o.units, c.Bytes)
	for _, u := range o.units {
		for k := range u {
			if c.Stages == 0 {
				u[k].Coded = nil
			}
			any = any || u[k].Coded != nil
		}
	}
	if !any {
		return nil
	}
	f, err := ring.Open(o.c.Coded.Path)
	if err != nil {
		return err
	}
	o.r.files = append(o.r.files, f)
	c.Codes = []ring.Source{f}
	c.Bytes -= c.Stages
	return nil
}

// Lanes completes the configuration of an executor that is to bring weights: it
// has readers, and movers if they decode.
func Lanes(c *lane.Config, p *place.Placement, coded bool) {
	c.Readers, c.Workers = ring.Readers, true
	piece := ring.Piece
	if coded { // chunks are smaller, and each is a read and a decode
		c.Movers, piece = runtime.GOMAXPROCS(0), ring.Piece/8
	}
	c.Window = ring.Window(int(p.Ring.Bytes()), 2*len(p.Tensors), piece)
}
