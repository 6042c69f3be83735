// Rotary positions.

package dense

import "atenia/internal/kernel"

// A Rotation says how heads are rotated: value i of a head is paired with value
// i+Half or, interleaved, 2i with 2i+1, and the first 2·Half of Dim values are
// rotated. Cos and Sin are [positions, Half].
type Rotation[F Float] struct {
	Cos, Sin    []F
	Dim, Half   int
	Interleaved bool
}

// Rope rotates heads of x [rows, heads·Dim], row r by the angles of position
// pos[r], into dst, which may be x:
//
//	a, b → a·cos − b·sin, b·cos + a·sin
func (w *Work[F]) Rope(dst, x []F, rows, heads int, t *Rotation[F], pos []int32) {
	w.rope(ropeRows, dst, x, rows, heads, t, pos)
}

// RopeBack adds the gradient of [Work.Rope] to dx: dy rotated back.
func (w *Work[F]) RopeBack(dx, dy []F, rows, heads int, t *Rotation[F], pos []int32) {
	w.rope(ropeBackRows, dx, dy, rows, heads, t, pos)
}

func (w *Work[F]) rope(do rowStep, dst, x []F, rows, heads int, t *Rotation[F], pos []int32) {
	n := heads * t.Dim
	w.eachRow(rowTask[F]{do: do, dst: dst[:rows*n], src: x[:rows*n], rows: rows, heads: heads, dim: t.Dim, half: t.Half,
		cos: t.Cos, sin: t.Sin, interleaved: t.Interleaved, pos: pos[:rows]}, grainOf(3*n))
}

// pairs returns the distance between a head's values and the distance within a
// pair.
func (t *rowTask[F]) pairs() (step, apart int) {
	if t.interleaved {
		return 2, 1
	}
	return 1, t.half
}

func (t *rowTask[F]) angles(r int) (cos, sin []F) {
	at := int(t.pos[r]) * t.half
	return t.cos[at : at+t.half], t.sin[at : at+t.half]
}

func ropeRange[F Float](t *rowTask[F], lo, hi int) {
	step, apart := t.pairs()
	for r := lo; r < hi; r++ {
		cos, sin := t.angles(r)
		for h := range t.heads {
			at := (r*t.heads + h) * t.dim
			x, y := t.src[at:at+t.dim], t.dst[at:at+t.dim]
			if single[F]() {
				copy(y, x)
				kernel.Rope(singles(y), singles(cos), singles(sin), t.interleaved)
				continue
			}
			for i, c := range cos {
				a, b, s := x[i*step], x[i*step+apart], sin[i]
				y[i*step] = F(a*c) - F(b*s)
				y[i*step+apart] = F(b*c) + F(a*s)
			}
			copy(y[2*t.half:], x[2*t.half:])
		}
	}
}

func ropeBackRange[F Float](t *rowTask[F], lo, hi int) {
	step, apart := t.pairs()
	for r := lo; r < hi; r++ {
		cos, sin := t.angles(r)
		for h := range t.heads {
			at := (r*t.heads + h) * t.dim
			dy, dx := t.src[at:at+t.dim], t.dst[at:at+t.dim]
			if t.interleaved {
				turnBack(dx, dy, cos, sin, step, apart)
			} else {
				a, b, da, db := dy[:t.half], dy[t.half:2*t.half], dx[:t.half], dx[t.half:2*t.half]
				AddMul(da, a, cos)
				AddMul(da, b, sin)
				AddMul(db, b, cos)
				subMul(db, a, sin)
			}
			Add(dx[2*t.half:], dy[2*t.half:])
		}
	}
}

func turnBack[F Float](dx, dy, cos, sin []F, step, apart int) {
	for i, c := range cos {
		a, b, s := dy[i*step], dy[i*step+apart], sin[i]
		dx[i*step] += F(a*c) + F(b*s)
		dx[i*step+apart] += F(b*c) - F(a*s)
	}
}

// subMul subtracts a·b, elementwise, from dst.
func subMul[F Float](dst, a, b []F) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i, v := range a {
		dst[i] -= F(v * b[i])
	}
}
