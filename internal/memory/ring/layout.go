package ring

import (
	"fmt"
	"slices"
)

// A Span is a part of a file that a unit needs contiguous in memory.
type Span struct {
	File   int // index of the source
	Offset int64
	Bytes  int
	// Align is the required alignment of the address, at most 64: 0 and 1 mean
	// none. A span whose offset is not a multiple of it is moved after each read.
	Align int
	// Coded, if not nil, is the same span in coded form, which is read instead, from
	// the coded source of that index. Damaged chunks are read from the file.
	Coded     *CodedWeight
	CodedFile int
}

// room returns the memory that a span takes: whole pages of the file.
func (s *Span) room() int {
	before := int(s.Offset % PageBytes)
	if s.Coded != nil {
		before = 0
	}
	return (before + s.Bytes + PageBytes - 1) / PageBytes * PageBytes
}

// shift returns how far down a span is moved to be aligned.
func (s *Span) shift() int {
	if s.Align <= 1 {
		return 0
	}
	return int(s.Offset % PageBytes % int64(s.Align))
}

// check rejects spans outside their files.
func (s *Span) check(files []Source, codes int) error {
	switch {
	case s.Coded != nil && (s.CodedFile < 0 || s.CodedFile >= codes || s.Coded.Bytes != int64(s.Bytes)):
		return fmt.Errorf("ring: a span of %d bytes, coded %d in file %d of %d", s.Bytes, s.Coded.Bytes, s.CodedFile, codes)
	case s.File < 0 || s.File >= len(files):
		return fmt.Errorf("ring: a span of file %d, there are %d", s.File, len(files))
	case s.Bytes <= 0 || s.Offset < 0 || s.Offset > files[s.File].Size()-int64(s.Bytes):
		return fmt.Errorf("ring: a span of %d bytes at %d of a file of %d", s.Bytes, s.Offset, files[s.File].Size())
	case s.Align < 0 || s.Align > 64 || s.Align&(s.Align-1) != 0:
		return fmt.Errorf("ring: a span aligned to %d, want a power of two up to 64", s.Align)
	}
	return nil
}

// A Unit is a list of spans that are used, read and released together.
type Unit []Span

// Room returns the bytes that a unit takes in a ring.
func (u Unit) Room() (n int) {
	for i := range u {
		n += u[i].room()
	}
	return n
}

// Check rejects spans outside their files.
func (u Unit) Check(files []Source) error { return u.check(files, 0) }

func (u Unit) check(files []Source, codes int) error {
	for i := range u {
		if err := u[i].check(files, codes); err != nil {
			return err
		}
	}
	return nil
}

// Floor returns the smallest ring in which each unit can be read while the
// previous one is in use: the largest pair of neighbours in the cycle.
func Floor(units []Unit) (n int) {
	for i := range units {
		a, b := units[i].Room(), units[(i+1)%len(units)].Room()
		if len(units) == 1 {
			b = 0
		}
		n = max(n, a+b)
	}
	return n
}

// A slot is the place of a unit in the ring.
type slot struct {
	at, size int
	// back is how many units earlier in the cycle the last unit stands whose memory
	// overlaps this one's: this unit may be read once that one is released. A unit
	// overlaps itself one cycle back.
	back int
}

// place assigns places in n bytes to units of the given sizes: consecutively,
// wrapping to the start at the end of each lap. Of the possible lap lengths it
// takes the one with the largest read-ahead at the worst unit, which is usually
// where a pass ends and the next begins, and then of all units together.
func place(sizes []int, n int) []slot {
	var best []slot
	least, all := -1, 0
	try := func(slots []slot) {
		if l, a := readAhead(slots); l > least || l == least && a > all {
			best, least, all = slots, l, a
		}
	}
	for _, lap := range laps(sizes, n) {
		try(placeIn(sizes, lap, 0))
	}
	sum := 0
	for _, size := range sizes {
		sum += size
	}
	for few := (sum + n - 1) / n; few <= (2*sum+n-1)/n && few <= len(sizes); few++ { // of which all are about as long
		try(placeIn(sizes, n, (sum+few-1)/few))
	}
	return best
}

