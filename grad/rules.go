package grad

import (
	"math"

	"atenia/internal/kernel/dense"
)

// A rule is the definition of an operation: the shape of its result, how the result is computed, and the
// vector-Jacobian product, which adds to the gradient of each operand for an upstream gradient d.
type rule[F Float] struct {
	name    string
	shape   func(*Tape[F], *op[F]) (dims, error)
	forward func(*Tape[F], *op[F])
	back    func(*Tape[F], *op[F])
}

// eps is the lower clamp of divisors that are norms and of arguments of logarithms.
const eps = 1e-8

// rules returns the table: y is the result, d = dL/dy. Without a shape rule the result has the shape of a, which b,
// if present, must share.
func rules[F Float]() [numKinds]rule[F] {
	return [numKinds]rule[F]{
		//                                                                      y                            gradients
		opMatMul:       {"matmul", matMulShape[F], matMul[F], matMulBack[F]},                         // a·b                         d·bᵀ, aᵀ·d
		opMatMulT:      {"matmult", matMulTShape[F], matMulT[F], matMulTBack[F]},                     // a·bᵀ                        d·b, dᵀ·a
		opTranspose:    {"transpose", transposeShape[F], transpose[F], transposeBack[F]},             // aᵀ                          dᵀ
		opOuter:        {"outer", outerShape[F], outer[F], outerBack[F]},                             // a bᵀ                        d·b, dᵀ·a
		opDot:          {"dot", scalarOfTwo[F], dot[F], dotBack[F]},                                  // Σ a b                       d b, d a
		opAdd:          {"add", nil, add[F], addBack[F]},                                             // a + b                       d, d
		opSub:          {"sub", nil, sub[F], subBack[F]},                                             // a − b                       d, −d
		opMul:          {"mul", nil, mul[F], mulBack[F]},                                             // a b                         d b, d a
		opAddRow:       {"addrow", rowShape[F], addRow[F], addRowBack[F]},                            // rows of a + b               d, Σ rows of d
		opScaleBy:      {"scaleby", byShape[F], scaleBy[F], scaleByBack[F]},                          // a b, one b                  d b, Σ d a
		opScale:        {"scale", nil, scale[F], scaleBack[F]},                                       // s a                         s d
		opNeg:          {"neg", nil, neg[F], negBack[F]},                                             // −a                          −d
		opSigmoid:      {"sigmoid", nil, sigmoid[F], sigmoidBack[F]},                                 // σ(a)                        d y(1−y)
		opSoftplus:     {"softplus", nil, softplus[F], softplusBack[F]},                              // log(1+eᵃ)                   d(1−e⁻ʸ)
		opSiLU:         {"silu", nil, silu[F], siluBack[F]},                                          // a σ(a)                      d(y + σ(a)(1−y))
		opSoftmax:      {"softmax", nil, softmax[F], softmaxBack[F]},                                 // eᵃ/Σeᵃ, by rows             y(d − Σ d y)
		opCrossEntropy: {"crossentropy", crossEntropyShape[F], crossEntropy[F], crossEntropyBack[F]}, // −mean log softmax(a)[target] d(softmax(a) − onehot)/n
		opEmbed:        {"embed", embedShape[F], embed[F], embedBack[F]},                             // rows of a                   rows of d added
		opL2Norm:       {"l2norm", scalar[F], l2Norm[F], l2NormBack[F]},                              // |a|                         d a/max(y, eps)
		opSum:          {"sum", scalar[F], sum[F], sumBack[F]},                                       // Σ a                         d everywhere
		opL2Retention:  {"l2retention", nil, scale[F], scaleBack[F]},                                 // s a                         s d
		opConcat:       {"concat", concatShape[F], concat[F], concatBack[F]},                         // a, b, …                     parts of d
		opSlice:        {"slice", wanted[F], slice[F], sliceBack[F]},                                 // part of a                   d there, 0 elsewhere
		opNormSiLU:     {"normsilu", nil, normSiLU[F], normSiLUBack[F]},                              // z/max(|z|, eps), z = silu(a) see normalBack, siluPrime
		opSphere:       {"sphereproject", nil, sphere[F], sphereBack[F]},                             // rows of a/max(|a|, eps)     see normalBack
		opKLRetention:  {"klretention", nil, klRetention[F], klRetentionBack[F]},                     // softmax(s log b − r a)      −r z, s z/b with z = softmax's
		opStraight:     {"straightthrough", nil, straight[F], straightBack[F]},                       // [a > s]                     d
		opOpaque:       {name: "opaque", back: opaqueBack[F]},                                        // what the caller says        what is registered
	}
}

