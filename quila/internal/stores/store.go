package stores

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
	"atenia/quila/internal/index"
	"atenia/quila/internal/weights"
)

// KFEOptions configure a [KFE]. Quotas are in bytes; 0 is none.
type KFEOptions struct {
	Memory     *Memory // nil: one of its own, in RAM
	Name       string  // of the group and its folder; "" is kfe
	L2, L3, L5 uint64
	Cold       bool // pages may go to L5: the memory has a folder
}

// A KFE is the libraries of a model. Recall and Offer may run at once; everything
// else waits for them and runs alone.
type KFE struct {
	c       *config.Config
	dim     int
	memory  *Memory
	group   *Group
	hottest Level
	cold    bool

	mu      sync.RWMutex
	libs    []*Library
	turn    int64
	weights KFEWeights
	learns  bool
	signals [3][]float32 // utility, weight at the last scan, trace: one a neuron
	policy  policy

	faults sync.Mutex
	fault  error // of recalls since the last commit
	counts KFECounts
}

// KFECounts are what a store did since it was made.
type KFECounts struct {
	Created, Merged, Flagged, Cleared, Deleted int // entries
	Misses, Loaded, Promoted, Evicted, Learned int // misses are of entries, the next three of pages
}

// NewKFE makes a store without entries.
func NewKFE(c *config.Config, o KFEOptions) (*KFE, error) {
	if o.Memory == nil {
		o.Memory = NewMemory(TierConfig{})
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
	s := &KFE{c: c, dim: c.D, memory: o.Memory, hottest: L2, cold: o.Cold, weights: KFEWeights(c.EvictW)}
	quotas := []Quota{{Level: L2, Bytes: limit(o.L2)}, {Level: L3, Bytes: limit(o.L3), Soft: !o.Cold}}
	if o.Cold {
		quotas = append(quotas, Quota{Level: L5, Bytes: limit(o.L5), Soft: true})
	}
	for i := range s.signals {
		s.signals[i] = make([]float32, c.N)
	}
	for n := range c.N {
		x, err := index.NewGraph(s.indexConfig(n))
		if err != nil {
			return nil, err
		}
		s.libs = append(s.libs, &Library{s: s, neuron: n, by: map[uint64]int{}, index: x, grads: map[uint64][]float32{}})
	}
	var err error
	if s.group, err = o.Memory.Group(o.Name, KFEHot, quotas, s.scorePages); err != nil {
		return nil, err
	}
	s.group.OnMove = s.moved
	return s, nil
}

// Close gives back the memory of all entries. The store must not be used afterwards.
func (s *KFE) Close() error {
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
func (s *KFE) indexConfig(neuron int) index.GraphConfig {
	return index.GraphConfig{Dim: s.dim, M: s.c.HNSWM, EfConstruction: s.c.HNSWEFC, Ef: s.c.HNSWEF, ExactBelow: s.c.HNSWExactBelow,
		Stream: weights.Stream{Neuron: uint32(neuron), Site: weights.InitSite}, Pages: s.memory.Vectors()}
}

func (s *KFE) account() *ledger.Account { return s.memory.Account() }

// linkBytes is what the index holds for an entry beside its vector.
func (s *KFE) linkBytes() int { return 4 * (2*s.c.HNSWM + 2) }

// Library returns the library of a neuron; nil if there is no such neuron.
func (s *KFE) Library(neuron int) *Library {
	if neuron < 0 || neuron >= len(s.libs) {
		return nil
	}
	return s.libs[neuron]
}

// Len returns how many entries all libraries have.
func (s *KFE) Len() (n int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, l := range s.libs {
		n += len(l.entries)
	}
	return n
}

// Turn returns the turn that counts as now, the epoch of a model file.
func (s *KFE) Turn() int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.turn
}

// SetTurn sets the turn that counts as now, after a model was read.
func (s *KFE) SetTurn(turn int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn = turn
}

// Counts returns what the store did.
func (s *KFE) Counts() KFECounts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.counts
}

// Weights returns the weights of the eviction score, evict.w of a model file.
func (s *KFE) Weights() KFEWeights {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.weights
}

