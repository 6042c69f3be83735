package boundary

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"atenia/grad"
	"atenia/quila/internal/weights"
)

// Stride is the side of the square of pixels that one code stands for.
const Stride = 8

// errVQGANShape is matched by errors about pictures and codes of the wrong size.
var errVQGANShape = errors.New("vqgan: bad shape")

// A vqganShapeError says what an operand's size has to be.
type vqganShapeError struct {
	Op        string
	Want, Got int
}

func (e *vqganShapeError) Error() string {
	return fmt.Sprintf("vqgan: %s: want %d, got %d", e.Op, e.Want, e.Got)
}

// Is matches [errVQGANShape].
func (e *vqganShapeError) Is(target error) bool { return target == errVQGANShape }

// A Tensor is a named array of a coder, for files. Value is the coder's own.
type Tensor struct {
	Name  string
	Shape []int
	Value []float32
}

// A layer is a convolution with its weights.
type layer struct {
	name string
	conv conv
	w, b *grad.Param[float32]
	refs [2]grad.Ref // on the current tape
}

// A Coder turns pictures into codes and back. After training it may be used by
// one goroutine at a time.
type Coder struct {
	Name     string // image or audio
	Channels int
	Dim      int // of a code's vector
	Book     *Book
	layers   []*layer
	engine   *engine[float32]
	tape     *grad.Tape[float32] // of inference
}

// Widths are the channels of the layers of a coder from the picture inwards.
type Widths [3]int

// The toy shape of the specification.
var toyWidths = Widths{32, 64, 64}

// newCoder makes a coder with random weights and a codebook of so many random
// rows, which is not frozen.
func newCoder(name string, channels, dim, codes int, w Widths, seed uint64) (*Coder, error) {
	if channels < 1 || channels > 16 || dim < 1 || dim > 4096 {
		return nil, &vqganShapeError{"channels and dimensions, at least", 1, min(channels, dim)}
	}
	for _, n := range w {
		if n < 1 || n > 4096 {
			return nil, &vqganShapeError{"width of a layer, at least", 1, n}
		}
	}
	c := &Coder{Name: name, Channels: channels, Dim: dim, engine: newEngine[float32]()}
	s := weights.Stream{Seed: seed, Neuron: 2 << 16, Site: weights.InitSite}
	for i, b := range name {
		s.Neuron += uint32(b) << (i % 3 * 5) // coders of one seed differ
	}
	add := func(name string, k conv) {
		l := &layer{name: name, conv: k}
		n := k.out * k.columns()
		l.w = &grad.Param[float32]{Name: name + ".w", Shape: []int{k.out, k.columns()}, Value: make([]float32, n), Grad: make([]float32, n)}
		l.b = &grad.Param[float32]{Name: name + ".b", Shape: []int{k.out}, Value: make([]float32, k.out), Grad: make([]float32, k.out)}
		s.Tick++
		normal(l.w.Value, math.Sqrt(2/float64(k.columns())), s)
		c.layers = append(c.layers, l)
	}
	residual := func(name string, n int) {
		add(name+"a", conv{in: n, out: n, kernel: 3, stride: 1, pad: 1, up: 1})
		add(name+"b", conv{in: n, out: n, kernel: 1, stride: 1, up: 1})
		clear(c.layers[len(c.layers)-1].w.Value) // a residual block begins as nothing
	}
	down := func(name string, from, to int) {
		add(name, conv{in: from, out: to, kernel: 4, stride: 2, pad: 1, up: 1})
	}
	up := func(name string, from, to int) {
		add(name, conv{in: from, out: to, kernel: 3, stride: 1, pad: 1, up: 2})
	}
	same := func(name string, from, to int) {
		add(name, conv{in: from, out: to, kernel: 3, stride: 1, pad: 1, up: 1})
	}
	same("enc.in", channels, w[0])
	for i, to := range [3]int{w[1], w[2], dim} {
		down(fmt.Sprintf("enc.%d", i), [3]int{w[0], w[1], w[2]}[i], to)
		residual(fmt.Sprintf("enc.%d", i), to)
	}
	same("dec.in", dim, w[2])
	for i, to := range [3]int{w[2], w[1], w[0]} {
		from := [3]int{w[2], w[2], w[1]}[i]
		residual(fmt.Sprintf("dec.%d", i), from)
		up(fmt.Sprintf("dec.%d", i), from, to)
	}
	same("dec.out", w[0], channels)
	rows := make([]float32, codes*dim)
	s.Tick++
	normal(rows, 1, s)
	var err error
	c.Book, err = NewBook(rows, codes, dim)
	return c, err
}

// normal draws normal values.
func normal(v []float32, deviation float64, s weights.Stream) {
	x := make([]float64, len(v))
	s.Normal(x)
	for i := range v {
		v[i] = float32(deviation * x[i])
	}
}

// Tensors lists the weights by name, vq.image.enc.in.w and so on, without the
// codebook.
func (c *Coder) Tensors() []Tensor {
	var list []Tensor
	for _, l := range c.layers {
		for _, p := range []*grad.Param[float32]{l.w, l.b} {
			list = append(list, Tensor{"vq." + c.Name + "." + p.Name, slices.Clone(p.Shape), p.Value})
		}
	}
	return list
}

