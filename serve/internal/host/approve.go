package host

// Approvals of calls: what a client may answer for is what it was shown by this process.

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// What is wrong with an approval.
var (
	errNotShown = errors.New("which this server did not show so: nothing is kept over a restart, and what was shown must come back unchanged; ask again")
	errRan      = errors.New("whose call ran already: send its mcp_call item back, or ask again")
	errDenied   = errors.New("which was denied: ask again")
)

// A desk has the questions about calls that clients were asked. Each is sealed with the key
// of this process, and what became of it is kept by its number.
type desk struct {
	key   [sha256.Size]byte
	mu    sync.Mutex
	asked uint64
	fates [window]fate // of the last questions, by number
}

// A fate is what became of a question, an index of fates.
type fate uint8

const (
	waits fate = iota
	ran
	denied
)

// fates say why a call may not run (any more).
var fates = [...]error{ran: errRan, denied: errDenied}

// window is how many questions can wait for their answer.
const window = 64 << 10

func newDesk() *desk {
	d := &desk{}
	_, _ = rand.Read(d.key[:]) // never fails
	return d
}

// seal returns what only this process can say of a question about a call.
func (d *desk) seal(n uint64, server, tool, arguments string) string {
	mac := hmac.New(sha256.New, d.key[:])
	fmt.Fprintf(mac, "%d %q %q %q", n, server, tool, arguments)
	return fmt.Sprintf("%d_%x", n, mac.Sum(nil)[:16])
}

// Seal returns the end of the id of a question about a call.
func (r *Request) Seal(server, tool, arguments string) string {
	d := r.host.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	d.fates[d.asked%window] = waits
	return d.seal(d.asked, server, tool, arguments)
}

// An Answer is what a client says about a call that it was shown, with the ID of the question.
type Answer struct {
	ID, Server, Tool, Arguments string
	Approve                     bool
}

// Spend takes answers, all of them or none: a call may run once, and none that was denied.
// Whoever denies may do so again, also of what is not known.
func (r *Request) Spend(answers []Answer) error {
	d := r.host.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	open := make([]*fate, len(answers))
	for i, c := range answers {
		parts := strings.Split(c.ID, "_")
		parts = parts[max(len(parts)-2, 0):]
		n, err := strconv.ParseUint(parts[0], 10, 64)
		if err != nil || !hmac.Equal([]byte(strings.Join(parts, "_")), []byte(d.seal(n, c.Server, c.Tool, c.Arguments))) || d.asked-n >= window {
			err = errNotShown
		} else if open[i] = &d.fates[n%window]; *open[i] != waits {
			err, open[i] = fates[*open[i]], nil
		}
		if err != nil && c.Approve {
			return fmt.Errorf("the call %q, %w", c.ID, err)
		}
	}
	for i, f := range open {
		switch {
		case f == nil:
		case answers[i].Approve:
			*f = ran
		default:
			*f = denied
		}
	}
	return nil
}
