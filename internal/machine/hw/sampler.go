package hw

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/machine/cpu"
)

// A Sample is the state of memory at one moment.
type Sample struct {
	Pressure       float32 // of RAM, 0 to 1; valid if Known
	AvailableBytes uint64  // that can still be allocated
	LimitBytes     uint64
	Known          bool
}

// A Sampler samples the memory of this process, for callers that must stay
// within a budget. It allocates only in [NewSampler]. It is safe for concurrent
// use.
type Sampler struct {
	mu     sync.Mutex // guards reader
	reader *cpu.MemoryReader

	pressure         atomic.Uint32 // bits of a float32
	available, limit atomic.Uint64
	known            atomic.Bool
	peak             atomic.Uint32 // bits of the highest pressure since the last Peak
}

// NewSampler returns a sampler that has taken its first sample. The caller must
// close it.
func NewSampler() *Sampler {
	s := &Sampler{reader: cpu.OpenMemory()}
	s.Sample()
	return s
}

// Sample takes a sample now, which takes some ten microseconds.
func (s *Sampler) Sample() Sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader == nil { // closed
		return s.Last()
	}
	m := s.reader.Read()
	p, ok := pressure(m)
	s.pressure.Store(math.Float32bits(p))
	s.available.Store(uint64(max(0, m.Available)))
	s.limit.Store(uint64(max(0, m.Limit)))
	s.known.Store(ok)
	if p > math.Float32frombits(s.peak.Load()) {
		s.peak.Store(math.Float32bits(p))
	}
	return Sample{p, uint64(max(0, m.Available)), uint64(max(0, m.Limit)), ok}
}

// Last returns the latest sample without taking one: a few atomic loads.
// Concurrently with Sample, its numbers may mix two consecutive samples.
func (s *Sampler) Last() Sample {
	return Sample{math.Float32frombits(s.pressure.Load()), s.available.Load(), s.limit.Load(), s.known.Load()}
}

// Peak returns the highest pressure since the previous call.
func (s *Sampler) Peak() float32 { return math.Float32frombits(s.peak.Swap(0)) }

// Run samples at an interval until ctx ends and calls f, if not nil, with every
// sample, on the caller's goroutine.
func (s *Sampler) Run(ctx context.Context, interval time.Duration, f func(Sample)) {
	t := time.NewTicker(max(interval, time.Millisecond))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if v := s.Sample(); f != nil {
				f(v)
			}
		}
	}
}

// Close closes the system's files. [Sampler.Last] remains valid.
func (s *Sampler) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reader != nil {
		s.reader.Close()
		s.reader = nil
	}
}
