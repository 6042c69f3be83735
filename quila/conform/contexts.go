package conform

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
)

// contextRows are the rows of sections 4.1, 4.2, 4.5 and 4.9 about what Quila
// knows beside the libraries of its neurons: context trees, queues, channels and
// their containers, the hashed memory and the persona.
func contextRows() []experiment {
	return []experiment{
		{ID: "REQ-9.1.2a", Section: "4.1", What: "persona on non-volatile memory: mapped from its file, bit-equal after a kill", Check: personaNVRAM},
		{ID: "REQ-9.1.2b", Section: "4.1", What: "without non-volatile memory: a file or RAM, and one warning about persistence", Check: personaFallback},
		{ID: "INV-3", Section: "4.2", What: "queues are emptied by stages and turns alone, and stay bounded", Check: stageQueue},
		{ID: "SCT-LIFE", Section: "4.5", What: "built, refined, destroyed with the call; a known prefix is reused", Check: sctLife},
		{ID: "SCT-QUERY", Section: "4.5", What: "the node with the need is among the top 8 and its pages are in L3 before Phase 5", Later: "part two: the backward query is Phase 4's"},
		{ID: "WMQ-CAP", Section: "4.5", What: "512 and 4096 entries, the lowest relation goes; retrieval is brute force over a trajectory", Check: wmqCapacity},
		{ID: "WMQ-STAGE", Section: "4.5", What: "a stage's end moves that stage alone, a turn's end frees, utility survives once", Check: wmqStage},
		{ID: "WMQ-SEED", Section: "4.5", What: "after Phase 4 one entry per active Thinker", Later: "part two: the plan seeds the queues in Phase 4"},
		{ID: "NMDB-ISO", Section: "4.5", What: "a full channel evicts nothing of another; the least recently used goes first", Check: nmdbIsolation},
		{ID: "NMDB-LEVEL", Section: "4.5", What: "pages of the session at level 3, after archive 19; both can be read", Check: nmdbLevel},
		{ID: "CIC-RT", Section: "4.5", What: "taking out and putting back any channels gives the same bytes; a cut container is refused", Check: containerRoundTrip},
		{ID: "ENGRAM-O1", Section: "4.5", What: "8 probes for any size; closed book: no other gradient, 200 facts at 95 %", Check: engramProbes},
		{ID: "SHD-NVRAM", Section: "4.9", What: "as REQ-9.1.2", Check: func(t *report) { personaNVRAM(t); personaFallback(t) }},
	}
}

// axis is a unit vector.
func axis(dim, i int) []float32 {
	v := make([]float32, dim)
	v[i] = 1
	return v
}

// normals returns n normal numbers.
func normals(r *rand.Rand, n int) (v []float32) {
	for range n {
		v = append(v, float32(r.NormFloat64()))
	}
	return v
}

// source returns numbers that are the same in every run.
func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 15)) }

// fill makes bytes that compress a little.
func fill(b []byte, r *rand.Rand) {
	for part := range slices.Chunk(b, 8) {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], r.Uint64()&0x0f0f0f0f0f0f0f0f)
		copy(part, word[:])
	}
}

// flip changes one bit of a copy.
func flip(b []byte, at int) []byte {
	c := slices.Clone(b)
	c[at] ^= 0x10
	return c
}
