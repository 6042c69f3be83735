package roof

import (
	"atenia/internal/arena"
	"atenia/internal/kernel"
)

// Bandwidth is what some threads together do with memory in a second, in
// bytes.
type Bandwidth struct {
	Read  float64 // from memory, in pages of 2 MiB
	Copy  float64 // copied: as many are read, and as many written
	Touch float64 // of fresh memory that is written for the first time
}

// Bandwidth measures memory once. Fresh memory is given back at the end.
func (p *Probe) Bandwidth() (Bandwidth, error) {
	var b Bandwidth
	p.best(&b.Read, func(i int) float64 { return stream(p.memory[i].Bytes) })
	p.best(&b.Copy, func(i int) float64 {
		m := p.memory[i].Bytes
		return float64(copy(m[:len(m)/2], m[len(m)/2:]))
	})
	// Fresh memory may be far slower than the disk: not much of it.
	const most = 64 << 20
	fresh := make([]arena.Block, len(p.memory))
	defer func() {
		for i := range fresh {
			fresh[i].Release()
		}
	}()
	for i := range fresh {
		var err error
		if fresh[i], err = arena.NewHuge(min(most, len(p.memory[i].Bytes))); err != nil {
			return b, err
		}
	}
	p.best(&b.Touch, func(i int) float64 {
		clear(fresh[i].Bytes)
		return float64(len(fresh[i].Bytes))
	})
	return b, nil
}

// stream reads memory from end to end, in short calls.
func stream(all []byte) float64 {
	for b := all; len(b) > 0; b = b[min(len(b), 1<<20):] {
		kernel.Read(b[:min(len(b), 1<<20)])
	}
	return float64(len(all))
}
