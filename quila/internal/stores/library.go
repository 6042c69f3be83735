package stores

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"atenia/internal/machine/ledger"
	"atenia/quila/internal/index"
	"atenia/tensor"
)

// An entry is what is known of an entry, without its vectors.
type entry struct {
	id            uint64
	last, active  int64 // turns: of the last recall, of the last one with enough weight
	utility, conf float32
	count         uint32
	soft          bool
	evidence      Evidence
	page          *page
	slot          int
}

// entryBytes is what an entry holds in RAM beside its page, its links and the
// vector of the index, which have memory of their own.
const entryBytes = 96

// idle is for how many turns an entry was of no use.
func (e *entry) idle(turn int64) int64 { return turn - max(e.last, e.active) }

// A Library is the entries of one neuron. It is used through its [KFE].
type Library struct {
	s       *KFE
	neuron  int
	serial  uint32
	entries []entry // in the order in which they came
	by      map[uint64]int
	index   *index.Graph
	pages   []*page
	serials int // of pages
	room    ledger.Reservation
	grads   map[uint64][]float32 // of snapshots, until they are applied

	noted   sync.Mutex
	recalls []recall // since the last commit
	used    int      // of recalls
	offers  []Offer
}

// A recall is what a session's recall found.
type recall struct {
	session int
	ids     []uint64
	weights []float32
	missed  []bool // the entry was in L5
}

// A slot is the place of one entry in a page.
type slot struct {
	id    uint64
	taken bool
}

// A page is the vectors of so many entries.
type page struct {
	*Page
	lib   *Library
	slots []slot
	taken int
	hits  []uint32 // of the last turns, by turn modulo their number
	seen  int64    // turn of the newest
	gone  *gone    // when it was last evicted; nil: never, or learned from
}

// The layout of a record: what is known of the entry, embedding and snapshot in
// half precision.
const recordHeader = 40

func stride(dim int) int { return recordHeader + 4*dim }

// record returns the bytes of an entry in a page that is in RAM.
func (p *page) record(at int) []byte {
	n := stride(p.lib.s.dim)
	return p.Bytes()[at*n : (at+1)*n]
}

// records lists what is in a page for its block, and writes down what is known of
// the entries, so that the block can be read without the library.
func (p *page) records() []ColdRecord {
	n := stride(p.lib.s.dim)
	recs := make([]ColdRecord, 0, p.taken)
	for i, at := range p.slots {
		if !at.taken {
			continue
		}
		recs = append(recs, ColdRecord{Key: at.id, Offset: uint32(i * n), Length: uint32(n)})
		e := &p.lib.entries[p.lib.by[at.id]]
		b := p.record(i)
		le := binary.LittleEndian
		le.PutUint64(b, e.id)
		le.PutUint64(b[8:], uint64(e.last))
		le.PutUint32(b[16:], math.Float32bits(e.utility))
		le.PutUint32(b[20:], math.Float32bits(e.conf))
		le.PutUint32(b[24:], e.count)
		b[28], b[29] = 0, byte(e.evidence)
		if e.soft {
			b[28] = 1
		}
	}
	return recs
}

// vectors converts the half-precision vectors of a record.
func vectors[F float32 | float64](record []byte, embedding, snapshot []F) {
	v := record[recordHeader:]
	for i := range embedding {
		embedding[i] = F(half(v[2*i:]))
	}
	v = v[2*len(embedding):]
	for i := range snapshot {
		snapshot[i] = F(half(v[2*i:]))
	}
}

func half(b []byte) float32 { return tensor.F16ToF32(binary.LittleEndian.Uint16(b)) }

// largestHalf is the largest finite number of half precision.
const largestHalf = 65504

func putHalf(b []byte, x float32) {
	binary.LittleEndian.PutUint16(b, tensor.F32ToF16(max(-largestHalf, min(largestHalf, x))))
}

