package tape

import (
	"unsafe"

	"atenia/internal/plan"
)

// A need is the memory of one instruction, in elements.
type need struct {
	out     int // results
	saved   int // for the gradient besides results
	scratch int // of the backward pass, and about that of the forward pass
}

// Bytes are upper bounds of the memory that training block by block takes
// besides parameters and their gradients.
type Bytes struct {
	Edges   int64   // values between blocks and their gradients
	Shared  int64   // of the tape that blocks are recorded on, and scratch
	Kept    []int64 // of a block that keeps its values
	Largest int64   // of a layer on the tape, which it does not need if all layers are kept
}

// All returns the bytes if a number of the last blocks before the last are kept.
func (b *Bytes) All(kept int) int64 {
	n := b.Edges + b.Shared
	for i := range kept {
		n += b.Kept[len(b.Kept)-2-i]
	}
	return n
}

// slabs is what the memory of tapes may have besides buffers.
const slabs = 4 << 20

// documents returns the most documents of an encoder's batch of so many rows, each of
// which may be one.
func (m *Model[F]) documents(rows int) int {
	if m.goal == nil || m.Documents == 0 {
		return rows
	}
	return min(rows, m.Documents)
}

// PagedBytes bounds the memory of batches of so many rows.
func (m *Model[F]) PagedBytes(rows int) Bytes {
	size := int64(unsafe.Sizeof(F(0)))
	p, b := m.blocks, Bytes{Shared: slabs}
	width, scratch := 0, 0
	for _, k := range p.list {
		n := need{}
		for _, w := range append(k.made[:len(k.made):len(k.made)], k.filled...) {
			v, _ := w.shape.Size()
			n.out += v
		}
		for _, op := range k.ops {
			o := m.need(op, rows)
			n.out, n.saved, scratch = n.out+o.out, n.saved+o.saved, max(scratch, o.scratch)
		}
		bytes := int64(2*n.out+n.saved) * size
		b.Kept = append(b.Kept, bytes+slabs/2)
		if k.single {
			b.Shared += bytes
		} else {
			b.Largest = max(b.Largest, bytes)
		}
		each := 0
		for _, r := range k.out {
			if r != m.plan.Outputs[0] {
				each += rows * int(m.plan.Registers[r].Cols)
			}
		}
		b.Edges += int64(each) * size
		width = max(width, each)
	}
	b.Edges += 3 * int64(width) * size
	b.Shared += b.Largest + int64(scratch)*size
	return b
}

// need returns the memory of an instruction for a number of rows.
func (m *Model[F]) need(op recorder[F], rows int) need {
	switch o := op.(type) {
	case *embedding[F]:
		return need{out: rows * o.dim, scratch: 2 * rows * o.dim}
	case *norm[F]:
		return need{out: rows * o.dim, saved: 2 * rows}
	case *residual[F]:
		return need{out: 2 * rows * o.dim, saved: 2 * rows, scratch: rows * o.dim} // a layer norm saves means, too
	case *scatter[F]:
		return need{out: rows * o.dim}
	case *inject[F]:
		return need{out: rows * o.dim}
	case *crossAttention[F]:
		return o.need(rows)
	case *objective[F]:
		n, docs := m.need(o.last, rows), m.documents(rows)
		n.out, n.saved, n.scratch = n.out+1, n.saved+docs*(o.dim+1+max(docs, o.dim)), n.scratch+(docs+1)*o.dim
		return n
	case *projection[F]:
		docs := m.documents(rows)
		y := docs * o.product.out
		return need{out: y, saved: y, scratch: 2*y + lows(docs, &o.product)}
	case *pooling[F]:
		docs := m.documents(rows)
		return need{out: docs * o.dim, saved: docs, scratch: o.dim}
	case *gather[F]:
		return need{out: rows * o.dim}
	case *attention[F]:
		q, k := rows*o.q.out, rows*o.k.out
		n := need{out: rows * o.out.out, saved: 2*q + 2*k + rows*o.heads.Q, scratch: 2*q + 2*k}
		if o.norm != plan.QKNormNone {
			n.saved += q + k + 2*rows*(o.heads.Q+o.heads.KV)
			n.scratch += q + k
		}
		if o.clip != 0 {
			n.saved += q + 2*k
			n.scratch += q + 2*k
		}
		n.scratch += lows(rows, &o.q, &o.k, &o.v, &o.out)
		return n
	case *ffn[F]:
		h := rows * o.up.out
		return need{out: rows * o.down.out, saved: 2 * h, scratch: 4*h + lows(rows, &o.gate, &o.up, &o.down)}
	case *moe[F]:
		return o.need(rows)
	case *latent[F]:
		return o.need(rows)
	case *mamba1[F]:
		return o.need(rows)
	case *mamba2[F]:
		return o.need(rows)
	case *head[F]:
		part := min(rows, o.m.headRows(o.vocab)) * o.vocab
		return need{out: 1, saved: rows*o.vocab + rows, scratch: 2*part + lows(rows, &o.logits)}
	}
	return need{}
}

// lows returns the scratch of low-rank pairs.
func lows[F Float](rows int, ls ...*linear[F]) (n int) {
	for _, l := range ls {
		if l.rank > 0 {
			n += rows * 2 * l.rank
			if l.drop > 0 {
				n += rows * 2 * l.in
			}
		}
	}
	return n
}

func (e *moe[F]) need(rows int) need {
	places := rows * e.best
	n := need{out: rows*e.dim + 2*e.experts, saved: rows*e.experts + 2*places*e.hidden}
	n.scratch = places*(3*e.dim+5*e.hidden+1) + 2*rows*e.experts
	for i := range e.experts { // an expert may get any row, once
		n.scratch += lows(rows, &e.gate[i], &e.up[i], &e.down[i])
	}
	if e.shared {
		n.saved += rows * (2*e.sUp.out + e.dim + 1)
		n.scratch += rows * (2*e.dim + 5*e.sUp.out + 2)
	}
	return n
}
