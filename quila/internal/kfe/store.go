package kfe

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"atenia/grad"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/quila/config"
	"atenia/quila/internal/hnsw"
	"atenia/quila/internal/random"
	"atenia/quila/internal/tier"
)

// Options configure a [Store]. Quotas are in bytes; 0 is none.
type Options struct {
	Memory     *tier.Memory // nil: one of its own, in RAM
	Name       string       // of the group and its folder; "" is kfe
	L2, L3, L5 uint64
	Cold       bool // pages may go to L5: the memory has a folder
}

// A Store is the libraries of a model. Recall and Offer may run at once; everything
// else waits for them and runs alone.
type Store struct {
	c       *config.Config
	dim     int
	memory  *tier.Memory
	group   *tier.Group
	hottest tier.Level
	cold    bool

	mu      sync.RWMutex
	libs    []*Library
	turn    int64
	weights Weights
	learns  bool
	signals [3][]float32 // utility, weight at the last scan, trace: one a neuron
	policy  policy

	faults sync.Mutex
	fault  error // of recalls since the last commit
	counts Counts
}

// Counts are what a store did since it was made.
type Counts struct {
	Created, Merged, Flagged, Cleared, Deleted int // entries
	Misses, Loaded, Promoted, Evicted, Learned int // misses are of entries, the next three of pages
}

// New makes a store without entries.
func New(c *config.Config, o Options) (*Store, error) {
	if o.Memory == nil {
		o.Memory = tier.New(tier.Config{})
	}
	if o.Name == "" {
		o.Name = "kfe"
	}
	limit := func(n uint64) uint64 {
		if n == 0 {
			return memory.NoQuota
		}
		return n
	}
	s := &Store{c: c, dim: c.D, memory: o.Memory, hottest: tier.L2, cold: o.Cold, weights: Weights(c.EvictW)}
	quotas := []tier.Quota{{Level: tier.L2, Bytes: limit(o.L2)}, {Level: tier.L3, Bytes: limit(o.L3), Soft: !o.Cold}}
	if o.Cold {
		quotas = append(quotas, tier.Quota{Level: tier.L5, Bytes: limit(o.L5), Soft: true})
	}
	for i := range s.signals {
		s.signals[i] = make([]float32, c.N)
	}
	for n := range c.N {
		x, err := hnsw.New(s.indexConfig(n))
		if err != nil {
			return nil, err
		}
		s.libs = append(s.libs, &Library{s: s, neuron: n, by: map[uint64]int{}, index: x, grads: map[uint64][]float32{}})
	}
	var err error
	if s.group, err = o.Memory.Group(o.Name, tier.KFEHot, quotas, s.scorePages); err != nil {
		return nil, err
	}
	s.group.OnMove = s.moved
	return s, nil
}

// Close gives back the memory of all entries. The store must not be used afterwards.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.libs {
		l.index.Release()
		if l.room.Bytes() > 0 {
			l.room.Release()
		}
	}
	s.libs = nil
	return s.group.Close()
}

// indexConfig is that of a neuron's index.
func (s *Store) indexConfig(neuron int) hnsw.Config {
	return hnsw.Config{Dim: s.dim, M: s.c.HNSWM, EfConstruction: s.c.HNSWEFC, Ef: s.c.HNSWEF, ExactBelow: s.c.HNSWExactBelow,
		Stream: random.Stream{Neuron: uint32(neuron), Site: random.Init}, Pages: s.memory.Vectors()}
}

func (s *Store) account() *ledger.Account { return s.memory.Account() }

// linkBytes is what the index holds for an entry beside its vector.
func (s *Store) linkBytes() int { return 4 * (2*s.c.HNSWM + 2) }

// Library returns the library of a neuron; nil if there is no such neuron.
func (s *Store) Library(neuron int) *Library {
	if neuron < 0 || neuron >= len(s.libs) {
		return nil
	}
	return s.libs[neuron]
}

// Len returns how many entries all libraries have.
func (s *Store) Len() (n int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, l := range s.libs {
		n += len(l.entries)
	}
	return n
}

// Turn returns the turn that counts as now, the epoch of a model file.
func (s *Store) Turn() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.turn
}

// SetTurn sets the turn that counts as now, after a model was read.
func (s *Store) SetTurn(turn int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = turn
}

// Counts returns what the store did.
func (s *Store) Counts() Counts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.counts
}

// Weights returns the weights of the eviction score, evict.w of a model file.
func (s *Store) Weights() Weights {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.weights
}