// params are the weights for an optimizer.
func (c *Coder) params() []*grad.Param[float32] {
	var p []*grad.Param[float32]
	for _, l := range c.layers {
		p = append(p, l.w, l.b)
	}
	return p
}

// bind puts the weights on a tape, with gradients or without.
func bind(t *grad.Tape[float32], layers []*layer, train bool) {
	for _, l := range layers {
		for i, p := range []*grad.Param[float32]{l.w, l.b} {
			if train {
				l.refs[i] = t.Borrow(p.Value, p.Shape...)
				t.GradInto(l.refs[i], p.Grad)
			} else {
				l.refs[i] = t.Const(p.Value, p.Shape...)
			}
		}
	}
}

// A pass goes through the layers in order, from a picture or from vectors.
type pass struct {
	t      *grad.Tape[float32]
	e      *engine[float32]
	layers []*layer
	batch  int
	side   int
}

// next applies the next layer.
func (p *pass) next(x grad.Ref) grad.Ref {
	l := p.layers[0]
	p.layers = p.layers[1:]
	y := p.e.record(p.t, &l.conv, x, l.refs[0], l.refs[1], p.batch, p.side)
	p.side = l.conv.size(p.side)
	return y
}

// residual applies the next two layers beside the identity.
func (p *pass) residual(x grad.Ref) grad.Ref {
	h := p.next(p.t.SiLU(x))
	return p.t.Add(x, p.next(p.t.SiLU(h)))
}

// half is where the decoder's layers begin.
func (c *Coder) half() int { return 10 }

// encode records the encoder: pictures [batch·side², channels] to vectors
// [batch·(side/8)², dim].
func (c *Coder) encode(t *grad.Tape[float32], x grad.Ref, batch, side int) grad.Ref {
	p := &pass{t, c.engine, c.layers[:c.half()], batch, side}
	h := t.SiLU(p.next(x))
	for i := range 3 {
		h = p.residual(p.next(h))
		if i < 2 {
			h = t.SiLU(h)
		}
	}
	return h
}

// decode records the decoder.
func (c *Coder) decode(t *grad.Tape[float32], z grad.Ref, batch, side int) grad.Ref {
	p := &pass{t, c.engine, c.layers[c.half():], batch, side / Stride}
	h := p.next(z)
	for range 3 {
		h = t.SiLU(p.next(p.residual(h)))
	}
	return p.next(h)
}

// Codes is how many codes stand for a picture of a side.
func Codes(side int) int { return (side / Stride) * (side / Stride) }

// check compares pictures and codes.
func (c *Coder) check(codes []int32, pictures []float32, side int) (batch int, err error) {
	if side < Stride || side > 1<<12 || side%Stride != 0 {
		return 0, &vqganShapeError{"side of a picture, a multiple of", Stride, side}
	}
	batch = len(codes) / Codes(side)
	if batch*Codes(side) != len(codes) || len(pictures) != batch*side*side*c.Channels {
		return 0, &vqganShapeError{"pictures: values", batch * side * side * c.Channels, len(pictures)}
	}
	return batch, nil
}

// portion is how many pictures go through a coder at once.
const portion = 32

// infer returns the tape of inference.
func (c *Coder) infer() *grad.Tape[float32] {
	if c.tape == nil {
		c.tape = grad.New(&c.engine.registry, grad.Recording(false))
	}
	c.tape.Reset()
	bind(c.tape, c.layers, false)
	return c.tape
}

// Encode writes the codes of square pictures, one after the other, row by row.
func (c *Coder) Encode(caller Caller, codes []int32, pictures []float32, side int) error {
	z, err := c.vectors(codes, pictures, side)
	if err != nil {
		return err
	}
	return c.Book.Nearest(caller, codes, z)
}

// vectors returns what the encoder says about pictures, before a row is chosen.
func (c *Coder) vectors(codes []int32, pictures []float32, side int) ([]float32, error) {
	batch, err := c.check(codes, pictures, side)
	if err != nil {
		return nil, err
	}
	z := make([]float32, 0, len(codes)*c.Dim)
	plane := side * side * c.Channels
	for i := 0; i < batch; i += portion {
		n := min(portion, batch-i)
		t := c.infer()
		h := c.encode(t, t.Const(pictures[i*plane:(i+n)*plane], n*side*side, c.Channels), n, side)
		if err := t.Err(); err != nil {
			return nil, err
		}
		z = append(z, t.Value(h)...)
	}
	return z, nil
}

// Decode draws the pictures that codes stand for.
func (c *Coder) Decode(caller Caller, pictures []float32, codes []int32, side int) error {
	batch, err := c.check(codes, pictures, side)
	if err != nil {
		return err
	}
	z := make([]float32, len(codes)*c.Dim)
	if err := c.Book.Lookup(caller, z, codes); err != nil {
		return err
	}
	plane, places := side*side*c.Channels, Codes(side)
	for i := 0; i < batch; i += portion {
		n := min(portion, batch-i)
		t := c.infer()
		y := c.decode(t, t.Const(z[i*places*c.Dim:(i+n)*places*c.Dim], n*places, c.Dim), n, side)
		if err := t.Err(); err != nil {
			return err
		}
		for k, v := range t.Value(y) {
			pictures[i*plane+k] = min(max(v, -1), 1)
		}
	}
	return nil
}
