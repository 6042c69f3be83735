package school

import (
	"atenia/grad"
	"atenia/quila/internal/network"
	"atenia/quila/internal/stores"
	"atenia/quila/internal/sxlm"
)

const (
	bookEvery = 8   // steps between closed-book batches
	bookCodes = 512 // of a batch
	bookRate  = .02
)

// A book teaches the look-up memory what comes next in the text, by itself: the
// loss reaches its rows, W_k and W_v, nothing of the network. Rows that no
// context asks for stay zero.
type book struct {
	net    *network.Network[float32]
	mul    stores.Multipliers
	tape   *grad.Tape[float32]
	params []*grad.Param[float32] // table, W_k, W_v
	opt    *grad.Optimizer[float32]
	at     int
	loss   float32 // of the last batch
}

func newBook(n *network.Network[float32]) (*book, error) {
	var reg grad.Registry[float32]
	stores.RegisterEngram(&reg)
	b := &book{net: n, mul: stores.DefaultMultipliers(), tape: grad.New(&reg)}
	d := n.Config.D
	for _, rows := range []int{1 << n.Config.EngramBits, d, d} {
		v := make([]float32, rows*d)
		if len(b.params) > 0 { // W_k and W_v of a new model
			for i := range d {
				v[i*d+i] = 1
			}
		}
		b.params = append(b.params, &grad.Param[float32]{Name: [...]string{"table", "w_k", "w_v"}[len(b.params)], Shape: []int{rows, d}, Value: v, Grad: make([]float32, len(v))})
	}
	var err error
	b.opt, err = grad.NewOptimizer[float32](grad.AdamW{Beta1: .9, Beta2: .98, Epsilon: 1e-8}, b.params, nil)
	return b, err
}

// batch learns the next codes of a text.
func (b *book) batch(text []byte) error {
	const longest = 3
	var contexts [][]uint32
	var targets []int32
	for range bookCodes {
		if b.at+longest >= len(text) {
			b.at = 0
		}
		context := make([]uint32, longest)
		for i := range context {
			context[i] = uint32(text[b.at+i])
		}
		contexts, targets = append(contexts, context), append(targets, int32(text[b.at+longest]))
		b.at++
	}
	c, t := &b.net.Config, b.tape
	t.Reset()
	var refs [3]grad.Ref
	for i, p := range b.params {
		clear(p.Grad)
		refs[i] = t.Borrow(p.Value, p.Shape...)
		t.GradInto(refs[i], p.Grad)
	}
	loss, _, err := stores.ClosedBook(t, stores.Book{
		Table: refs[0], Keys: refs[1], Values: refs[2], Tau: c.Tau,
		Read: t.Const(b.net.Weights.Of("head.read"), c.DE, c.D), Codebook: t.Const(b.net.Weights.Of("codebook.text"), c.V, c.DE),
	}, contexts, targets, c.EngramBits, &b.mul)
	if err != nil {
		return err
	}
	if err := t.Backward(loss); err != nil {
		return err
	}
	b.loss = t.Value(loss)[0]
	b.opt.Step(bookRate, 1)
	return nil
}

// Keep gives a model what the stages learned besides weights: the libraries with
// the weights of their eviction, and the look-up memory.
func (c *Curriculum) Keep(m *sxlm.Model) error {
	if err := sxlm.KeepLibraries(m, c.store); err != nil {
		return err
	}
	if c.book != nil {
		e := &m.Engram
		e.Mul, e.Table = c.book.mul, sxlm.Narrow(c.book.params[0].Value)
		e.WK, e.WV = c.book.params[1].Value, c.book.params[2].Value
	}
	return nil
}
