package ledger

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"atenia/internal/spelling"
)

// A Use is what bytes are held for.
type Use uint8

// The uses of memory.
const (
	Program     Use = iota // code, stacks and heap of the process
	Weights                // that stay in memory, as the files have them
	Packed                 // weights in the order in which kernels read
	Streamed               // the ring that weights are read into, and experts that were
	Cache                  // keys and values
	Scratch                // registers and work memory of steps
	Adapters               // weights that are added to those of a model
	Parameters             // of a model that is trained
	Gradients              // of them
	Moments                // of them: the state of an optimizer
	Activations            // that a backward pass needs
	Tensors                // of a manager of package memory
	Samples                // that are measured with
	Bodies                 // of requests that are read
	uses
)

var useNames = []string{
	"program", "weights", "packed", "streamed", "cache", "scratch", "adapters",
	"parameters", "gradients", "moments", "activations", "tensors", "samples", "bodies",
}

// String returns the name of the use, such as "weights".
func (u Use) String() string { return spelling.Enum(useNames, "Use", u) }

// MarshalText writes the name of the use.
func (u Use) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// ErrFull is matched by errors about reservations that have no room.
var ErrFull = errors.New("no room in memory")

// An Error says how many bytes a reservation needed and how many its account had
// left. It matches [ErrFull].
type Error struct {
	Use          Use
	Needed, Free int64 // bytes
	Limit        int64
}

func (e *Error) Error() string {
	return fmt.Sprintf("%v: %s are needed, %s of %s are free", e.Use, spelling.Size(e.Needed), spelling.Size(e.Free), spelling.Size(e.Limit))
}

// Is reports whether target is [ErrFull].
func (e *Error) Is(target error) bool { return target == ErrFull }

// An Account is one memory, or the part of one that somebody may hold. A nil
// account has no limit and counts nothing. It is safe for concurrent use.
type Account struct {
	whole *Account // that this is a part of; nil = none
	watch *watch   // of the process's account; nil = none
	mu    sync.Mutex
	limit int64
	least int64 // see Promise
	held  int64
	peak  int64
	of    [uses]int64
	heap  int64 // of what is held, bytes on Go's heap
}

// New returns an account of which nothing is held; a limit of 0 is none. What is
// held of a part is held of the whole, too.
func New(whole *Account, limit int64) *Account {
	a := &Account{whole: whole}
	a.SetLimit(limit)
	return a
}

// SetLimit changes the limit, which may fall below what is held; 0 is none.
func (a *Account) SetLimit(n int64) {
	if n <= 0 {
		n = math.MaxInt64
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watch != nil {
		a.watch.asked = n
		a.measure()
		return
	}
	a.limit = n
}

// Limit returns the limit, 0 if there is none.
func (a *Account) Limit() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watch != nil {
		a.look(0)
	}
	if a.limit == math.MaxInt64 {
		return 0
	}
	return a.limit
}

// Promise lets n bytes be held whatever the limits of the account, and of those
// that it is a part of, become: what a run that has begun cannot go on without. The
// program, which is there, is no part of them. More than that finds room or fails, as ever.
func (a *Account) Promise(n int64) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.least = n
}

// Held returns the bytes that are held.
func (a *Account) Held() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held
}

// Of returns the bytes that are held for a use.
func (a *Account) Of(u Use) int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.of[u]
}

// Peak returns the most bytes that were held at a time.
func (a *Account) Peak() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.peak
}

// Free returns the bytes that can still be reserved.
func (a *Account) Free() int64 {
	if a == nil {
		return math.MaxInt64
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watch != nil {
		a.look(0)
	}
	return min(max(0, a.limit-a.held), a.whole.Free())
}

// Over returns by how much what is held exceeds the limit: bytes that have to be
// given back. The limit of [Process] is as it was when it was read last.
func (a *Account) Over() int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(0, a.held-a.limit)
}

// take holds n more bytes, or fewer for a negative n. What was promised to the
// account, or to a part of it, has no limit.
func (a *Account) take(u Use, n int64, outside, promised bool) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watch != nil {
		if u == Program {
			return nil // it is measured
		}
		a.look(n)
	}
	if a.least > 0 && !promised {
		promised = u == Program || a.held-a.of[Program]+n <= a.least
	}
	if free := max(0, a.limit-a.held); n > free && !promised {
		return &Error{u, n, free, a.limit}
	}
	if err := a.whole.take(u, n, outside, promised); err != nil {
		return err
	}
	a.hold(u, n)
	if !outside {
		a.heap += n
	}
	return nil
}

func (a *Account) hold(u Use, n int64) {
	a.held += n
	a.of[u] += n
	a.peak = max(a.peak, a.held)
}

// A Reservation is bytes that are held for a use until they are released. Its
// zero value holds none. It must be used by one goroutine at a time.
type Reservation struct {
	a       *Account
	use     Use
	outside bool // not on Go's heap
	n       int64
}

// Reserve holds n bytes that will be allocated on Go's heap, or fails with an
// [*Error] and holds none.
func (a *Account) Reserve(u Use, n int64) (Reservation, error) { return a.reserve(u, n, false) }

// ReserveOutside is Reserve for memory that Go does not manage.
func (a *Account) ReserveOutside(u Use, n int64) (Reservation, error) { return a.reserve(u, n, true) }

func (a *Account) reserve(u Use, n int64, outside bool) (Reservation, error) {
	if err := a.take(u, n, outside, false); err != nil {
		return Reservation{}, err
	}
	return Reservation{a, u, outside, n}, nil
}

// Bytes returns how many bytes are held.
func (r *Reservation) Bytes() int64 { return r.n }

// Resize holds n bytes in place of those held now. If that fails, with an
// [*Error], nothing has changed; holding fewer does not fail.
func (r *Reservation) Resize(n int64) error {
	if err := r.a.take(r.use, n-r.n, r.outside, false); err != nil {
		return err
	}
	r.n = n
	return nil
}

// Release holds the bytes no longer. It may be called more than once.
func (r *Reservation) Release() {
	_ = r.a.take(r.use, -r.n, r.outside, false) // giving back does not fail
	r.n = 0
}