// SetWeights replaces the weights of the eviction score.
func (s *KFE) SetWeights(w KFEWeights) error {
	for _, x := range w {
		if !(x >= 0) || math.IsInf(x, 1) {
			return &kfeValueError{"weights", -1, "at least 0", fmt.Sprint(x), errNotFinite}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.weights = w
	return nil
}

// Learn sets whether misses move the weights of the eviction score: in training,
// not in inference.
func (s *KFE) Learn(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learns = on
}

// SetSignals gives what the eviction score knows of neurons: S8.utility_ema, the
// weight at the Planner's last scan and the norm of the persistent trace.
func (s *KFE) SetSignals(utility, wkv, trace []float32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, x := range [...][]float32{utility, wkv, trace} {
		if len(x) != len(s.libs) {
			return &kfeValueError{"signals", -1, fmt.Sprintf("%d values", len(s.libs)), fmt.Sprint(len(x)), errKFEShape}
		}
		if !finite(x) {
			return &kfeValueError{"signals", -1, "numbers", "NaN or infinity", errNotFinite}
		}
		copy(s.signals[i], x)
	}
	return nil
}

// SetQuota changes the quota of L2, L3 or L5 and keeps it at once.
func (s *KFE) SetQuota(ctx context.Context, l Level, bytes uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.group.SetQuota(l, bytes)
	return s.settle(ctx, nil)
}

// Insert adds an entry as it is, without gates and merging, as from a model file.
func (s *KFE) Insert(neuron int, e KFEEntry[float32]) error {
	l := s.Library(neuron)
	if l == nil {
		return &kfeValueError{"insert", neuron, fmt.Sprintf("a neuron below %d", len(s.libs)), fmt.Sprint(neuron), errNoNeuron}
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
func (s *KFE) Restore(neuron int, entries []KFEEntry[float32], image io.ReaderAt, size int64) error {
	l := s.Library(neuron)
	if l == nil || l.Len() > 0 {
		return &kfeValueError{"restore", neuron, fmt.Sprintf("an empty library below %d", len(s.libs)), fmt.Sprint(neuron), errNoNeuron}
	}
	x, err := index.ReadGraph(image, size, s.indexConfig(neuron))
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
func (l *Library) agrees(x *index.Graph, entries []KFEEntry[float32]) error {
	if x.Len() != len(entries) {
		return &kfeValueError{"restore", l.neuron, fmt.Sprintf("an index of %d entries", len(entries)), fmt.Sprint(x.Len()), errKFEShape}
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
			return &kfeValueError{"restore", l.neuron, fmt.Sprintf("the embedding of %#x in the index", e.ID), "another", errKFEShape}
		}
	}
	return nil
}

// checkEntry refuses vectors and numbers that an entry cannot have.
func (l *Library) checkEntry(op string, embedding, snapshot []float32, numbers ...float32) error {
	for _, v := range [][]float32{embedding, snapshot} {
		if len(v) != l.s.dim {
			return &kfeValueError{op, l.neuron, fmt.Sprintf("%d dimensions", l.s.dim), fmt.Sprint(len(v)), errKFEShape}
		}
		if !finite(v) {
			return &kfeValueError{op, l.neuron, "a vector of numbers", "NaN or infinity", errNotFinite}
		}
	}
	if !finite(numbers) {
		return &kfeValueError{op, l.neuron, "numbers", "NaN or infinity", errNotFinite}
	}
	if norm(embedding) == 0 {
		return &kfeValueError{op, l.neuron, "a direction", "zeros", errNotFinite}
	}
	return nil
}

// Accuse notes evidence against an entry, which becomes a shadow.
func (s *KFE) Accuse(neuron int, id uint64, e Evidence) error {
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
func (s *KFE) Shadow(neuron int, id uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, err := s.find("shadow", neuron, id)
	if err == nil {
		s.flag(x)
	}
	return err
}

func (s *KFE) flag(e *entry) {
	if !e.soft {
		e.soft = true
		s.counts.Flagged++
	}
}

func (s *KFE) find(op string, neuron int, id uint64) (*entry, error) {
	l := s.Library(neuron)
	if l == nil {
		return nil, &kfeValueError{op, neuron, fmt.Sprintf("a neuron below %d", len(s.libs)), fmt.Sprint(neuron), errNoNeuron}
	}
	i, ok := l.by[id]
	if !ok {
		return nil, &kfeValueError{op, neuron, "an id of its library", fmt.Sprintf("%#x", id), errNoEntry}
	}
	return &l.entries[i], nil
}

// failed notes an error of a recall, which has no way to return it.
func (s *KFE) failed(err error) {
	s.faults.Lock()
	defer s.faults.Unlock()
	if s.fault == nil {
		s.fault = err
	}
}

func (s *KFE) takeFault() error {
	s.faults.Lock()
	defer s.faults.Unlock()
	err := s.fault
	s.fault = nil
	return err
}

// A KFEReader recalls in one of the float types. It is safe for concurrent use;
// recalls of one neuron wait for each other.
type KFEReader[F grad.Float] struct {
	s     *KFE
	mix   Mix
	works []work[F]
	quiet bool
}

// A work is the scratch of one neuron's recalls.
type work[F grad.Float] struct {
	mu     sync.Mutex
	query  []float32
	hits   []index.Hit
	missed []bool
	r      Recalled[F]
}

// NewKFEReader makes a reader.
func NewKFEReader[F grad.Float](s *KFE) *KFEReader[F] {
	return &KFEReader[F]{s: s, mix: Mix{s.c.KFEGain, s.c.KFEClip}, works: make([]work[F], len(s.libs))}
}

// Quiet returns a reader whose recalls leave no trace in the store: those of an
// evaluation, after which no commit comes.
func (r *KFEReader[F]) Quiet() *KFEReader[F] {
	q := NewKFEReader[F](r.s)
	q.quiet = true
	return q
}

// Recall is Step 6: it writes h_mid and what the neuron's library has
// to say to it into hKFE. An empty library and an h_mid that is not finite leave
// h_mid as it is. keep, if not nil, has what was found for the gradient; without
// it a recall allocates nothing once it has run. Errors of reading cold entries,
// which are left out then, are those of the next [KFE.Commit].
func (r *KFEReader[F]) Recall(neuron, session int, hMid, hKFE []F, keep *Recalled[F]) {
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
