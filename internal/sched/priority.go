package sched

import (
	"cmp"
	"fmt"
	"math"
	"sync/atomic"
)

// MaxPriority bounds [Request.Priority] on both sides of 0.
const MaxPriority = 100

// ageSteps is how many steps of waiting are worth a level of priority. Since every
// request rises, none waits forever for those that are preferred to it.
const ageSteps = 64

// maxClients is how many clients without requests are remembered.
const maxClients = 1024

// A client is all requests with one [Request.Client]. While clients wait, the one
// that was given the fewest tokens comes first: the virtual token counter of
// Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024.
type client struct {
	tokens atomic.Int64 // computed for it
	live   atomic.Int32 // requests that have not ended
}

// admission.client returns that of a request which is about to wait. One that had no request
// may not bring what it did not use meanwhile: it begins at least where the client
// with the fewest tokens is. a.mu is held.
func (a *admission) client(name string) *client {
	least, busy := int64(math.MaxInt64), false
	for _, c := range a.clients {
		if c.live.Load() > 0 {
			least, busy = min(least, c.tokens.Load()), true
		}
	}
	c := a.clients[name]
	if c == nil {
		if len(a.clients) >= maxClients {
			for n, old := range a.clients {
				if old.live.Load() == 0 {
					delete(a.clients, n)
				}
			}
		}
		c = &client{}
		a.clients[name] = c
	}
	if busy && c.live.Load() == 0 && c.tokens.Load() < least {
		c.tokens.Store(least)
	}
	c.live.Add(1)
	return c
}

func checkPriority(p int) error {
	if p < -MaxPriority || p > MaxPriority {
		return fmt.Errorf("a priority of %d: want −%d to %d", p, MaxPriority, MaxPriority)
	}
	return nil
}

// level is the priority of a request with what its waiting is worth.
func (st *Stream) level(steps uint64) int64 {
	return int64(st.req.Priority) + int64((steps-st.came)/ageSteps)
}

// compare orders waiting requests by level, then by the tokens that their clients
// were given, then by arrival. It returns the rule that decided and its numbers.
func compare(a, b *Stream, steps uint64) (order int, by Rule, of, than int64) {
	x, y := a.level(steps), b.level(steps)
	if x != y {
		return cmp.Compare(y, x), byPriority, x, y
	}
	if a.client != b.client {
		x, y = a.client.tokens.Load(), b.client.tokens.Load()
		if x != y {
			return cmp.Compare(x, y), byShare, x, y
		}
	}
	return cmp.Compare(a.number, b.number), byArrival, int64(steps - a.came), 0
}

// first returns the request that comes first of those that are not deferred, nil if there
// is none.
func first(queue []*Stream, steps uint64) (first *Stream) {
	for _, st := range queue {
		if st.deferred {
			continue
		}
		if first == nil {
			first = st
		} else if order, _, _, _ := compare(st, first, steps); order < 0 {
			first = st
		}
	}
	return first
}

// rank orders running requests: memory is taken from those with the largest.
func (st *Stream) rank(steps uint64) int64 {
	return int64(steps) - ageSteps*int64(st.req.Priority)
}
