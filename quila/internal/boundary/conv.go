package boundary

import "atenia/grad"

// A conv is a convolution of images, pixel by pixel, rows of channels: x [batch ·
// height · width, in] becomes [batch · outHeight · outWidth, out]. The images are
// first enlarged by repeating pixels (up), then read in squares.
type conv struct {
	in, out             int
	kernel, stride, pad int
	up                  int // 1 or 2
	plans               map[int][]run
}

// size is the side of the output for an input of side n.
func (c *conv) size(n int) int { return (n*c.up+2*c.pad-c.kernel)/c.stride + 1 }

// columns is how many values an output pixel reads.
func (c *conv) columns() int { return c.kernel * c.kernel * c.in }

// convKey names convolutions on a tape.
const convKey grad.Key = "vqgan.conv"

// chunkRows is how many output pixels are one matrix product: their inputs stay
// in the second-level cache.
const chunkRows = 1024

// An engine records convolutions on tapes and has their memory. It belongs to one
// goroutine.
type engine[F grad.Float] struct {
	registry     grad.Registry[F]
	columns, out []F
}

func newEngine[F grad.Float]() *engine[F] {
	e := &engine[F]{}
	e.registry.Register(convKey, e.backward)
	return e
}

// A convCall is one convolution on a tape: of square images of so many pixels a
// side.
type convCall struct {
	c             *conv
	batch, side   int
	pixels, plane int // output pixels of an image, values of an input image
	images        int // that are one matrix product
	runs          []run
}

// call returns the convolution of a batch. Plans are kept by side.
func (c *conv) call(batch, side int) *convCall {
	if c.plans == nil {
		c.plans = map[int][]run{}
	}
	if c.plans[side] == nil {
		c.plans[side] = c.plan(side)
	}
	n := c.size(side)
	return &convCall{c, batch, side, n * n, side * side * c.in, max(1, chunkRows/(n*n)), c.plans[side]}
}

// room returns n values of scratch memory.
func room[F grad.Float](v *[]F, n int) []F {
	if len(*v) < n {
		*v = make([]F, n)
	}
	return (*v)[:n]
}

// record computes a convolution and records it: x [batch·side², in], w [out,
// kernel²·in], bias [out].
func (e *engine[F]) record(t *grad.Tape[F], c *conv, x, w, bias grad.Ref, batch, side int) grad.Ref {
	k := c.call(batch, side)
	images, pixels := k.images, k.pixels
	ref := t.Alloc(batch*pixels, c.out)
	y, input, weight, b := t.Data(ref), t.Value(x), t.Value(w), t.Value(bias)
	if len(input) != batch*side*side*c.in || len(weight) != c.out*c.columns() || len(b) != c.out {
		y = nil // the shapes disagree; Opaque of a missing output reports it
		ref = 0
	}
	cols := room(&e.columns, images*pixels*c.columns())
	for i := 0; i < batch && y != nil; i += images {
		n := min(images, batch-i)
		gather(k, cols, input[i*k.plane:], n)
		part := y[i*pixels*c.out : (i+n)*pixels*c.out]
		t.Work().MulT(part, cols, weight, n*pixels, c.columns(), c.out)
		for r := 0; r < len(part); r += c.out {
			for j, v := range b {
				part[r+j] += v
			}
		}
	}
	if t.Opaque(convKey, []grad.Ref{x, w, bias}, []grad.Ref{ref}, nil, k) != nil {
		return 0
	}
	return ref
}

// backward adds the gradients of a convolution's operands.
func (e *engine[F]) backward(b *grad.OpaqueBack[F]) {
	k := b.Aux.(*convCall)
	c := k.c
	images, pixels := k.images, k.pixels
	dx, dw, db := b.DIn(0), b.DIn(1), b.DIn(2)
	dy, x, w := b.DOut(0), b.In(0), b.In(1)
	cols := room(&e.columns, images*pixels*c.columns())
	for i := 0; i < k.batch; i += images {
		n := min(images, k.batch-i)
		part := dy[i*pixels*c.out : (i+n)*pixels*c.out]
		if dw != nil {
			gather(k, cols, x[i*k.plane:], n)
			b.Work().AddTMul(dw, part, cols, c.out, n*pixels, c.columns())
		}
		if db != nil {
			for r := 0; r < len(part); r += c.out {
				for j := range db {
					db[j] += part[r+j]
				}
			}
		}
		if dx != nil {
			out := room(&e.out, images*pixels*c.columns())
			b.Work().Mul(out, part, w, n*pixels, c.out, c.columns())
			scatter(k, dx[i*k.plane:], out, n)
		}
	}
}

// A run is a stretch of consecutive input values that an output pixel reads:
// columns[to:to+n] belongs to x[from:from+n], and is zero where from < 0, outside
// of the image.
type run struct{ to, from, n int32 }

// plan lists the runs of one image.
func (c *conv) plan(side int) []run {
	out, wide := c.size(side), side*c.up
	var runs []run
	at := 0
	add := func(from, pixels int) {
		if pixels <= 0 {
			return
		}
		runs = append(runs, run{int32(at), int32(from), int32(pixels * c.in)})
		at += pixels * c.in
	}
	for o := range out * out {
		top, left := o/out*c.stride-c.pad, o%out*c.stride-c.pad
		for iy := top; iy < top+c.kernel; iy++ {
			if iy < 0 || iy >= wide {
				add(-1, c.kernel)
				continue
			}
			row := iy / c.up * side
			if c.up == 1 {
				lo, hi := max(0, -left), min(c.kernel, wide-left)
				add(-1, lo)
				add((row+left+lo)*c.in, hi-lo)
				add(-1, c.kernel-hi)
				continue
			}
			for ix := left; ix < left+c.kernel; ix++ {
				if ix < 0 || ix >= wide {
					add(-1, 1)
				} else {
					add((row+ix/c.up)*c.in, 1)
				}
			}
		}
	}
	return runs
}

// gather writes what the output pixels of images read, a row for each.
func gather[F grad.Float](k *convCall, cols, x []F, images int) {
	size := k.pixels * k.c.columns()
	for i := range images {
		to, from := cols[i*size:(i+1)*size], x[i*k.plane:(i+1)*k.plane]
		for _, r := range k.runs {
			if r.from < 0 {
				clear(to[r.to : r.to+r.n])
			} else {
				copy(to[r.to:r.to+r.n], from[r.from:r.from+r.n])
			}
		}
	}
}

// scatter adds gradients of what the output pixels read to those of the images.
func scatter[F grad.Float](k *convCall, dx, cols []F, images int) {
	size := k.pixels * k.c.columns()
	for i := range images {
		to, from := dx[i*k.plane:(i+1)*k.plane], cols[i*size:(i+1)*size]
		for _, r := range k.runs {
			if r.from < 0 {
				continue
			}
			d := to[r.from : r.from+r.n]
			for j, v := range from[r.to : r.to+r.n] {
				d[j] += v
			}
		}
	}
}
