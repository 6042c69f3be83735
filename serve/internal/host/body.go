package host

// The body of a request as it comes.

import (
	"errors"
	"io"
	"net/http"
	"time"

	"atenia/internal/machine/ledger"
)

// A body must come within a time: a client that sends it a byte a minute, or half of
// it, must not hold a request open. That is so even where nobody reads it, since
// package http reads what is left before it sends a response.
type body struct {
	io.ReadCloser
	control *http.ResponseController
	ended   bool // it was read, or there is none
}

// newBody begins the time. Recorders of tests have no deadlines.
func newBody(w http.ResponseWriter, q *http.Request, l *Limits) *body {
	b := &body{http.MaxBytesReader(w, q.Body, l.Body), http.NewResponseController(w), q.ContentLength == 0}
	b.within(l.Read)
	return b
}

// within sets how long what is left may take.
func (b *body) within(d time.Duration) {
	if !b.ended {
		_ = b.control.SetReadDeadline(time.Now().Add(d))
	}
}

// Read implements [io.Reader]. The deadline is taken back at the end, because the
// connection is watched while the answer is made, and used again.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.ended {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// restTime is how long a client that was refused has for the rest of its body: one that
// sends all of it before it reads sees the answer.
const restTime = 5 * time.Second

// errCrowded says that bodies which are still coming have as many bytes as there may
// be: those of as many requests as may be under way.
var errCrowded = errors.New("too many bytes of unfinished bodies")

// collect reads a body, which counts for what unfinished bodies hold, and for the memory
// of the process.
func (h *Host) collect(body io.Reader) ([]byte, error) {
	m := &metered{r: body, h: h}
	defer func() {
		h.held.Add(-m.n)
		m.room.Release()
	}()
	return io.ReadAll(m)
}

// A metered reader counts what unfinished bodies hold.
type metered struct {
	r    io.Reader
	h    *Host
	n    int64
	room ledger.Reservation
}

// roomStep is what is reserved at a time for a body that is longer: a small one costs
// no look at the account.
const roomStep = 1 << 20

func (m *metered) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	m.n += int64(n)
	if m.h.held.Add(int64(n)) > m.h.limits.Body*int64(m.h.limits.Requests) && err == nil {
		err = errCrowded
	}
	if need := m.n &^ (roomStep - 1); need > m.room.Bytes() && err == nil {
		if m.room.Bytes() == 0 {
			m.room, err = ledger.Process.Reserve(ledger.Bodies, need)
		} else {
			err = m.room.Resize(need)
		}
		if err != nil {
			err = errors.Join(errCrowded, err)
		}
	}
	return n, err
}
