package place

import (
	"fmt"
	"io"
	"strings"

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
	draw(&b, m.Parts)
	if m.Resident > 0 {
		fmt.Fprintf(&b, "%-18s %11s  the system's count; ram above is %+.1f %%\n", "resident", spelling.Size(m.Resident), 100*(float64(m.RAM())/float64(m.Resident)-1))
	}
	if m.Peak > 0 {
		fmt.Fprintf(&b, "%-18s %11s  the most that was reserved at a time\n", "peak", spelling.Size(m.Peak))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// barWidth is the length of the longest bar of a drawing.
const barWidth = 40

// draw prints a drawing of memories: what of each is used for what, with bars
// in one proportion for all. Parts of one memory stand together.
func draw(b *strings.Builder, parts []MemoryPart) {
	most := int64(1)
	total := map[string]int64{}
	for _, p := range parts {
		total[p.Memory] += p.Bytes
		most = max(most, p.Bytes)
	}
	before := ""
	for _, p := range parts {
		if p.Memory != before {
			fmt.Fprintf(b, "%-18s %11s\n", p.Memory, spelling.Size(total[p.Memory]))
			before = p.Memory
		}
		bar := "▏"
		if n := int((p.Bytes*barWidth + most/2) / most); n > 0 {
			bar = strings.Repeat("█", n)
		}
		fmt.Fprintf(b, "  %-16s %11s  %s\n", p.Use, spelling.Size(p.Bytes), bar)
	}
}
