package conform

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"atenia/quila/config"
	"atenia/quila/internal/stores"
)

// storeRows are the rows of sections 4.1, 4.3 and 4.5 about the libraries of
// key features and the levels of memory that they lie in: life of an entry,
// eviction, promotion, cold blocks.
func storeRows() []experiment {
	return []experiment{
		{ID: "REQ-9.1.1", Section: "4.1", What: "memory of states, weights, hot entries and hot queues is managed (the host's half: every allocation has its tag)", Check: managedMemory},
		{ID: "KFE-EMPTY", Section: "4.3", What: "an empty library changes nothing", Check: kfeEmpty},
		{ID: "KFE-RECALL", Section: "4.3", What: "weights are the softmax of dot products to 1e-6; counts and turns are updated", Check: kfeRecall},
		{ID: "TIER-MOVE", Section: "4.5", What: "legal and illegal moves; bytes equal after L2→L3→L5→L3→L2", Check: tierMove},
		{ID: "KFE-CREATE", Section: "4.5", What: "of 16 cases only the one with all conditions makes an entry", Check: kfeCreate},
		{ID: "KFE-MERGE", Section: "4.5", What: "cosine .9701 merges, .9699 does not; fields and index", Check: kfeMerge},
		{ID: "KFE-SHADOW", Section: "4.5", What: "a shadow is found, adds nothing, and comes back by weight alone", Check: kfeShadow},
		{ID: "KFE-DEL", Section: "4.5", What: "deleted only if soft, idle for 8 turns and accused; the index node is gone", Check: kfeDelete},
		{ID: "COLD-INDEX", Section: "4.5", What: "100,000 cold entries, one block read each; the index is rebuilt when lost or damaged", Check: coldIndex},
		{ID: "EVICT-SCORE", Section: "4.5", What: "hand-computed scores, their order, first weights, recency", Check: evictScore},
		{ID: "EVICT-LEARN", Section: "4.5", What: "an entry missed after eviction moves the weights, in training alone", Check: evictLearn},
		{ID: "EVICT-CASCADE", Section: "4.5", What: "smaller quotas demote by score; cold blocks are zstd frames; advice on demotion", Check: evictCascade},
		{ID: "PROMOTE", Section: "4.5", What: "a hit in L5 loads to L3; more than 4 in 16 turns raise to L2 with a prefetch", Check: promote},
	}
}

// A storeCall is one that a device was told of.
type storeCall struct {
	what    string // alloc, advise, prefetch or free
	tag     stores.Tag
	page    string
	managed bool
	advice  stores.Advice
	level   stores.Level
}

// A recorder is a device that writes down what it is told.
type recorder struct {
	mu    sync.Mutex
	calls []storeCall
}

func (r *recorder) add(c storeCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

func (r *recorder) Alloc(tag stores.Tag, page string, _ int, managed bool) {
	r.add(storeCall{what: "alloc", tag: tag, page: page, managed: managed})
}
func (r *recorder) Advise(page string, a stores.Advice) {
	r.add(storeCall{what: "advise", page: page, advice: a})
}
func (r *recorder) Prefetch(page string, to stores.Level) {
	r.add(storeCall{what: "prefetch", page: page, level: to})
}
func (r *recorder) Free(page string) { r.add(storeCall{what: "free", page: page}) }

// has reports whether there is such a call.
func (r *recorder) has(c storeCall) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.calls, c)
}

// settings are nano's with one entry a page, so that an entry moves by itself.
func settings(t *report, neurons, dim int) *config.Config {
	c, err := config.Profile("nano")
	t.Must(err)
	c.N, c.D, c.KFEPage = neurons, dim, 1
	return &c
}

// storePageBytes is what an entry of so many dimensions takes in a page.
func storePageBytes(dim int) uint64 { return uint64(40 + 4*dim) }

// plainEntry is an entry whose snapshot is its number on every place.
func plainEntry(dim, i int) stores.KFEEntry[float32] {
	e := stores.KFEEntry[float32]{ID: uint64(i), Embedding: axis(dim, i), Snapshot: make([]float32, dim), Utility: .5, Confidence: .7}
	for j := range e.Snapshot {
		e.Snapshot[j] = float32(i + 1)
	}
	return e
}

// storeSource returns numbers that are the same in every run.
func storeSource(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 14)) }

// fillBytes makes bytes that do not compress to nothing.
func fillBytes(b []byte, r *rand.Rand) {
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], r.Uint64()&0x0f0f0f0f0f0f0f0f)
	}
}

func softmax(z []float64) []float64 {
	var sum float64
	out := make([]float64, len(z))
	for i, x := range z {
		out[i] = math.Exp(x - slices.Max(z))
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}
