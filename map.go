package atenia

import (
	"fmt"
	"io"
	"strings"

	"atenia/internal/machine/ledger"
	"atenia/internal/spelling"
)

// A MemoryMap says where the large bytes of a run live: in which memory, and what
// for. Weights are kept, mapped from the model's files, packed in the order in
// which kernels read them, or streamed through a ring.
type MemoryMap struct {
	Parts []MemoryPart `json:"parts"`
	// Resident is the memory that the system says the process has, 0 for a plan and
	// where that is not known.
	Resident int64 `json:"resident,omitempty"`
	// Peak is the most that was reserved at a time so far, 0 for a plan.
	Peak int64 `json:"peak,omitempty"`
}

// A MemoryPart is bytes of one memory that have one use.
type MemoryPart struct {
	Memory string `json:"memory"` // "vram", "ram" or "ssd"
	Use    string `json:"use"`    // such as "weights", "packed", "cache"
	Bytes  int64  `json:"bytes"`
}

// Map returns where the bytes of a run with a placement will live.
func (p *Plan) Map(pl *Placement) (*MemoryMap, error) {
	parts, err := p.compiled.Map(pl.placed)
	if err != nil {
		return nil, err
	}
	return newMap(parts, 0), nil
}

// Map returns where the bytes of the process are now.
func (m *Model) Map() *MemoryMap {
	x := newMap(m.engine.Map())
	x.Peak = ledger.Process.Peak()
	return x
}

func newMap(parts []ledger.Part, resident int64) *MemoryMap {
	return &MemoryMap{convertAll(parts, func(p ledger.Part) MemoryPart { return MemoryPart(p) }), resident, 0}
}

// RAM returns the bytes of all parts in RAM.
func (m *MemoryMap) RAM() (n int64) {
	for _, p := range m.Parts {
		if p.Memory == "ram" {
			n += p.Bytes
		}
	}
	return n
}

// WriteText draws the map, and compares it with what the system says.
func (m *MemoryMap) WriteText(w io.Writer) error {
	var b strings.Builder
	if err := ledger.Draw(&b, convertAll(m.Parts, func(p MemoryPart) ledger.Part { return ledger.Part(p) })); err != nil {
		return err
	}
	if m.Resident > 0 {
		fmt.Fprintf(&b, "%-18s %11s  the system's count; ram above is %+.1f %%\n", "resident", spelling.Size(m.Resident), 100*(float64(m.RAM())/float64(m.Resident)-1))
	}
	if m.Peak > 0 {
		fmt.Fprintf(&b, "%-18s %11s  the most that was reserved at a time\n", "peak", spelling.Size(m.Peak))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
