package ledger

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestAccount: what is held never exceeds the limit by a reservation, of a part
// and of the whole, and nothing is left when all is released.
func TestAccount(t *testing.T) {
	whole := New(nil, 1000)
	parts := []*Account{New(whole, 700), New(whole, 600), New(whole, 0)}
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 1))
			var held []Reservation
			for range 2000 {
				a := parts[rng.IntN(len(parts))]
				switch n := rng.Int64N(300); rng.IntN(3) {
				case 0:
					if r, err := a.Reserve(Use(rng.IntN(int(uses))), n); err == nil {
						held = append(held, r)
					} else if !errors.Is(err, ErrFull) {
						t.Error(err)
					}
				case 1:
					if len(held) > 0 {
						_ = held[rng.IntN(len(held))].Resize(n)
					}
				default:
					if len(held) > 0 {
						held[len(held)-1].Release()
						held[len(held)-1].Release()
						held = held[:len(held)-1]
					}
				}
			}
			for i := range held {
				held[i].Release()
			}
		})
	}
	wg.Wait()
	for i, a := range append(parts, whole) {
		if limit := a.Limit(); limit > 0 && a.Peak() > limit {
			t.Errorf("account %d of %d held %d", i, limit, a.Peak())
		}
		if a.Held() != 0 || a.Peak() == 0 {
			t.Errorf("account %d holds %d at the end, at most %d", i, a.Held(), a.Peak())
		}
		for u := range uses {
			if a.Of(u) != 0 {
				t.Errorf("account %d holds %d for %v", i, a.Of(u), u)
			}
		}
	}
}

// TestLimitFalls: a limit below what is held lets nothing be reserved and says
// how much is too much.
func TestLimitFalls(t *testing.T) {
	a := New(nil, 100)
	r, err := a.Reserve(Weights, 80)
	if err != nil {
		t.Fatal(err)
	}
	a.SetLimit(50)
	if a.Over() != 30 || a.Free() != 0 {
		t.Errorf("%d over, %d free", a.Over(), a.Free())
	}
	_, err = a.Reserve(Cache, 1)
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Needed != 1 || e.Free != 0 || e.Limit != 50 || e.Use != Cache {
		t.Errorf("got %v", err)
	}
	if err := r.Resize(40); err != nil || a.Over() != 0 || a.Free() != 10 {
		t.Errorf("%v, %d over, %d free", err, a.Over(), a.Free())
	}
	if _, err := (*Account)(nil).Reserve(Cache, 1<<60); err != nil {
		t.Error(err)
	}
}

// TestPromise: what was promised to a part can be held whatever the limits have
// become, its own and that of the whole, and no more than that.
func TestPromise(t *testing.T) {
	whole := New(nil, 1000)
	a, other := New(whole, 500), New(whole, 0)
	a.Promise(300)
	r, err := a.Reserve(Weights, 100)
	if err != nil {
		t.Fatal(err)
	}
	whole.SetLimit(50)
	a.SetLimit(50)
	if _, err := other.Reserve(Cache, 1); !errors.Is(err, ErrFull) {
		t.Errorf("to an account without a promise: %v", err)
	}
	if _, err := a.Reserve(Cache, 201); !errors.Is(err, ErrFull) {
		t.Errorf("more than was promised: %v", err)
	}
	program, err := a.Reserve(Program, 400)
	if err != nil {
		t.Error(err)
	}
	more, err := a.Reserve(Cache, 150)
	if err != nil {
		t.Error(err)
	}
	if err := r.Resize(150); err != nil {
		t.Error(err)
	}
	if a.Over() != 650 || whole.Over() != 650 {
		t.Errorf("over by %d and %d", a.Over(), whole.Over())
	}
	program.Release()
	more.Release()
	r.Release()
	if whole.Held() != 0 {
		t.Errorf("%d are held at the end", whole.Held())
	}
}