// SetWeights replaces the weights of the eviction score.
func (s *Store) SetWeights(w Weights) error {
	for _, x := range w {
		if !(x >= 0) || math.IsInf(x, 1) {
			return &ValueError{"weights", -1, "at least 0", fmt.Sprint(x), ErrNotFinite}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.weights = w
	return nil
}

// Learn sets whether misses move the weights of the eviction score: in training,
// not in inference.
func (s *Store) Learn(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learns = on
}

// SetSignals gives what the eviction score knows of neurons: S8.utility_ema, the
// weight at the Planner's last scan and the norm of the persistent trace.
func (s *Store) SetSignals(utility, wkv, trace []float32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range [...][]float32{utility, wkv, trace} {
		if len(x) != len(s.libs) {
			return &ValueError{"signals", -1, fmt.Sprintf("%d values", len(s.libs)), fmt.Sprint(len(x)), ErrShape}
		}
		if !finite(x) {
			return &ValueError{"signals", -1, "numbers", "NaN or infinity", ErrNotFinite}
		}
		copy(s.signals[i], x)
	}
	return nil
}

// SetQuota changes the quota of L2, L3 or L5 and keeps it at once.
func (s *Store) SetQuota(ctx context.Context, l tier.Level, bytes uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.group.SetQuota(l, bytes)
	return s.settle(ctx, nil)
}

// Insert adds an entry as it is, without gates and merging, as from a model file.
func (s *Store) Insert(neuron int, e Entry[float32]) error {
	l := s.Library(neuron)
	if l == nil {
		return &ValueError{"insert", neuron, fmt.Sprintf("a neuron below %d", len(s.libs)), fmt.Sprint(neuron), ErrNoNeuron}
	}
	if err := l.checkEntry("insert", e.Embedding, e.Snapshot, e.Utility, e.Confidence); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.insert(entry{id: e.ID, last: e.Last, utility: e.Utility, conf: e.Confidence, count: e.Count, soft: e.Soft}, e.Embedding, e.Snapshot)
}

// Restore fills an empty library with entries and the image of the index over
// them, as a model file has both. The index has to be of these entries.
func (s *Store) Restore(neuron int, entries []Entry[float32], image io.ReaderAt, size int64) error {
	l := s.Library(neuron)
	if l == nil || l.Len() > 0 {
		return &ValueError{"restore", neuron, fmt.Sprintf("an empty library below %d", len(s.libs)), fmt.Sprint(neuron), ErrNoNeuron}
	}
	x, err := hnsw.Read(image, size, s.indexConfig(neuron))
	if err != nil {
		return err
	}
	if err := l.agrees(x, entries); err != nil {
		x.Release()
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.index.Release()
	l.index = x
	for _, e := range entries {
		known := entry{id: e.ID, last: e.Last, utility: e.Utility, conf: e.Confidence, count: e.Count, soft: e.Soft}
		if err := l.enter(known, e.Embedding, e.Snapshot, func() error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// agrees refuses an index that is not of the entries.
func (l *Library) agrees(x *hnsw.Index, entries []Entry[float32]) error {
	if x.Len() != len(entries) {
		return &ValueError{"restore", l.neuron, fmt.Sprintf("an index of %d entries", len(entries)), fmt.Sprint(x.Len()), ErrShape}
	}
	var row []float32
	for _, e := range entries {
		if err := l.checkEntry("restore", e.Embedding, e.Snapshot, e.Utility, e.Confidence); err != nil {
			return err
		}
		var err error
		if row, err = x.Vector(row[:0], e.ID); err != nil {
			return err
		}
		if !slices.Equal(row, rounded(e.Embedding)) {
			return &ValueError{"restore", l.neuron, fmt.Sprintf("the embedding of %#x in the index", e.ID), "another", ErrShape}
		}
	}
	return nil
}

// checkEntry refuses vectors and numbers that an entry cannot have.
func (l *Library) checkEntry(op string, embedding, snapshot []float32, numbers ...float32) error {
	for _, v := range [][]float32{embedding, snapshot} {
		if len(v) != l.s.dim {
			return &ValueError{op, l.neuron, fmt.Sprintf("%d dimensions", l.s.dim), fmt.Sprint(len(v)), ErrShape}
		}
		if !finite(v) {
			return &ValueError{op, l.neuron, "a vector of numbers", "NaN or infinity", ErrNotFinite}
		}
	}
	if !finite(numbers) {
		return &ValueError{op, l.neuron, "numbers", "NaN or infinity", ErrNotFinite}
	}
	if norm(embedding) == 0 {
		return &ValueError{op, l.neuron, "a direction", "zeros", ErrNotFinite}
	}
	return nil
}

// Accuse notes evidence against an entry, which becomes a shadow.
func (s *Store) Accuse(neuron int, id uint64, e Evidence) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := s.find("accuse", neuron, id)
	if err == nil {
		x.evidence |= e
		s.flag(x)
	}
	return err
}

// Shadow makes a shadow of an entry.
func (s *Store) Shadow(neuron int, id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := s.find("shadow", neuron, id)
	if err == nil {
		s.flag(x)
	}
	return err
}

func (s *Store) flag(e *entry) {
	if !e.soft {
		e.soft = true
		s.counts.Flagged++
	}
}

func (s *Store) find(op string, neuron int, id uint64) (*entry, error) {
	l := s.Library(neuron)
	if l == nil {
		return nil, &ValueError{op, neuron, fmt.Sprintf("a neuron below %d", len(s.libs)), fmt.Sprint(neuron), ErrNoNeuron}
	}
	i, ok := l.by[id]
	if !ok {
		return nil, &ValueError{op, neuron, "an id of its library", fmt.Sprintf("%#x", id), ErrNoEntry}
	}
	return &l.entries[i], nil
}

// failed notes an error of a recall, which has no way to return it.
func (s *Store) failed(err error) {
	s.faults.Lock()
	defer s.faults.Unlock()
	if s.fault == nil {
		s.fault = err
	}
}

func (s *Store) takeFault() error {
	s.faults.Lock()
	defer s.faults.Unlock()
	err := s.fault
	s.fault = nil
	return err
}

// A Reader recalls in one of the float types. It is safe for concurrent use;
// recalls of one neuron wait for each other.
type Reader[F grad.Float] struct {
	s     *Store
	mix   Mix
	works []work[F]
	quiet bool
}

// A work is the scratch of one neuron's recalls.
type work[F grad.Float] struct {
	mu     sync.Mutex
	query  []float32
	hits   []hnsw.Hit
	missed []bool
	r      Recalled[F]
}

// NewReader makes a reader.
func NewReader[F grad.Float](s *Store) *Reader[F] {
	return &Reader[F]{s: s, mix: Mix{s.c.KFEGain, s.c.KFEClip}, works: make([]work[F], len(s.libs))}
}

// Quiet returns a reader whose recalls leave no trace in the store: those of an
// evaluation, after which no commit comes.
func (r *Reader[F]) Quiet() *Reader[F] {
	q := NewReader[F](r.s)
	q.quiet = true
	return q
}

// Recall is Step 6: it writes h_mid and what the neuron's library has
// to say to it into hKFE. An empty library and an h_mid that is not finite leave
// h_mid as it is. keep, if not nil, has what was found for the gradient; without
// it a recall allocates nothing once it has run. Errors of reading cold entries,
// which are left out then, are those of the next [Store.Commit].
func (r *Reader[F]) Recall(neuron, session int, hMid, hKFE []F, keep *Recalled[F]) {
	s := r.s
	s.mu.RLock()
	defer s.mu.RUnlock()
	l, w := s.libs[neuron], &r.works[neuron]
	if keep != nil {
		keep.reset(0, s.dim)
	}
	if len(l.entries) == 0 || !finite(hMid) {
		copy(hKFE, hMid)
		if keep != nil {
			keep.Add(hKFE, hMid, r.mix)
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	found := &w.r
	if keep != nil {
		found = keep
	}
	w.query = fit(w.query, s.dim)
	n := norm(hMid)
	for i, x := range hMid { // distances of a query of norm 1 have all their digits
		w.query[i] = float32(x / max(n, 1e-30))
	}
	var err error
	if w.hits, err = l.index.Search(w.hits[:0], w.query, s.c.KFETopK, 0); err != nil {
		s.failed(err)
	}
	found.reset(len(w.hits), s.dim)
	w.missed = fit(w.missed, len(w.hits))
	at := 0
	for _, h := range w.hits {
		e := &l.entries[l.by[h.Label]]
		b, err := l.bytes(e)
		if err != nil {
			s.failed(err)
			continue
		}
		vectors(b, found.key(at), found.snapshot(at))
		found.IDs[at], found.Soft[at], w.missed[at] = e.id, e.soft, !e.page.Level().InRAM()
		at++
	}
	found.reset(at, s.dim)
	found.Add(hKFE, hMid, r.mix)
	if r.quiet {
		return
	}
	l.note(session, found.IDs, func(i int) float32 { return float32(found.Weight[i]) }, func(i int) bool { return w.missed[i] })
}
