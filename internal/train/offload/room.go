package offload

import (
	"unsafe"

	"atenia/internal/machine/ledger"
)

// A Room is where a model whose parameters are paged takes memory.
type Room struct {
	Account *ledger.Account
	// Insist makes room until a reservation is met: see [Pager.Insist]. Nil is once.
	Insist func(reserve func() error) error
	tapes  ledger.Reservation
}

// Floats are numbers outside of Go's heap. The zero value has none.
type Floats struct {
	Values []float32
	block  ledger.Block
}

// Release gives the memory back. It may be called more than once.
func (f *Floats) Release() {
	f.block.Release()
	f.Values = nil
}

// Parameters takes memory for values of parameters.
func (r *Room) Parameters(n int) (Floats, error) { return r.take(ledger.Parameters, n) }

// Activations takes memory for values between the blocks of a model.
func (r *Room) Activations(n int) (Floats, error) { return r.take(ledger.Activations, n) }

func (r *Room) take(u ledger.Use, n int) (f Floats, err error) {
	reserve := func() error {
		b, err := ledger.NewBlock(r.Account, u, 4*n)
		if err == nil {
			f = Floats{floats(b.Bytes), b}
		}
		return err
	}
	if r.Insist != nil {
		err = r.Insist(reserve)
	} else {
		err = reserve()
	}
	return f, err
}

// Hold reserves what tapes take of Go's heap, in place of what it reserved before.
func (r *Room) Hold(bytes int64) error {
	room, err := r.Account.Reserve(ledger.Activations, bytes)
	if err != nil {
		return err
	}
	r.tapes.Release()
	r.tapes = room
	return nil
}

// Release gives back what Hold reserved.
func (r *Room) Release() { r.tapes.Release() }

// floats returns the float32 numbers in b.
func floats(b []byte) []float32 {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}
