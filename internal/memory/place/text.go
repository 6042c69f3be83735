package place

import (
	"fmt"
	"io"
	"strings"

	"atenia/internal/memory"
	"atenia/internal/spelling"
)

// A Row is one line of a plan's table: a tier, the ring, or a reserve.
type Row struct {
	What    string `json:"what"`
	Bytes   int64  `json:"bytes"`
	Tensors int    `json:"tensors"`
}

// Rows returns the plan's table: each tier's bytes by class, the ring and the
// reserves.
func (p *Placement) Rows() (out []Row) {
	for _, t := range []memory.Tier{memory.VRAM, memory.RAM, memory.SSD} {
		for c := range classNames {
			r := Row{What: t.Lower() + " " + classNames[c]}
			for i := range p.Tensors {
				if x := &p.Tensors[i]; x.Tier == t && int(x.Class) == c {
					r.Bytes += x.Bytes
					r.Tensors++
				}
			}
			if r.Tensors > 0 {
				out = append(out, r)
			}
		}
		if t != memory.RAM {
			continue
		}
		if p.Ring.Slots > 0 {
			out = append(out, Row{What: fmt.Sprintf("ram ring of %d units", p.Ring.Slots), Bytes: p.Ring.Bytes()})
		}
		if c := p.Cache; c.Experts+c.Held > 0 {
			out = append(out, Row{What: "ram " + c.String(), Bytes: c.Bytes()})
		}
		for _, r := range p.in.Reserves {
			out = append(out, Row{What: "ram reserve " + r.Name, Bytes: r.Bytes})
		}
	}
	return out
}

// WriteText prints the table, the predictions and the changes that would help.
func (p *Placement) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %14s  %-11s %s\n", "tier", "bytes", "", "tensors")
	for _, r := range p.Rows() {
		n := "-"
		if r.Tensors > 0 {
			n = fmt.Sprint(r.Tensors)
		}
		fmt.Fprintf(&b, "%-24s %14d  %-11s %s\n", r.What, r.Bytes, spelling.Size(r.Bytes), n)
	}
	switch ram := p.RAM(); {
	case p.in.RAM == 0:
		fmt.Fprintf(&b, "%-24s %14d  %-11s no budget\n", "ram in all", ram, spelling.Size(ram))
	default:
		fmt.Fprintf(&b, "%-24s %14d  %-11s %.1f %% of the budget of %s\n", "ram in all", ram, spelling.Size(ram), 100*float64(ram)/float64(p.in.RAM), spelling.Size(p.in.RAM))
	}
	if c := p.Cache; c.Experts > 0 {
		fmt.Fprintf(&b, "%-8s %d of %d in memory at once, %s each; %.0f %% of those that tokens choose are there if all are chosen equally often\n",
			"experts", c.Slots, c.Experts, spelling.Size(c.Slot), 100*p.HitRate(p.Decode.Tokens))
	}
	p.writePrediction(&b, "decode", "a token"+p.Decode.Where(p.Decode.Tokens), &p.Decode)
	p.writePrediction(&b, "prefill", "a token", &p.Prefill)
	fmt.Fprintf(&b, "%-8s %s\n", "rates", p.rates())
	if d := &p.Decode; d.Runs > 0 {
		fmt.Fprintf(&b, "%-8s corrected by %s, which took %.2f times as long as the rates say\n", "runs", spelling.Count(d.Runs, "run"), d.Correction)
	}
	next := p.Next
	if p.Supposed() { // the figures of which say what is read alone
		next = p.Larger
	}
	if len(next) == 0 && p.Spills() {
		fmt.Fprintf(&b, "%-8s more RAM does not make decode faster by more than predictions are off\n", "next")
	}
	of := ""
	if n := p.Decode.Tokens; n > 1 {
		of = fmt.Sprintf(", of a pass of %d tokens", n)
	}
	for _, c := range next {
		fmt.Fprintf(&b, "%-8s %s%s\n", "next", c, of)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Where says after how long a text a pass takes Seconds, and what a token of n in it takes
// at the beginning of one; "" where it takes as long anywhere.
func (p *Prediction) Where(n int) string {
	return spelling.AfterText(p.Text, p.Seconds/float64(max(n, 1)), p.Start/float64(max(n, 1)))
}

func (p *Placement) writePrediction(b *strings.Builder, name, unit string, r *Prediction) {
	within := r.Range.text(r.Tokens)
	if p.guessed(r) { // which promises nothing
		within = ""
	}
	limits := p.Limits(r)
	if limits != "" {
		limits = ", limited by " + limits
	}
	fmt.Fprintf(b, "%-8s %s s%s %s, %s s a pass of %d%s (ssd %s, ram %s, compute %s", name,
		spelling.Seconds(r.PerToken()), within, unit, spelling.Seconds(r.Seconds), r.Tokens, limits, spelling.Seconds(r.SSD), spelling.Seconds(r.RAM), spelling.Seconds(r.Compute))
	if r.VRAM > 0 {
		fmt.Fprintf(b, ", vram %s", spelling.Seconds(r.VRAM))
	}
	fmt.Fprintf(b, "); %s read from the ssd\n", spelling.Size(int64(r.SSDBytes)))
}

// rates lists the rates and how each was obtained.
func (p *Placement) rates() string {
	r := p.in.Rates
	s := fmt.Sprintf("ssd %s/s, ram %s/s, %.3g GFLOP/s", spelling.Size(int64(r.SSD)), spelling.Size(int64(r.RAM)), r.FLOPS/1e9)
	if len(p.in.Devices) > 0 {
		s += fmt.Sprintf(", vram %s/s", spelling.Size(int64(r.VRAM)))
	}
	if r.SSDBusy > 0 && r.RAMBusy > 0 {
		s += fmt.Sprintf(", both at once %s/s and %s/s", spelling.Size(int64(r.SSDBusy)), spelling.Size(int64(r.RAMBusy)))
	}
	var from []string
	for _, f := range []struct {
		how   string
		names []string
	}{{"measured just now", r.Measured}, {"measured earlier", r.Kept}, {"assumed, not measured", r.Assumed}} {
		if len(f.names) > 0 {
			from = append(from, f.how+": "+strings.Join(f.names, ", "))
		}
	}
	if len(from) > 0 {
		s += " (" + strings.Join(from, "; ") + ")"
	}
	return s
}