// val returns the value of an operand or result.
func (t *Tape[F]) val(r Ref) []F { return t.bufs[r].val }

// up returns the upstream gradient of an operation's result.
func (t *Tape[F]) up(o *op[F]) []F { return t.bufs[o.out].grad }

// into returns where the gradient of r goes: stored if add is false, for the first contribution, else added. It
// returns nil if no gradient is needed.
func (t *Tape[F]) into(r Ref) (g []F, add bool) {
	b := &t.bufs[r]
	if !b.needs {
		return nil, false
	}
	add = b.touched
	if !add {
		b.touched = true
		b.grad = t.grads.lease(len(b.val))
	}
	return b.grad, add
}

func matMul[F Float](t *Tape[F], o *op[F]) {
	a, b := t.bufs[o.a].shape, t.bufs[o.b].shape
	t.work.Mul(t.val(o.out), t.val(o.a), t.val(o.b), int(a.d[0]), int(a.d[1]), int(b.d[1]))
}

func matMulBack[F Float](t *Tape[F], o *op[F]) {
	sa, sb := t.bufs[o.a].shape, t.bufs[o.b].shape
	m, k, n := int(sa.d[0]), int(sa.d[1]), int(sb.d[1])
	d := t.up(o)
	if g, add := t.into(o.a); add {
		t.work.AddMulT(g, d, t.val(o.b), m, n, k)
	} else if g != nil {
		t.work.MulT(g, d, t.val(o.b), m, n, k)
	}
	if g, add := t.into(o.b); add {
		t.work.AddTMul(g, t.val(o.a), d, k, m, n)
	} else if g != nil {
		t.work.TMul(g, t.val(o.a), d, k, m, n)
	}
}

func matMulT[F Float](t *Tape[F], o *op[F]) {
	a, b := t.bufs[o.a].shape, t.bufs[o.b].shape
	t.work.MulT(t.val(o.out), t.val(o.a), t.val(o.b), int(a.d[0]), int(a.d[1]), int(b.d[0]))
}

func matMulTBack[F Float](t *Tape[F], o *op[F]) {
	sa, sb := t.bufs[o.a].shape, t.bufs[o.b].shape
	m, k, n := int(sa.d[0]), int(sa.d[1]), int(sb.d[0])
	d := t.up(o)
	if g, add := t.into(o.a); add {
		t.work.AddMul(g, d, t.val(o.b), m, n, k)
	} else if g != nil {
		t.work.Mul(g, d, t.val(o.b), m, n, k)
	}
	if g, add := t.into(o.b); add {
		t.work.AddTMul(g, d, t.val(o.a), n, m, k)
	} else if g != nil {
		t.work.TMul(g, d, t.val(o.a), n, m, k)
	}
}

func transpose[F Float](t *Tape[F], o *op[F]) {
	s := t.bufs[o.a].shape
	turn(t.val(o.out), t.val(o.a), int(s.d[0]), int(s.d[1]), false)
}

func transposeBack[F Float](t *Tape[F], o *op[F]) {
	if g, add := t.into(o.a); g != nil {
		s := t.bufs[o.a].shape
		turn(g, t.up(o), int(s.d[1]), int(s.d[0]), add)
	}
}

// turn writes src[m,n] as dst[n,m].
func turn[F Float](dst, src []F, m, n int, add bool) {
	for i := range m {
		for j := range n {
			v := src[i*n+j]
			if add {
				v += dst[j*m+i]
			}
			dst[j*m+i] = v
		}
	}
}

func outer[F Float](t *Tape[F], o *op[F]) {
	a, b, y := t.val(o.a), t.val(o.b), t.val(o.out)
	for i, v := range a {
		row := y[i*len(b):][:len(b)]
		for j, w := range b {
			row[j] = v * w
		}
	}
}

func outerBack[F Float](t *Tape[F], o *op[F]) {
	a, b, d := t.val(o.a), t.val(o.b), t.up(o)
	if g, add := t.into(o.a); g != nil {
		if !add {
			clear(g)
		}
		for i := range g {
			g[i] += dense.Dot(d[i*len(b):][:len(b)], b)
		}
	}
	if g, add := t.into(o.b); g != nil {
		if !add {
			clear(g)
		}
		for i, v := range a {
			dense.Axpy(g, v, d[i*len(b):][:len(b)])
		}
	}
}

func dot[F Float](t *Tape[F], o *op[F]) { t.val(o.out)[0] = dense.Dot(t.val(o.a), t.val(o.b)) }

