package data

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// A Source yields batches. The sources of a set must be used by one goroutine at
// a time.
type Source struct {
	set   *Set
	spans []span
	units []int64 // cumulative number of units by span, starting with 0
	train bool    // shuffled, with cuts that differ between epochs

	epoch, place uint64
	order        shuffle
	ids          []int32
}

// A unit is a candidate for a row: a part of a span, possibly empty. A span of n
// positions longer than a row has ⌈n/row⌉+1 units: the length of the first
// depends on the epoch, the last is the remainder.
func newSource(s *Set, spans []span, train bool) *Source {
	r := &Source{set: s, spans: spans, train: train, units: make([]int64, 1, len(spans)+1)}
	row := s.row()
	for _, d := range spans {
		n := int64(1)
		if size := d.to - d.from - 1; size > row {
			n = (size+row-1)/row + 1
		}
		r.units = append(r.units, r.units[len(r.units)-1]+n)
	}
	r.begin(0, 0)
	return r
}

// row returns the most positions of a unit.
func (s *Set) row() int64 {
	if s.pairs != nil { // examples have no parts
		return math.MaxInt64
	}
	return int64(s.cfg.Row)
}

// count returns the number of units in an epoch.
func (r *Source) count() uint64 { return uint64(r.units[len(r.units)-1]) }

// begin moves to a position in an epoch.
func (r *Source) begin(epoch, place uint64) {
	r.epoch, r.place = epoch, place
	if r.train {
		r.order = newShuffle(r.count(), r.set.cfg.Seed, orderStream, epoch)
	}
}

// unit returns the range of the unit at a position of the epoch.
func (r *Source) unit(place uint64) span {
	u := int64(place)
	if r.train {
		u = int64(r.order.at(place))
	}
	i := sort.Search(len(r.spans), func(i int) bool { return r.units[i+1] > u })
	d, k, row := r.spans[i], u-r.units[i], r.set.row()
	end := d.to - 1 // the last token has no successor to predict
	if end-d.from <= row {
		return span{d.from, end}
	}
	first := row
	if r.train {
		first = 1 + int64(hash(r.set.cfg.Seed, shiftStream, r.epoch, uint64(i))%uint64(row))
	}
	from := d.from
	if k > 0 {
		from, first = from+first+(k-1)*row, row
	}
	return span{min(from, end), min(from+first, end)}
}

// Next fills b, whose slices it reuses, with the next batch.
func (r *Source) Next(b *Batch) error {
	b.Tokens, b.Labels, b.Lens, b.Media = b.Tokens[:0], b.Labels[:0], b.Lens[:0], b.Media[:0]
	b.Types, b.Answers, b.Targets = b.Types[:0], b.Answers[:0], b.Targets[:0]
	if r.set.pairs != nil {
		return r.nextPairs(b)
	}
	room := r.set.cfg.Row * r.set.cfg.Rows
	for {
		if r.place == r.count() {
			if len(b.Lens) > 0 {
				return nil // a row must not occur twice in a batch
			}
			r.begin(r.epoch+1, 0)
		}
		u := r.unit(r.place)
		n := int(u.to - u.from)
		if len(b.Tokens)+n > room || r.set.cfg.Alone && len(b.Lens) == r.set.cfg.Rows {
			return nil
		}
		r.place++
		if n == 0 {
			continue
		}
		if err := r.row(b, u, n); err != nil {
			return err
		}
		if len(b.Tokens) == room {
			return nil
		}
	}
}

// row adds a unit to a batch, unless it has nothing to learn.
func (r *Source) row(b *Batch, u span, n int) error {
	r.ids = slices.Grow(r.ids[:0], n+1)[:n+1]
	if err := r.set.store.read(r.ids, u.from); err != nil {
		return err
	}
	if !slices.ContainsFunc(r.ids[1:], func(id int32) bool { return id >= 0 }) {
		return nil
	}
	for i, id := range r.ids[:n] {
		label := r.ids[i+1]
		if label < 0 {
			label = Ignored
		}
		b.Tokens, b.Labels = append(b.Tokens, max(id, ^id)), append(b.Labels, label)
	}
	b.Lens = append(b.Lens, n)
	if r.set.media != nil {
		b.Media = append(b.Media, r.set.media[u.from])
	}
	return nil
}

// Cursor returns the position of the next batch, as text: epoch, row, and a
// checksum of the data and the cuts.
func (r *Source) Cursor() string {
	return fmt.Sprintf("%d:%d@%08x", r.epoch, r.place, r.set.version)
}

// Seek moves to a position returned by [Source.Cursor] of this source or of one
// created alike; "" is the start. Errors match [errConfig].
func (r *Source) Seek(cursor string) error {
	if cursor == "" {
		r.begin(0, 0)
		return nil
	}
	var epoch, place uint64
	var version uint32
	if n, err := fmt.Sscanf(cursor, "%d:%d@%x", &epoch, &place, &version); n != 3 || err != nil || place > r.count() {
		return fmt.Errorf("%w: no place %q", errConfig, cursor)
	}
	if version != r.set.version {
		return fmt.Errorf("%w: the data, or the settings that cut, hold out or shuffle it, have changed: start again, or restore them", errConfig)
	}
	r.begin(epoch, place)
	return nil
}