// write puts vectors into a record.
func write(record []byte, embedding, snapshot []float32) {
	v := record[recordHeader:]
	for i, x := range embedding {
		putHalf(v[2*i:], x)
	}
	v = v[2*len(embedding):]
	for i, x := range snapshot {
		putHalf(v[2*i:], x)
	}
}

// rounded returns a vector as its page keeps it.
func rounded(x []float32) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = tensor.F16ToF32(tensor.F32ToF16(v))
	}
	return out
}

// hit counts a recall of a page, and returns how many there were in the window.
func (p *page) hit(turn int64) (sum int) {
	w := uint64(len(p.hits))
	if turn > p.seen && uint64(turn-p.seen) >= w {
		clear(p.hits)
		p.seen = turn
	}
	for ; p.seen < turn; p.seen++ {
		p.hits[uint64(p.seen+1)%w] = 0
	}
	p.hits[uint64(p.seen)%w]++
	for _, n := range p.hits {
		sum += int(n)
	}
	return sum
}

// Index returns the index over the embeddings, labelled with ids. It must not be
// changed.
func (l *Library) Index() *index.Graph { return l.index }

// Len returns how many entries there are, shadows too.
func (l *Library) Len() int { return len(l.entries) }

// place finds a free slot, in a new page if need be.
func (l *Library) place() (*page, int, error) {
	for _, p := range l.pages {
		if p.taken < len(p.slots) && p.Level().InRAM() {
			return p, slices.IndexFunc(p.slots, func(at slot) bool { return !at.taken }), nil
		}
	}
	s := l.s
	tp, err := s.group.Page(fmt.Sprintf("%d.%d", l.neuron, l.serials), s.c.KFEPage*stride(s.dim), s.hottest)
	if err != nil {
		return nil, 0, err
	}
	l.serials++
	p := &page{Page: tp, lib: l, slots: make([]slot, s.c.KFEPage), hits: make([]uint32, s.c.PromotionWindow), seen: s.turn}
	tp.Records, tp.Owner = p.records, p
	l.pages = append(l.pages, p)
	return p, 0, nil
}

// reserve holds the RAM of so many entries.
func (l *Library) reserve(n int) error {
	want := int64(n) * int64(entryBytes+l.s.linkBytes())
	if l.room.Bytes() > 0 {
		return l.room.Resize(want)
	}
	var err error
	l.room, err = l.s.account().Reserve(ledger.Tensors, want)
	return err
}

// insert adds an entry whose vectors are given. The caller holds the store.
func (l *Library) insert(e entry, embedding, snapshot []float32) error {
	return l.enter(e, embedding, snapshot, func() error { return l.index.Add(e.id, rounded(embedding)) })
}

// enter adds an entry after it was added to the index.
func (l *Library) enter(e entry, embedding, snapshot []float32, index func() error) error {
	if _, ok := l.by[e.id]; ok {
		return &kfeValueError{"insert", l.neuron, "a new id", fmt.Sprintf("%#x", e.id), errDuplicate}
	}
	if err := l.reserve(len(l.entries) + 1); err != nil {
		return err
	}
	p, at, err := l.place()
	if err != nil {
		return err
	}
	if err := index(); err != nil {
		return err
	}
	e.page, e.slot = p, at
	p.slots[at] = slot{e.id, true}
	p.taken++
	write(p.record(at), embedding, snapshot)
	p.Changed()
	l.by[e.id] = len(l.entries)
	l.entries = append(l.entries, e)
	l.serial = max(l.serial, uint32(e.id)+1)
	return nil
}

// remove deletes an entry, and its page if it was the last there. The order of the
// others stays. The caller holds the store; the page is in RAM.
func (l *Library) remove(id uint64) error {
	i, ok := l.by[id]
	if !ok {
		return &kfeValueError{"delete", l.neuron, "an id of this library", fmt.Sprintf("%#x", id), errNoEntry}
	}
	p, at := l.entries[i].page, l.entries[i].slot
	if err := l.index.Delete(id); err != nil {
		return err
	}
	l.entries = slices.Delete(l.entries, i, i+1)
	delete(l.by, id)
	for j := i; j < len(l.entries); j++ {
		l.by[l.entries[j].id] = j
	}
	delete(l.grads, id)
	clear(p.record(at))
	p.slots[at] = slot{}
	p.taken--
	p.Changed()
	_ = l.reserve(len(l.entries)) // holding less does not fail
	if p.taken > 0 {
		return nil
	}
	l.pages = slices.DeleteFunc(l.pages, func(q *page) bool { return q == p })
	return l.s.group.Remove(p.Page)
}