func dotBack[F Float](t *Tape[F], o *op[F]) {
	d := t.up(o)[0]
	t.times(o.a, t.val(o.b), d)
	t.times(o.b, t.val(o.a), d)
}

// times adds s·v to the gradient of r.
func (t *Tape[F]) times(r Ref, v []F, s F) {
	g, add := t.into(r)
	if g == nil {
		return
	}
	v = v[:len(g)]
	if add {
		dense.Axpy(g, s, v)
		return
	}
	for i := range g {
		g[i] = s * v[i]
	}
}

func add[F Float](t *Tape[F], o *op[F]) {
	y, a, b := t.val(o.out), t.val(o.a), t.val(o.b)
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] + b[i]
	}
}

func addBack[F Float](t *Tape[F], o *op[F]) {
	t.pass(o.a, t.up(o))
	t.pass(o.b, t.up(o))
}

// pass adds d to the gradient of r.
func (t *Tape[F]) pass(r Ref, d []F) {
	g, add := t.into(r)
	if g == nil {
		return
	}
	if !add {
		copy(g, d)
		return
	}
	dense.Axpy(g, 1, d)
}

func sub[F Float](t *Tape[F], o *op[F]) {
	y, a, b := t.val(o.out), t.val(o.a), t.val(o.b)
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] - b[i]
	}
}

func subBack[F Float](t *Tape[F], o *op[F]) {
	t.pass(o.a, t.up(o))
	t.times(o.b, t.up(o), -1)
}

func mul[F Float](t *Tape[F], o *op[F]) {
	y, a, b := t.val(o.out), t.val(o.a), t.val(o.b)
	a, b = a[:len(y)], b[:len(y)]
	for i := range y {
		y[i] = a[i] * b[i]
	}
}

func mulBack[F Float](t *Tape[F], o *op[F]) {
	t.product(o.a, t.up(o), t.val(o.b))
	t.product(o.b, t.up(o), t.val(o.a))
}

// product adds d·v, element by element, to the gradient of r.
func (t *Tape[F]) product(r Ref, d, v []F) {
	g, add := t.into(r)
	d, v = d[:len(g)], v[:len(g)]
	for i := range g {
		x := F(d[i] * v[i])
		if add {
			x += g[i]
		}
		g[i] = x
	}
}

func addRow[F Float](t *Tape[F], o *op[F]) {
	y, a, b := t.val(o.out), t.val(o.a), t.val(o.b)
	for i := 0; i < len(y); i += len(b) {
		row, from := y[i:][:len(b)], a[i:][:len(b)]
		for j, v := range b {
			row[j] = from[j] + v
		}
	}
}

func addRowBack[F Float](t *Tape[F], o *op[F]) {
	d := t.up(o)
	t.pass(o.a, d)
	if g, add := t.into(o.b); g != nil {
		if !add {
			clear(g)
		}
		for i := 0; i < len(d); i += len(g) {
			dense.Axpy(g, 1, d[i:][:len(g)])
		}
	}
}

func scaleBy[F Float](t *Tape[F], o *op[F]) { scaled(t.val(o.out), t.val(o.a), t.val(o.b)[0]) }

func scaled[F Float](y, a []F, s F) {
	a = a[:len(y)]
	for i := range y {
		y[i] = s * a[i]
	}
}

func scaleByBack[F Float](t *Tape[F], o *op[F]) {
	d := t.up(o)
	t.times(o.a, d, t.val(o.b)[0])
	if g, add := t.into(o.b); g != nil {
		v := dense.Dot(d, t.val(o.a))
		if add {
			v += g[0]
		}
		g[0] = v
	}
}

func scale[F Float](t *Tape[F], o *op[F])     { scaled(t.val(o.out), t.val(o.a), o.s) }
func scaleBack[F Float](t *Tape[F], o *op[F]) { t.times(o.a, t.up(o), o.s) }
func neg[F Float](t *Tape[F], o *op[F])       { scaled(t.val(o.out), t.val(o.a), -1) }
func negBack[F Float](t *Tape[F], o *op[F])   { t.times(o.a, t.up(o), -1) }

func sigmoid[F Float](t *Tape[F], o *op[F])      { t.activate(dense.Sigmoid, o) }
func softplus[F Float](t *Tape[F], o *op[F])     { t.activate(dense.Softplus, o) }
func silu[F Float](t *Tape[F], o *op[F])         { t.activate(dense.SiLU, o) }
func softplusBack[F Float](t *Tape[F], o *op[F]) { t.activateBack(dense.Softplus, o) }
func siluBack[F Float](t *Tape[F], o *op[F])     { t.activateBack(dense.SiLU, o) }

