package bench

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"math"
	"sync"
	"time"

	"atenia/internal/machine/cpu"
	"atenia/internal/memory/ring"
	"atenia/internal/sched"
)

// A PassesConfig configures [RunPasses].
type PassesConfig struct {
	Prompt int // tokens of the prompt, the first pass; 0 = 8
	Passes int // of one token each, after it; 0 = 6
}

// A PassesReport has the cost of each pass over a model's weights.
type PassesReport struct {
	Seconds []float64 `json:"seconds"` // of each pass; the first one is the prompt
	// ReadBytes are the bytes that the process read from storage in each pass,
	// as counted by the system; nil = unknown.
	ReadBytes []int64 `json:"read_bytes,omitempty"`
	// Hash is one of all logits: equal for equal results.
	Hash string `json:"hash"`
	// Peak is the most memory that the process had, of so many samples; 0 = not known.
	Peak    int64 `json:"peak_bytes"`
	Samples int   `json:"samples"`
	// Of the weights: bytes that stay in memory, and bytes that each pass reads.
	Held     int64 `json:"held_bytes"`
	Streamed int64 `json:"streamed_bytes"`
	Ring     int64 `json:"ring_bytes"`
	// Of the passes after the first: how much of the shorter one of reading and
	// computing was hidden, seconds that computing waited, bytes a second while
	// reading.
	Overlap  float64 `json:"overlap"`
	Stall    float64 `json:"stall_seconds"`
	ReadRate float64 `json:"read_bytes_per_s"`
	// Predicted is the placement's prediction for a pass of one token, in
	// seconds.
	Predicted float64 `json:"predicted_seconds"`
}

// A PassesModel is the model being measured.
type PassesModel struct {
	Sched *sched.Scheduler
	Vocab int
	Stats func() ring.Stats // of its ring; zero without one
}

// RunPasses feeds a model tokens that are the same in every run, one after another,
// and reports what each pass cost. Other requests to the model would show.
func RunPasses(ctx context.Context, m *PassesModel, c PassesConfig) (*PassesReport, error) {
	if c.Prompt == 0 {
		c.Prompt = 8
	}
	if c.Passes == 0 {
		c.Passes = 6
	}
	tokens := make([]int32, max(0, c.Prompt)+max(0, c.Passes)) // more are rejected
	for i := range tokens {
		tokens[i] = int32((7 + 31*i) % m.Vocab)
	}
	r := &PassesReport{}
	p := &run{m: m, r: r, hash: sha256.New(), start: time.Now(), read: cpu.ReadBytes()}
	watch := watchMemory()
	st, err := m.Sched.Submit(ctx, sched.Request{Prompt: tokens[:c.Prompt], Forced: tokens[c.Prompt:], OnLogits: p.row})
	if err == nil {
		st.Next()
		err = st.Err()
	}
	r.Peak, r.Samples = watch()
	if err != nil {
		return nil, err
	}
	r.Hash = hex.EncodeToString(p.hash.Sum(nil))
	s := m.Stats()
	r.Ring = s.Bytes
	s = s.Since(p.first)
	r.Overlap, r.Stall = s.Overlap(p.start.Sub(p.begun)), s.Stall.Seconds()
	if s.Busy > 0 {
		r.ReadRate = float64(s.Read) / s.Busy.Seconds()
	}
	return r, nil
}

// A run notes each pass as its logits come, between two steps.
type run struct {
	m     *PassesModel
	r     *PassesReport
	hash  hash.Hash
	start time.Time  // of the pass
	begun time.Time  // of the second pass
	read  int64      // before the pass
	first ring.Stats // before the second pass
	line  []byte
}

func (p *run) row(_ int, logits []float32) {
	now, read := time.Now(), cpu.ReadBytes()
	p.r.Seconds = append(p.r.Seconds, now.Sub(p.start).Seconds())
	if read > 0 {
		p.r.ReadBytes = append(p.r.ReadBytes, read-p.read)
	}
	if len(p.r.Seconds) == 1 {
		p.begun, p.first = now, p.m.Stats()
	}
	p.line = p.line[:0]
	for _, v := range logits {
		p.line = binary.LittleEndian.AppendUint32(p.line, math.Float32bits(v))
	}
	p.hash.Write(p.line)
	p.start, p.read = time.Now(), read
}

// watchMemory samples the memory of the process until the function that it
// returns is called.
func watchMemory() (stop func() (peak int64, samples int)) {
	var peak int64
	samples := 0
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(5 * time.Millisecond)
		defer t.Stop()
		for {
			if n := cpu.Resident(); n > 0 {
				peak, samples = max(peak, n), samples+1
			}
			select {
			case <-done:
				return
			case <-t.C:
			}
		}
	})
	return func() (int64, int) {
		close(done)
		wg.Wait()
		return peak, samples
	}
}
