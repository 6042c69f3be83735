// Matrix products for opaque operations.

package grad

import "atenia/internal/kernel/dense"

// A Work multiplies matrices for opaque operations, with the kernels and threads
// that a tape's own operations use. A forward pass takes it from [Tape.Work], a
// backward function from [OpaqueBack.Work]; [NewWork] makes one without a tape.
// It keeps scratch memory, so it may be used by one goroutine at a time, and its
// methods allocate nothing once that has grown.
//
// Matrices are slices in row-major order. The three integers are the sizes of a
// product: dst is [m,n], and k is the length of the sums. Methods whose name
// begins with Add add to dst, the others store. dst must not overlap an operand.
type Work[F Float] struct{ dense *dense.Work[F] }

// NewWork returns a Work that uses the given threads; nil is the caller's alone.
func NewWork[F Float](t *Threads) *Work[F] { return &Work[F]{dense.New[F](t.inner())} }

// Mul stores a[m,k]·b[k,n].
func (w *Work[F]) Mul(dst, a, b []F, m, k, n int) { w.dense.Mul(dst, a, b, m, k, n) }

// MulT stores a[m,k]·b[n,k]ᵀ: rows times a weight, as model files lay it out.
func (w *Work[F]) MulT(dst, a, b []F, m, k, n int) { w.dense.MulT(dst, a, b, m, k, n) }

// TMul stores a[k,m]ᵀ·b[k,n]: a weight's gradient, from rows and the gradients of
// their products.
func (w *Work[F]) TMul(dst, a, b []F, m, k, n int) { w.dense.TMul(dst, a, b, m, k, n) }

// AddMul adds a[m,k]·b[k,n].
func (w *Work[F]) AddMul(dst, a, b []F, m, k, n int) { w.dense.AddMul(dst, a, b, m, k, n) }

// AddMulT adds a[m,k]·b[n,k]ᵀ.
func (w *Work[F]) AddMulT(dst, a, b []F, m, k, n int) { w.dense.AddMulT(dst, a, b, m, k, n) }

// AddTMul adds a[k,m]ᵀ·b[k,n].
func (w *Work[F]) AddTMul(dst, a, b []F, m, k, n int) { w.dense.AddTMul(dst, a, b, m, k, n) }

// Packages of this module reach all kernels through [dense.Of].
func init() {
	dense.SetOf(func(w any) any {
		switch w := w.(type) {
		case *Work[float32]:
			return w.dense
		case *Work[float64]:
			return w.dense
		}
		return nil
	})
}