// vectors reads the vectors of an entry, from RAM or from its record in L5.
func (l *Library) vectors(e *entry, embedding, snapshot []float32) error {
	b, err := l.bytes(e)
	if err == nil {
		vectors(b, embedding, snapshot)
	}
	return err
}

// bytes returns the record of an entry.
func (l *Library) bytes(e *entry) ([]byte, error) {
	if e.page.Level().InRAM() {
		return e.page.record(e.slot), nil
	}
	return l.s.group.Folder().Get(e.id)
}

// Entries yields the entries that there are now, in the order in which they came, with
// copies of their vectors; those that go before their turn are left out. It stops at the
// first that cannot be read, which is what it yields. No lock is held while it yields.
func (l *Library) Entries() iter.Seq2[KFEEntry[float32], error] {
	return func(yield func(KFEEntry[float32], error) bool) {
		l.s.mu.RLock()
		ids := make([]uint64, len(l.entries))
		for i := range l.entries {
			ids[i] = l.entries[i].id
		}
		l.s.mu.RUnlock()
		for _, id := range ids {
			e, err := l.Get(id)
			if errors.Is(err, errNoEntry) {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (l *Library) entry(e *entry) (KFEEntry[float32], error) {
	out := KFEEntry[float32]{ID: e.id, Utility: e.utility, Confidence: e.conf, Count: e.count, Last: e.last, Soft: e.soft,
		Embedding: make([]float32, l.s.dim), Snapshot: make([]float32, l.s.dim)}
	return out, l.vectors(e, out.Embedding, out.Snapshot)
}

// Get returns an entry with copies of its vectors.
func (l *Library) Get(id uint64) (KFEEntry[float32], error) {
	l.s.mu.RLock()
	defer l.s.mu.RUnlock()
	i, ok := l.by[id]
	if !ok {
		return KFEEntry[float32]{}, &kfeValueError{"get", l.neuron, "an id of this library", fmt.Sprintf("%#x", id), errNoEntry}
	}
	return l.entry(&l.entries[i])
}

// Level returns where the vectors of an entry are.
func (l *Library) Level(id uint64) (Level, bool) {
	l.s.mu.RLock()
	defer l.s.mu.RUnlock()
	i, ok := l.by[id]
	if !ok {
		return 0, false
	}
	return l.entries[i].page.Level(), true
}

// note keeps what a recall found until the commit.
func (l *Library) note(session int, ids []uint64, weight func(i int) float32, missed func(i int) bool) {
	l.noted.Lock()
	defer l.noted.Unlock()
	if l.used == len(l.recalls) {
		l.recalls = append(l.recalls, recall{})
	}
	r := &l.recalls[l.used]
	l.used++
	r.session, r.ids, r.weights, r.missed = session, append(r.ids[:0], ids...), r.weights[:0], r.missed[:0]
	for i := range ids {
		r.weights = append(r.weights, weight(i))
		r.missed = append(r.missed, missed(i))
	}
}

// taken returns what was noted since the last commit, by session.
func (l *Library) taken() ([]recall, []Offer) {
	l.noted.Lock()
	defer l.noted.Unlock()
	r := l.recalls[:l.used]
	slices.SortStableFunc(r, func(a, b recall) int { return cmp.Compare(a.session, b.session) })
	slices.SortStableFunc(l.offers, func(a, b Offer) int { return cmp.Compare(a.Session, b.Session) })
	offers := l.offers
	l.used, l.offers = 0, nil
	return r, offers
}
