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

	"atenia/internal/engine"
	"atenia/internal/machine/cpu"
	"atenia/internal/memory/ring"
	"atenia/internal/sched"
)

// A PassesConfig says how many passes [Passes] measures.
type PassesConfig struct {
	Prompt int // tokens of the prompt, the first pass; 0 = 8
	Passes int // of one token each, after it; 0 = 6
	// Whole reads all experts of a layer in place of those that a token chooses.
	Whole bool
}

// A PassesReport says what each pass over a model's weights cost.
type PassesReport struct {
	Seconds []float64 `json:"seconds"` // of each pass; the first one is the prompt
	// ReadBytes are what the process read from storage in each, by the system's
	// account; nil = not known.
	ReadBytes []int64 `json:"read_bytes,omitempty"`
	// Hash is one of all logits: equal for equal results.
	Hash string `json:"hash"`
	// Peak is the largest of Samples readings of the process's memory; 0 = not known.
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
	// Of the experts of a mixture, in passes after the first: bytes read in each, and
	// the share of those that tokens chose which were in memory.
	Experts int     `json:"experts,omitempty"`
	Missing float64 `json:"missing_bytes,omitempty"`
	HitRate float64 `json:"expert_hit_rate,omitempty"`
	Slots   int     `json:"expert_slots,omitempty"`
	// Predicted is what the plan said of a pass of one token, in seconds.
	Predicted float64 `json:"predicted_seconds"`
}

// Passes feeds a model tokens that are the same in every run, one after another,
// and reports what each pass over its weights cost. Other requests to the model
// would show.
func Passes(ctx context.Context, e *engine.Engine, c PassesConfig) (*PassesReport, error) {
	if c.Prompt == 0 {
		c.Prompt = 8
	}
	if c.Passes == 0 {
		c.Passes = 6
	}
	tokens := make([]int32, max(0, c.Prompt)+max(0, c.Passes)) // too many are refused
	for i := range tokens {
		tokens[i] = int32((7 + 31*i) % e.Plan.Model.Config.Vocab)
	}
	w := e.Residence()
	r := &PassesReport{Held: w.Held, Streamed: w.Streamed}
	if w.Stream.Experts != nil {
		w.Stream.Experts.SetWhole(c.Whole)
	}
	chosen := w.Experts() // before the second pass
	p := &passes{
		stats: w.Stats, work: e.Lanes, second: func() { chosen = w.Experts() }, r: r, hash: sha256.New(), start: time.Now(), read: cpu.ReadBytes(),
	}
	watch := watchMemory()
	st, err := e.Sched.Submit(ctx, sched.Request{Prompt: tokens[:c.Prompt], Forced: tokens[c.Prompt:], OnLogits: p.row})
	if err == nil {
		st.Next()
		err = st.Err()
	}
	r.Peak, r.Samples = watch()
	if err != nil {
		return nil, err
	}
	r.Hash = hex.EncodeToString(p.hash.Sum(nil))
	s := w.Stats()
	r.Ring = s.Bytes
	s = s.Since(p.first)
	r.Overlap, r.Stall = e.Lanes().Since(p.lanes).Overlap(), s.Stall.Seconds()
	if s.Busy > 0 {
		r.ReadRate = float64(s.Read) / s.Busy.Seconds()
	}
	if x := w.Experts(); x.Experts > 0 {
		d := x.Since(chosen)
		r.Experts, r.Slots, r.HitRate = x.Experts, x.Slots, d.HitRate()
		r.Missing = float64(d.Read) / float64(max(1, len(r.Seconds)-1))
	}
	if pl := e.Placement(); pl != nil {
		r.Predicted = pl.Decode.At(float64(c.Prompt) + float64(c.Passes)/2)
	}
	return r, nil
}

// A passes notes each pass as its logits come, between two steps.
type passes struct {
	stats  func() ring.Stats // of the model's ring; zero without one
	work   func() engine.Work
	second func() // the second pass begins
	r      *PassesReport
	hash   hash.Hash
	start  time.Time  // of the pass
	begun  time.Time  // of the second pass
	read   int64      // before the pass
	first  ring.Stats // before the second pass
	lanes  engine.Work
	line   []byte
}

func (p *passes) row(_ int, logits []float32) {
	now, read := time.Now(), cpu.ReadBytes()
	p.r.Seconds = append(p.r.Seconds, now.Sub(p.start).Seconds())
	if read > 0 {
		p.r.ReadBytes = append(p.r.ReadBytes, read-p.read)
	}
	if len(p.r.Seconds) == 1 {
		p.begun, p.first, p.lanes = now, p.stats(), p.work()
		p.second()
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
