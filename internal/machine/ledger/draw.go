package ledger

import (
	"fmt"
	"io"
	"strings"

	"atenia/internal/spelling"
)

// A Part is bytes of one memory that have one use.
type Part struct {
	Memory string `json:"memory"` // such as "ram"
	Use    string `json:"use"`    // such as "weights"
	Bytes  int64  `json:"bytes"`
}

// Parts returns what is held of an account, by use, as parts of a memory.
func (a *Account) Parts(memory string) (out []Part) {
	for u := range uses {
		if n := a.Of(u); n > 0 {
			out = append(out, Part{memory, u.String(), n})
		}
	}
	return out
}

// barWidth is the length of the longest bar of a drawing.
const barWidth = 40

// Draw prints a drawing of memories: what of each is used for what, with bars
// in one proportion for all. Parts of one memory stand together.
func Draw(w io.Writer, parts []Part) error {
	most := int64(1)
	total := map[string]int64{}
	for _, p := range parts {
		total[p.Memory] += p.Bytes
		most = max(most, p.Bytes)
	}
	var b strings.Builder
	before := ""
	for _, p := range parts {
		if p.Memory != before {
			fmt.Fprintf(&b, "%-18s %11s\n", p.Memory, spelling.Size(total[p.Memory]))
			before = p.Memory
		}
		bar := "▏"
		if n := int((p.Bytes*barWidth + most/2) / most); n > 0 {
			bar = strings.Repeat("█", n)
		}
		fmt.Fprintf(&b, "  %-16s %11s  %s\n", p.Use, spelling.Size(p.Bytes), bar)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
