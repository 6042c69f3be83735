package exec

import "atenia/internal/kernel"

// A headed is a product of every head with its own matrix: rows h·outs and up of one
// weight multiply the rows of head h.
type headed struct {
	x           *Executor
	l           *linear // the weight, and its unit of the ring
	heads       int
	ins, outs   int
	form        kernel.Form // in which rows are multiplied
	packed      scratch     // [heads, rows] in that form
	src, dst    []float32
	srcRow      int // distance of rows of src
	srcHead     int // distance of heads of src
	dstRow      int
	dstHead     int
	rows        int
	preparation bool
}

// headed binds the weight in a slot.
func (b *Bind) headed(slot string, heads, ins, outs int) (*headed, error) {
	h := &headed{x: b.x, l: b.linear(ins), heads: heads, ins: ins, outs: outs}
	if err := b.add(h.l, slot, "", heads*outs); err != nil {
		return nil, err
	}
	if p := h.l.parts[0].prep; p > 0 {
		h.form = h.l.preps[p-1].form
		h.packed = b.bytes(heads * b.maxRows * h.form.RowBytes(ins))
	}
	return h, nil
}

// run multiplies rows; the distances must be set.
func (h *headed) run(s *Step, src, dst []float32, rows int) error {
	h.src, h.dst, h.rows = src, dst, rows
	if h.form != kernel.FormF32 {
		h.preparation = true
		s.parallel(h.heads*rows, grainFor(4*h.ins), h)
	}
	if err := h.l.acquire(s); err != nil {
		return err
	}
	h.preparation = false
	s.parallel(h.heads*wholeTiles(h.outs), wholeTiles(grainFor(rows*h.ins)), h)
	h.l.release(s)
	return nil
}

// Range prepares rows of heads, or computes outputs of all heads concatenated in
// whole tiles.
func (h *headed) Range(_, lo, hi int) {
	size := h.form.RowBytes(h.ins)
	if h.preparation {
		packed := h.x.bytesOf(h.packed)
		for i := lo; i < hi; i++ {
			head, r := i/h.rows, i%h.rows
			at := r*h.srcRow + head*h.srcHead
			h.form.Prepare(packed[i*size:(i+1)*size], h.src[at:at+h.ins])
		}
		return
	}
	wide := wholeTiles(h.outs)
	for lo < hi {
		head := lo / wide
		end := min(hi, (head+1)*wide)
		a, b := head*h.outs+lo-head*wide, head*h.outs+min(end-head*wide, h.outs)
		if a < b {
			h.outputs(head, a, b, size)
		}
		lo = end
	}
}

// outputs computes rows lo to hi of the weight, which are of one head.
func (h *headed) outputs(head, lo, hi, size int) {
	w := h.l.parts[0].w.Range(lo, hi)
	// The kernel counts outputs from the weight's first row: a head's distance is
	// what it has beyond its rows.
	dst := h.dst[head*(h.dstHead-h.outs):]
	if h.form == kernel.FormF32 {
		kernel.MatMul(dst, h.dstRow, w, lo, hi, h.src[head*h.srcHead:], h.srcRow, h.rows)
		return
	}
	first := head * h.rows * size
	multiplyPrepared(h.form, dst, h.dstRow, w, lo, hi, h.x.bytesOf(h.packed)[first:first+h.rows*size], h.rows)
}
