package sight

import (
	"slices"

	"atenia/internal/memory/ledger"
)

// most bounds the memory of images that were encoded; at least one is kept.
const most = 256 << 20

// A cache is the images that were encoded last, the latest at the end.
type cache struct {
	all   []kept
	bytes int64
}

type kept struct {
	s     *Seen
	bytes int64
	room  ledger.Reservation
}

func (c *cache) get(hash [32]byte) *Seen {
	for i, k := range c.all {
		if k.s.Hash == hash {
			c.all = append(slices.Delete(c.all, i, i+1), k)
			return k.s
		}
	}
	return nil
}

// put adds an image, and drops the oldest until its account has room.
func (c *cache) put(s *Seen, a *ledger.Account) {
	k := kept{s: s}
	for _, p := range s.Pieces {
		k.bytes += p.Bytes()
	}
	for len(c.all) > 0 && c.bytes+k.bytes > most {
		c.drop()
	}
	for {
		var err error
		if k.room, err = a.Reserve(ledger.Scratch, k.bytes); err == nil {
			break
		}
		if len(c.all) == 0 {
			return // the request has it nevertheless
		}
		c.drop()
	}
	c.all, c.bytes = append(c.all, k), c.bytes+k.bytes
}

func (c *cache) drop() {
	k := &c.all[0]
	c.bytes -= k.bytes
	k.room.Release()
	c.all = slices.Delete(c.all, 0, 1)
}

func (c *cache) clear() {
	for len(c.all) > 0 {
		c.drop()
	}
}
