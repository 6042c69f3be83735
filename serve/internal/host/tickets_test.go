package host

import (
	"testing"
	"time"
)

// TestTicketsExpire: a ticket is good for a minute, and of too many the oldest is not.
func TestTicketsExpire(t *testing.T) {
	now := time.Unix(0, 0)
	x := tickets{now: func() time.Time { return now }}
	late, soon := x.give("a"), x.give("b")
	now = now.Add(ticketTime - 1)
	if client, ok := x.take(soon); !ok || client != "b" {
		t.Errorf("within its time: %q, %v", client, ok)
	}
	now = now.Add(1)
	if _, ok := x.take(late); ok {
		t.Error("after its time")
	}
	first := x.give("c")
	for range mostTickets {
		x.give("d")
	}
	if _, ok := x.take(first); ok || len(x.list) != mostTickets {
		t.Errorf("the oldest of %d", len(x.list))
	}
}
