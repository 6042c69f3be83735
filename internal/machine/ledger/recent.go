package ledger

import "slices"

// A Recent is values that were computed last, by key, within the room of an account:
// those used longest ago give way. The zero value is empty. One goroutine at a time may
// use it.
type Recent[K comparable, V any] struct {
	all   []recent[K, V] // the one used last is at the end
	bytes int64
}

type recent[K comparable, V any] struct {
	key   K
	value V
	room  Reservation
}

// Get returns the value of a key, which is the last used then.
func (c *Recent[K, V]) Get(key K) (v V, ok bool) {
	for i, r := range c.all {
		if r.key == key {
			c.all = append(slices.Delete(c.all, i, i+1), r)
			return r.value, true
		}
	}
	return v, false
}

// Put adds a value of so many bytes, and drops the oldest until all take at most most
// bytes and the account has room. At least one is kept, if it has room at all: whoever
// has computed it has it nevertheless.
func (c *Recent[K, V]) Put(key K, v V, bytes, most int64, a *Account) {
	for len(c.all) > 0 && c.bytes+bytes > most {
		c.drop()
	}
	room, err := a.Reserve(Scratch, bytes)
	for err != nil && len(c.all) > 0 {
		c.drop()
		room, err = a.Reserve(Scratch, bytes)
	}
	if err == nil {
		c.all, c.bytes = append(c.all, recent[K, V]{key, v, room}), c.bytes+bytes
	}
}

func (c *Recent[K, V]) drop() {
	r := &c.all[0]
	c.bytes -= r.room.Bytes()
	r.room.Release()
	c.all = slices.Delete(c.all, 0, 1)
}

// Clear drops all.
func (c *Recent[K, V]) Clear() {
	for len(c.all) > 0 {
		c.drop()
	}
}
