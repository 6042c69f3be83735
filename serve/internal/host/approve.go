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
)

// A desk has the questions about calls that clients were asked. Each is sealed with the key
// of this process, and its number says whether its call ran.
type desk struct {
	key   [sha256.Size]byte
	mu    sync.Mutex
	asked uint64
	ran   [window / 64]uint64 // bits of the last questions, by number
}

// window is how many questions can wait for their answer.
const window = 64 << 10

func newDesk() *desk {
	d := &desk{}
	_, _ = rand.Read(d.key[:]) // never fails
	return d
}

// bit returns where it stands whether the call of a question ran.
func (d *desk) bit(n uint64) (word *uint64, mask uint64) {
	n %= window
	return &d.ran[n/64], 1 << (n % 64)
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
	word, mask := d.bit(d.asked)
	*word &^= mask
	return d.seal(d.asked, server, tool, arguments)
}

// A Shown call is one that a client answers for, with the ID of the question.
type Shown struct{ ID, Server, Tool, Arguments string }

// Spend takes the questions of calls that may run now, each once: all of them, or none.
func (r *Request) Spend(calls []Shown) error {
	d := r.host.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	numbers := make([]uint64, len(calls))
	for i, c := range calls {
		parts := strings.Split(c.ID, "_")
		parts = parts[max(len(parts)-2, 0):]
		n, err := strconv.ParseUint(parts[0], 10, 64)
		if err != nil || !hmac.Equal([]byte(strings.Join(parts, "_")), []byte(d.seal(n, c.Server, c.Tool, c.Arguments))) || d.asked-n >= window {
			return fmt.Errorf("the call %q, %w", c.ID, errNotShown)
		}
		if word, mask := d.bit(n); *word&mask != 0 {
			return fmt.Errorf("the call %q, %w", c.ID, errRan)
		}
		numbers[i] = n
	}
	for _, n := range numbers {
		word, mask := d.bit(n)
		*word |= mask
	}
	return nil
}
