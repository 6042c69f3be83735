package decide

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
)

// A PersistReport counts what [PersistGradients] did.
type PersistReport struct {
	Saved   int `json:"saved"`
	Skipped int `json:"skipped"`
}

// PersistGradients writes gradients to the persistent cache and replaces older entries;
// created is in seconds since 1970. Gradients in VRAM move to RAM first and stay
// there. It skips gradients that are not registered, have no bytes, or cannot be
// moved to RAM. An error of the cache ends it and is returned with the report so
// far.
func PersistGradients(ctx context.Context, m *memory.Manager, ids []string, created uint64) (PersistReport, error) {
	var r PersistReport
	for _, id := range ids {
		if at, ok := m.Tier(id); ok && at == memory.VRAM {
			if err := move(ctx, m, id, memory.RAM); err != nil && ctx.Err() != nil {
				return r, ctx.Err()
			}
		}
		if at, ok := m.Residence(id); !ok || at.Tier != memory.RAM || at.Backing != memory.BackingRAM {
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

func persist(ctx context.Context, m *memory.Manager, id string, created uint64) error {
	l, err := m.Lease(ctx, id)
	if err != nil {
		return err
	}
	defer l.Release()
	return m.PersistGradient(ctx, id, l.Bytes, created, true)
}

// WarmGradients registers in RAM the missing gradients that the persistent cache has, and
// returns how many. It does not touch registered ones. For a gradient that this
// manager did not persist, it takes the longest intact entry on disk, because
// only the length tells entries of one id apart. Gradients that cannot be
// restored are left out.
func WarmGradients(ctx context.Context, m *memory.Manager, ids []string) int {
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
		if _, err := m.RegisterData(id, data, memory.RAM); err == nil {
			n++
		}
	}
	return n
}

// A disk lists the lengths of the gradients in the cache.
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
		} else { // an entry without its owner's name: reading it by key will show whether it is this id's
			d.unsure = append(d.unsure, int(n))
		}
	}
	return d
}

// longest returns the longest intact gradient of an id.
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