func sigmoidBack[F Float](t *Tape[F], o *op[F]) {
	d, y := t.up(o), t.val(o.out)
	g, add := t.into(o.a)
	for i := range g {
		x := F(d[i] * y[i] * (1 - y[i]))
		if add {
			x += g[i]
		}
		g[i] = x
	}
}

// forThreads is the number of elements from which waking threads pays off.
const forThreads = 8192

func (t *Tape[F]) activate(f dense.Activation, o *op[F]) {
	if y := t.val(o.out); len(y) < forThreads {
		dense.Activate(f, y, t.val(o.a))
	} else {
		t.work.Activate(f, y, t.val(o.a))
	}
}

func (t *Tape[F]) activateBack(f dense.Activation, o *op[F]) {
	g := t.sum(o.a)
	switch {
	case g == nil:
	case len(g) < forThreads:
		dense.ActivateBack(f, g, t.val(o.a), t.up(o))
	default:
		t.work.ActivateBack(f, g, t.val(o.a), t.up(o))
	}
}

// sum is into for products that can only add: the memory is zeroed first.
func (t *Tape[F]) sum(r Ref) []F {
	g, add := t.into(r)
	if !add {
		clear(g)
	}
	return g
}

func softmax[F Float](t *Tape[F], o *op[F]) {
	s := t.bufs[o.a].shape
	t.work.SoftmaxRows(t.val(o.out), t.val(o.a), s.rows(), s.cols())
}

func softmaxBack[F Float](t *Tape[F], o *op[F]) {
	if g := t.sum(o.a); g != nil {
		s := t.bufs[o.a].shape
		t.work.SoftmaxRowsBack(g, t.val(o.out), t.up(o), s.rows(), s.cols())
	}
}

// crossEntropy keeps the logarithm of every row's sum of exponentials.
func crossEntropy[F Float](t *Tape[F], o *op[F]) {
	s := t.bufs[o.a].shape
	lse := t.bufs[o.hidden].val
	sum, n := t.work.CrossEntropy(lse, t.val(o.a), t.ints[o.lo:o.hi], s.rows(), s.cols())
	y := F(0)
	if n > 0 {
		y = F(sum / float64(n))
	}
	t.val(o.out)[0] = y
}

func crossEntropyBack[F Float](t *Tape[F], o *op[F]) {
	g := t.sum(o.a)
	n, targets := 0, t.ints[o.lo:o.hi]
	for _, id := range targets {
		if id >= 0 {
			n++
		}
	}
	if g == nil || n == 0 {
		return
	}
	s := t.bufs[o.a].shape
	t.work.CrossEntropyBack(g, t.val(o.a), t.bufs[o.hidden].val, targets, s.rows(), s.cols(), t.up(o)[0]/F(n))
}

func embed[F Float](t *Tape[F], o *op[F]) {
	t.work.Gather(t.val(o.out), t.val(o.a), t.ints[o.lo:o.hi], t.bufs[o.a].shape.cols())
}

func embedBack[F Float](t *Tape[F], o *op[F]) {
	if g := t.sum(o.a); g != nil {
		t.work.ScatterAdd(g, t.up(o), t.ints[o.lo:o.hi], t.bufs[o.a].shape.cols())
	}
}

func l2Norm[F Float](t *Tape[F], o *op[F]) { t.val(o.out)[0] = dense.Norm(t.val(o.a)) }

func l2NormBack[F Float](t *Tape[F], o *op[F]) {
	t.times(o.a, t.val(o.a), t.up(o)[0]/max(t.val(o.out)[0], eps))
}

func sum[F Float](t *Tape[F], o *op[F]) {
	var s F
	for _, v := range t.val(o.a) {
		s += v
	}
	t.val(o.out)[0] = s
}

func sumBack[F Float](t *Tape[F], o *op[F]) {
	d := t.up(o)[0]
	g := t.sum(o.a)
	for i := range g {
		g[i] += d
	}
}

// parts calls f for each operand of a concatenation: the result has outer rows, and the operand is columns [at, at+n)
// of all.
func (t *Tape[F]) parts(o *op[F], f func(r Ref, outer, at, n, all int)) {
	outer, inner := 1, 1
	s := t.bufs[o.out].shape
	for i, d := range s.d[:s.rank] {
		if i < int(o.x) {
			outer *= int(d)
		} else if i > int(o.x) {
			inner *= int(d)
		}
	}
	at, all := 0, int(s.d[o.x])*inner
	for _, r := range t.more(o) {
		n := int(t.bufs[r].shape.d[o.x]) * inner
		f(r, outer, at, n, all)
		at += n
	}
}

