package roof

import (
	"atenia/internal/kernel"
	"atenia/internal/machine/ledger"
)

// Bandwidth is the memory bandwidth of several threads together, in bytes per
// second.
type Bandwidth struct {
	Read  float64 // reads from memory, in pages of 2 MiB
	Copy  float64 // copies: bytes read, which equal the bytes written
	Touch float64 // first writes to fresh memory
}

// Bandwidth measures memory once. It frees the fresh memory at the end.
func (p *Probe) Bandwidth() (Bandwidth, error) {
	var b Bandwidth
	p.best(&b.Read, func(i int) float64 { return stream(p.memory[i].Bytes) })
	p.best(&b.Copy, func(i int) float64 {
		m := p.memory[i].Bytes
		return float64(copy(m[:len(m)/2], m[len(m)/2:]))
	})
	// Fresh memory may be far slower than the disk, so little of it is used.
	const most = 64 << 20
	fresh := make([]ledger.Block, len(p.memory))
	defer func() {
		for i := range fresh {
			fresh[i].Release()
		}
	}()
	for i := range fresh {
		var err error
		if fresh[i], err = ledger.NewHugeBlock(ledger.Process, ledger.Samples, min(most, len(p.memory[i].Bytes))); err != nil {
			return b, err
		}
	}
	p.best(&b.Touch, func(i int) float64 {
		clear(fresh[i].Bytes)
		return float64(len(fresh[i].Bytes))
	})
	return b, nil
}

// stream reads memory sequentially, in short calls.
func stream(all []byte) float64 {
	for b := all; len(b) > 0; b = b[min(len(b), 1<<20):] {
		kernel.Read(b[:min(len(b), 1<<20)])
	}
	return float64(len(all))
}
