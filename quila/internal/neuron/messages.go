package neuron

import (
	"atenia/grad"
	"atenia/internal/kernel/dense"
	"atenia/tensor"
)

// limit8 is the largest value of E4M3, beyond which rounding has no gradient.
const limit8 = 448

// A post is how step 1 reads messages that are rounded to E4M3: payloads of the
// senders' h_final, placed, added and divided by the count.
type post[F grad.Float] struct {
	payload, seeds []F
	single         []float32
	codes          []byte
}

// post returns scratch for one message.
func (l *lane[F]) post(g *Grid[F]) *post[F] {
	area := g.c.H * g.c.H
	if p := &l.mail; len(p.payload) == 0 {
		*p = post[F]{make([]F, area), make([]F, g.c.A*g.c.A), make([]float32, area), make([]byte, area)}
	}
	return &l.mail
}

// round replaces the payload by what E4M3 keeps of it.
func (p *post[F]) round() {
	for i, x := range p.payload {
		p.single[i] = float32(x)
	}
	tensor.EncodeE4M3(p.codes, p.single, true)
	tensor.DecodeE4M3(p.single, p.codes)
	for i, x := range p.single {
		p.payload[i] = F(x)
	}
}

// cells calls f with runs of a payload and of the board where they lie: rows and
// columns wrap.
func (s *sender[F]) runs(f func(from, to, n int)) {
	h := s.h
	first := h - s.col
	for i := range h {
		at := (i + s.row) % h * h
		f(i*h, at+s.col, first)
		f(i*h+first, at, s.col)
	}
}

// eachMessage calls f for every message that row r reads: the vector that was
// sent, its sender's weights, and the edge, or −1 for the boundary.
func (g *Grid[F]) eachMessage(sp *space[F], p *cell[F], n, k, r int, h []F, f func(s sender[F], x []F, edge int)) {
	b, d := int(p.sess[r]), g.c.D
	for _, e := range g.graph.Incoming(n) {
		src := int(g.graph.Src[e])
		if sp.wasSent(k, src, b) {
			f(g.sender(g.w, int(e)), h[(src*sp.b+b)*d:][:d], int(e))
		}
	}
	if e := int(p.eRow[r]); e >= 0 {
		f(g.boundary(g.w, sp.in.modality, n), sp.emb[e*g.c.DE:][:g.c.DE], -1)
	}
}

// messages is step 1 by messages that are rounded.
func (u *turn[F]) messages() {
	p, d, g := u.p, u.d, u.g
	area := g.c.H * g.c.H
	shape := ShapeOf(g.c)
	mail := u.l.post(g)
	p.board = size(p.board, cap(p.sess)*area)
	for r := u.r0; r < u.r0+u.m; r++ {
		board := p.board[r*area:][:area]
		clear(board)
		g.eachMessage(u.sp, p, u.n, u.k, r, u.sp.hFinal, func(s sender[F], x []F, _ int) {
			Payload(mail.payload, mail.seeds, x, s.wOut, s.kernel, shape)
			mail.round()
			s.runs(func(from, to, n int) { dense.Add(board[to:to+n], mail.payload[from:from+n]) })
		})
		dense.Scale(board, p.inv[r])
	}
	u.l.work.Mul(u.of(p.h0, d), u.of(p.board, area), g.maps.cells[u.n], u.m, area, d)
}

// messages goes back through step 1 by messages, to the vectors that neighbours
// sent and to the weights of their edges. Rounding counts as the identity within
// its range.
func (v *reverse[F]) messages(dx []F) {
	p, d, g, sp := v.p, v.d, v.g, v.sp
	area := g.c.H * g.c.H
	shape := ShapeOf(g.c)
	width := len(g.graph.Incoming(v.n)) * d
	clear(dx)
	boards := v.l.take(v.m * area)
	v.l.work.MulT(boards, v.of(p.h0, d), g.maps.cells[v.n], v.m, d, area)
	mail := v.l.post(g)
	dPayload, dSeeds := v.l.take(area), v.l.take(g.c.A*g.c.A)
	sent := sp.hLog[v.k*g.c.N*sp.b*d:]
	for i := range v.m {
		r := v.r0 + i
		board := boards[i*area:][:area]
		dense.Scale(board, p.inv[r])
		g.eachMessage(sp, p, v.n, v.k, r, sent, func(s sender[F], x []F, edge int) {
			Payload(mail.payload, mail.seeds, x, s.wOut, s.kernel, shape)
			s.runs(func(from, to, n int) { copy(dPayload[from:from+n], board[to:to+n]) })
			for j, y := range mail.payload {
				if y > limit8 || y < -limit8 {
					dPayload[j] = 0
				}
			}
			var dw, dk, dh []F
			if edge >= 0 {
				dw, dk = part(sp.grads[sEdgeW], edge, g.graph.Edges()), part(sp.grads[sEdgeK], edge, g.graph.Edges())
				dh = dx[i*width+g.place[edge]*d:][:d]
			} else {
				dw, dk = part(sp.grads[sBoundW], v.n, g.c.N), part(sp.grads[sBoundK], v.n, g.c.N)
			}
			s.payloadBack(dw, dk, dh, dPayload, mail.seeds, dSeeds, x)
		})
	}
}

// payloadBack adds the gradients of a payload's W_out, kernel and vector.
func (s *sender[F]) payloadBack(dw, dk, dx, dPayload, seeds, dSeeds, x []F) {
	for seed := range dSeeds {
		y0, x0 := seed/s.a*s.stride-s.pad, seed%s.a*s.stride-s.pad
		var sum F
		for u := max(0, -y0); u < min(s.kappa, s.h-y0); u++ {
			for v := max(0, -x0); v < min(s.kappa, s.h-x0); v++ {
				g := dPayload[(y0+u)*s.h+x0+v]
				sum += g * s.kernel[u*s.kappa+v]
				if dk != nil {
					dk[u*s.kappa+v] += g * seeds[seed]
				}
			}
		}
		dSeeds[seed] = sum
	}
	for i, w := range s.wOut {
		g := dSeeds[i%len(dSeeds)]
		if dw != nil {
			dw[i] += g * x[i%s.dim]
		}
		if dx != nil {
			dx[i%s.dim] += g * w
		}
	}
}

// collectMessages adds the gradient of a receiver's cells.
func (g *Grid[F]) collectMessages(dcells []F, l *lane[F], sp *space[F], n int) {
	p, area := &sp.cells[n], g.c.H*g.c.H
	if p.rows > 0 {
		l.work.AddTMul(dcells, p.board[:p.rows*area], p.h0, area, p.rows, g.c.D)
	}
}