func concat[F Float](t *Tape[F], o *op[F]) {
	y := t.val(o.out)
	t.parts(o, func(r Ref, outer, at, n, all int) {
		for i := range outer {
			copy(y[i*all+at:][:n], t.val(r)[i*n:])
		}
	})
}

func concatBack[F Float](t *Tape[F], o *op[F]) {
	d := t.up(o)
	t.parts(o, func(r Ref, outer, at, n, all int) {
		if g := t.sum(r); g != nil {
			for i := range outer {
				dense.Add(g[i*n:][:n], d[i*all+at:][:n])
			}
		}
	})
}

func slice[F Float](t *Tape[F], o *op[F]) { copy(t.val(o.out), t.val(o.a)[o.x:]) }

func sliceBack[F Float](t *Tape[F], o *op[F]) {
	if g := t.sum(o.a); g != nil {
		d := t.up(o)
		dense.Add(g[o.x:][:len(d)], d)
	}
}

// normalise writes a/max(|a|, eps) to y, which may be a.
func normalise[F Float](y, a []F) { scaled(y, a, 1/max(dense.Norm(a), eps)) }

// normalBack adds to g the gradient of y = a/max(n, eps), n = |a|. Above eps the norm varies too: (d − y⟨d,y⟩)/n;
// below, y is linear in a: d/eps.
func normalBack[F Float](g, y, d []F, n F) {
	if n <= eps {
		dense.Axpy(g, 1/F(eps), d)
		return
	}
	along := dense.Dot(d, y)
	for i := range g {
		g[i] += (d[i] - F(y[i]*along)) / n
	}
}

func normSiLU[F Float](t *Tape[F], o *op[F]) {
	y := t.val(o.out)
	t.activate(dense.SiLU, o)
	normalise(y, y)
}

func normSiLUBack[F Float](t *Tape[F], o *op[F]) {
	g := t.sum(o.a)
	if g == nil {
		return
	}
	a := t.val(o.a)
	z, dz := t.grads.lease(len(a)), t.grads.lease(len(a))
	clear(dz)
	dense.Activate(dense.SiLU, z, a)
	normalBack(dz, t.val(o.out), t.up(o), dense.Norm(z))
	dense.ActivateBack(dense.SiLU, g, a, dz)
	t.grads.free(dz)
	t.grads.free(z)
}

func sphere[F Float](t *Tape[F], o *op[F]) {
	y, a, n := t.val(o.out), t.val(o.a), t.bufs[o.a].shape.cols()
	for i := 0; i < len(y); i += n {
		normalise(y[i:][:n], a[i:][:n])
	}
}

func sphereBack[F Float](t *Tape[F], o *op[F]) {
	a, y, d, n := t.val(o.a), t.val(o.out), t.up(o), t.bufs[o.a].shape.cols()
	g := t.sum(o.a)
	for i := 0; i < len(g); i += n {
		normalBack(g[i:][:n], y[i:][:n], d[i:][:n], dense.Norm(a[i:][:n]))
	}
}

func klRetention[F Float](t *Tape[F], o *op[F]) {
	y, a, prior := t.val(o.out), t.val(o.a), t.val(o.b)
	for i, p := range prior {
		y[i] = F(o.s*F(math.Log(float64(max(p, eps))))) - F(o.r*a[i])
	}
	s := t.bufs[o.a].shape
	t.work.SoftmaxRows(y, y, s.rows(), s.cols())
}

// klRetentionBack passes no gradient to entries of prior at or below the clamp, where the function is constant.
func klRetentionBack[F Float](t *Tape[F], o *op[F]) {
	y, d, prior := t.val(o.out), t.up(o), t.val(o.b)
	s := t.bufs[o.a].shape
	z := t.grads.lease(len(y))
	clear(z)
	t.work.SoftmaxRowsBack(z, y, d, s.rows(), s.cols())
	t.times(o.a, z, -o.r)
	g := t.sum(o.b)
	for i := range g {
		if prior[i] > eps {
			g[i] += F(o.s*z[i]) / prior[i]
		}
	}
	t.grads.free(z)
}

func straight[F Float](t *Tape[F], o *op[F]) {
	y := t.val(o.out)
	clear(y)
	for i, v := range t.val(o.a) {
		if v > o.s {
			y[i] = 1
		}
	}
}

func straightBack[F Float](t *Tape[F], o *op[F]) { t.pass(o.a, t.up(o)) }
