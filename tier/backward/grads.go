package backward

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"atenia/tier"
	"atenia/tier/blob"
)

// A Report counts what [Persist] did.
type Report struct {
	Saved   int `json:"saved"`
	Skipped int `json:"skipped"`
}

// Persist writes gradients to the persistent cache, in place of what it has of
// them; created is in seconds since 1970. Those in VRAM move to RAM first and
// stay there. Skipped are those that are not registered, that have no bytes, or
// that do not get to RAM. An error of the cache ends it, with the report so far.
func Persist(ctx context.Context, m *tier.Manager, ids []string, created uint64) (Report, error) {
	var r Report
	for _, id := range ids {
		if at, ok := m.Tier(id); ok && at == tier.VRAM {
			if err := move(ctx, m, id, tier.RAM); err != nil && ctx.Err() != nil {
				return r, ctx.Err()
			}
		}
		if at, ok := m.Residence(id); !ok || at.Tier != tier.RAM || at.Backing != tier.BackingRAM {
			r.Skipped++
			continue
		}
		if err := persist(ctx, m, id, created); err != nil {
			return r, err
		}
		r.Saved++
	}
	return r, nil
}

func persist(ctx context.Context, m *tier.Manager, id string, created uint64) error {
	l, err := m.Lease(ctx, id)
	if err != nil {
		return err
	}
	defer l.Release()
	return m.PersistGradient(ctx, id, l.Bytes, created, true)
}

// Warm registers in RAM the gradients that are missing and that the persistent
// cache has, and returns how many. It does not touch those that are registered.
// A gradient that this manager did not persist is looked for on the disk: the
// longest that is whole, since a length is all that tells two from each other.
// Whatever cannot be restored is left out.
func Warm(ctx context.Context, m *tier.Manager, ids []string) int {
	n := 0
	var d *disk
	for _, id := range ids {
		if _, present := m.Tier(id); present || ctx.Err() != nil {
			continue
		}
		data, err := m.RestoreGradient(id)
		if _, indexed := m.GradientKey(id); err != nil && !indexed && m.Cache() != nil {
			if d == nil {
				d = search(m.Cache())
			}
			data, err = d.longest(id)
		}
		if err != nil {
			continue
		}
		if _, err := m.RegisterData(id, data, tier.RAM); err == nil {
			n++
		}
	}
	return n
}

// A disk is which lengths of gradients the cache has.
type disk struct {
	cache  *blob.Cache
	known  map[string][]int // by id
	unsure []int            // of entries whose ids are not certain
}

// search lists the cache once for all ids.
func search(c *blob.Cache) *disk {
	d := &disk{cache: c, known: map[string][]int{}}
	keys, err := c.Keys(blob.Gradient)
	if err != nil {
		return d
	}
	for _, k := range keys {
		at := strings.LastIndex(k, "len")
		if at < 0 {
			continue
		}
		n, err := strconv.ParseUint(k[at+len("len"):], 10, 63)
		if err != nil {
			continue
		}
		id, named := strings.CutPrefix(k[:at], "grad:")
		if id, ended := strings.CutSuffix(id, ":"); named && ended {
			d.known[id] = append(d.known[id], int(n))
		} else { // an entry without its owner's name: the key itself will tell
			d.unsure = append(d.unsure, int(n))
		}
	}
	return d
}

// longest returns the longest gradient of an id that is whole.
func (d *disk) longest(id string) ([]byte, error) {
	lengths := slices.Concat(d.known[id], d.unsure)
	slices.Sort(lengths)
	for _, n := range slices.Backward(slices.Compact(lengths)) {
		data, err := d.cache.Get(blob.Gradient, fmt.Sprintf("grad:%s:len%d", id, n))
		if err == nil && len(data) == n {
			return data, nil
		}
	}
	return nil, &blob.CacheError{Reason: blob.ErrNotFound, Kind: blob.Gradient, Key: "grad:" + id}
}
