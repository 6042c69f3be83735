package host

// Tickets stand for a key once: a page in a browser cannot put a key on a WebSocket.

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"sync"
	"time"
)

const (
	ticketTime  = time.Minute
	mostTickets = 1024 // that were not used yet; the oldest goes
)

// tickets are those that were given and not used.
type tickets struct {
	mu   sync.Mutex
	list []ticket
	now  func() time.Time // nil = the clock
}

type ticket struct {
	id, client string
	until      time.Time
}

func (t *tickets) clock() time.Time {
	if t.now != nil {
		return t.now()
	}
	return time.Now()
}

// give makes one for a client.
func (t *tickets) give(client string) string {
	var b [16]byte
	rand.Read(b[:])
	id := hex.EncodeToString(b[:])
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) == mostTickets {
		t.list = t.list[1:]
	}
	t.list = append(t.list, ticket{id, client, t.clock().Add(ticketTime)})
	return id
}

// take takes one back, and returns whose it is.
func (t *tickets) take(id string) (client string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	for i, x := range t.list {
		if x.id == id {
			t.list = append(t.list[:i], t.list[i+1:]...)
			return x.client, now.Before(x.until)
		}
	}
	return "", false
}

// Ticket answers with a ticket for one request to a route that takes them.
func (h *Host) Ticket(_ http.ResponseWriter, r *Request) error {
	return r.WriteJSON(http.StatusOK, map[string]any{"ticket": h.tickets.give(r.client), "expires_in": int(ticketTime.Seconds())})
}