// Backs returns for each unit of the given sizes, in a ring of n bytes, how many units
// earlier in the cycle the one stands that is released before it is read.
func Backs(sizes []int, n int) (out []int) {
	if len(sizes) == 0 || n <= 0 {
		return nil
	}
	for _, s := range place(sizes, n) {
		out = append(out, s.back)
	}
	return out
}

// laps returns candidate lap lengths: the ends of units between n/2 and n,
// longest first.
func laps(sizes []int, n int) []int {
	const tries = 64
	out := []int{n}
	for first := range sizes {
		end := 0
		for k := range sizes {
			if end += sizes[(first+k)%len(sizes)]; end > n {
				break
			}
			if end >= n/2 {
				out = append(out, end)
			}
		}
		if len(out) > 16*tries {
			break
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	slices.Reverse(out)
	return out[:min(len(out), tries)]
}

// placeIn places units in laps of so many bytes at most. If each is not 0, a lap ends nearest
// to where that many for each so far do.
func placeIn(sizes []int, lap, each int) []slot {
	slots := make([]slot, len(sizes))
	at, sum, end := 0, 0, each
	for i, n := range sizes {
		if at+n > lap || each > 0 && at > 0 && sum+n/2 >= end {
			at = 0
			end += each
		}
		slots[i] = slot{at: at, size: n}
		at, sum = at+n, sum+n
	}
	for i := range slots {
		s := &slots[i]
		for s.back = 1; s.back < len(slots); s.back++ {
			o := &slots[(i-s.back+len(slots))%len(slots)]
			if s.at < o.at+o.size && o.at < s.at+s.size {
				break
			}
		}
	}
	return slots
}

// readAhead returns the distance in bytes between a unit and the one it waits for, which are
// in use or ready when its read starts: the smallest of all units, and their sum.
func readAhead(slots []slot) (least, all int) {
	least = -1
	for i := range slots {
		ahead := 0
		for d := 1; d < slots[i].back; d++ {
			ahead += slots[(i-d+len(slots))%len(slots)].size
		}
		if all += ahead; least < 0 || ahead < least {
			least = ahead
		}
	}
	return least, all
}

// A piece is one read.
type piece struct {
	unit   int // that it belongs to
	index  int // among all pieces of a ring
	file   int
	offset int64  // of the file, aligned
	mem    []byte // whole pages
	need   int    // bytes that must be read; the rest may be past the end of the file
	sum    uint32 // of those bytes
	summed bool   // sum is valid
	code   *code  // nil: the file has the bytes as they are
}

// size returns the bytes that the read takes from the disk.
func (p *piece) size() int {
	if p.code != nil {
		return pages(p.code.Bytes)
	}
	return len(p.mem)
}

// pages rounds up to whole pages.
func pages(n int) int { return (n + PageBytes - 1) / PageBytes * PageBytes }

// A move copies a span to its alignment.
type move struct {
	from, to []byte
}

// cut divides spans into reads, the views handed to users, and the moves that
// follow the reads. mem has room for all spans.
func cut(spans []Span, mem []byte, most int) (views [][]byte, pieces []piece, moves []move) {
	for i := range spans {
		s := &spans[i]
		n := s.room()
		m := mem[:n:n]
		mem = mem[n:]
		if s.Coded != nil {
			view := m[:s.Bytes:s.Bytes]
			views, pieces = append(views, view), append(pieces, codes(s, view)...)
			continue
		}
		before := int(s.Offset % PageBytes)
		for at := 0; at < n; at += most {
			end := min(at+most, n)
			pieces = append(pieces, piece{
				file: s.File, offset: s.Offset - int64(before) + int64(at),
				mem: m[at:end:end], need: min(end, before+s.Bytes) - at,
			})
		}
		to := before - s.shift()
		view := m[to : to+s.Bytes : to+s.Bytes]
		if to != before {
			moves = append(moves, move{from: m[before : before+s.Bytes], to: view})
		}
		views = append(views, view)
	}
	return views, pieces, moves
}
