package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/place"
)

// A streamResult is the result that is printed with --json.
type streamResult struct {
	Model        string `json:"model"`
	Machine      string `json:"machine"` // equal on equal machines
	Bytes        int64  `json:"bytes"`
	LRU          string `json:"lru"`
	ControlGroup string `json:"control_group"` // v1, v2, or why there was none
	Prompt       int    `json:"prompt"`
	Passes       int    `json:"passes"`
	Rounds       int    `json:"rounds"`
	Rows         []row  `json:"rows"`

	before *streamResult
}

// A row is one size of memory.
type row struct {
	Ratio    float64 `json:"ratio"`
	Limit    int64   `json:"memory_bytes"`
	Mapped   side    `json:"mapped"`
	Streamed side    `json:"streamed"`
	Faster   float64 `json:"faster"`     // median of the one by that of the other
	Equal    bool    `json:"equal"`      // all logits of all runs
	Bound    float64 `json:"disk_bound"` // seconds: bytes streamed by the disk's rate
	Held     int64   `json:"held_bytes"`
	Stream   int64   `json:"streamed_bytes"`
	Ring     int64   `json:"ring_bytes"`
	Overlap  float64 `json:"overlap"` // median
	Experts  *chosen `json:"experts,omitempty"`
	// Predicted is the prediction of the placement, in seconds.
	Predicted float64     `json:"predicted_seconds"`
	Rates     place.Rates `json:"rates"` // medians of those measured before each turn
}

// A chosen is what the experts of a mixture cost.
type chosen struct {
	Slots   int     `json:"slots"` // experts in memory at once
	Experts int     `json:"experts"`
	HitRate float64 `json:"hit_rate"`      // median
	Missing float64 `json:"missing_bytes"` // read in a pass, median
	Whole   side    `json:"whole_layers"`  // all experts of each layer read
	Faster  float64 `json:"faster_than_whole_layers"`
}

// A side is one way to run the model.
type side struct {
	Median float64 `json:"seconds"` // of passes after the first of each run
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Read   float64 `json:"read_bytes"` // median of a pass; 0 = the file is not on a disk, or not known
	Peak   int64   `json:"peak_bytes"` // most memory of the process at any sample
}

// row summarizes the turns.
//
// The bound of the disk is for what a pass has to read: streamed weights, and
// missing experts.
func (t *turns) row(bytes int64) (w row) {
	w = row{Limit: t.limit, Ratio: float64(bytes) / float64(t.limit), Mapped: sideOf(t.mapped), Streamed: sideOf(t.streamed)}
	w.Faster = w.Mapped.Median / w.Streamed.Median
	w.Equal = true
	for _, r := range slices.Concat(t.mapped, t.streamed, t.whole) {
		w.Equal = w.Equal && r.Hash == t.streamed[0].Hash
	}
	of := func(f func(i int) float64) float64 {
		v := make([]float64, len(t.streamed))
		for i := range v {
			v[i] = f(i)
		}
		return median(v)
	}
	w.Overlap = of(func(i int) float64 { return t.streamed[i].Overlap })
	w.Predicted = of(func(i int) float64 { return t.streamed[i].Predicted })
	w.Bound = of(func(i int) float64 { return (float64(t.streamed[i].Streamed) + t.streamed[i].Missing) / t.rates[i].SSD })
	w.Rates = place.Rates{
		SSD:     of(func(i int) float64 { return t.rates[i].SSD }),
		SSDBusy: of(func(i int) float64 { return t.rates[i].SSDBusy }),
		RAM:     of(func(i int) float64 { return t.rates[i].RAM }),
		RAMBusy: of(func(i int) float64 { return t.rates[i].RAMBusy }),
	}
	last := t.streamed[len(t.streamed)-1]
	w.Held, w.Stream, w.Ring = last.Held, last.Streamed, last.Ring
	if len(t.whole) > 0 {
		w.Experts = &chosen{
			Slots: last.Slots, Experts: last.Experts, Whole: sideOf(t.whole),
			HitRate: of(func(i int) float64 { return t.streamed[i].HitRate }),
			Missing: of(func(i int) float64 { return t.streamed[i].Missing }),
		}
		w.Experts.Faster = w.Experts.Whole.Median / w.Streamed.Median
	}
	return w
}

func sideOf(rs []*bench.PassesReport) (s side) {
	var seconds, read []float64
	for _, r := range rs {
		s.Peak = max(s.Peak, r.Peak)
		seconds = append(seconds, r.Seconds[min(1, len(r.Seconds)):]...)
		for _, n := range r.ReadBytes[min(1, len(r.ReadBytes)):] {
			read = append(read, float64(n))
		}
	}
	s.Median, s.Read = median(seconds), median(read)
	if len(seconds) > 0 {
		s.Min, s.Max = slices.Min(seconds), slices.Max(seconds)
	}
	return s
}

// median returns 0 for no values, because JSON has no NaN.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	if n == 0 {
		return 0
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// write prints a table that is Markdown, too.
func (r *streamResult) write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %.2f GB; %s; control group: %s\n", r.Model, float64(r.Bytes)/1e9, r.LRU, r.ControlGroup)
	for i := range r.Rows {
		x := &r.Rows[i].Rates
		fmt.Fprintf(&b, "%.2f: disk %.2f GB/s, memory %.1f; both at once %.2f and %.1f\n", r.Rows[i].Ratio, x.SSD/1e9, x.RAM/1e9, x.SSDBusy/1e9, x.RAMBusy/1e9)
	}
	fmt.Fprintf(&b, "medians (least–most) of %d × %s of one token after a prompt of %d\n\n", r.Rounds, spelling.Count(r.Passes, "pass"), r.Prompt)
	b.WriteString("| model / memory | memory | mapped, s a pass | streamed, s a pass | faster | streamed / disk bound | predicted | overlap | read a pass | most memory | logits |\n")
	b.WriteString("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for i := range r.Rows {
		x := &r.Rows[i]
		read := "not known"
		if x.Mapped.Read > 0 || x.Streamed.Read > 0 {
			read = fmt.Sprintf("%.2f → %.2f GB", x.Mapped.Read/1e9, x.Streamed.Read/1e9)
		}
		equal := "equal"
		if !x.Equal {
			equal = "DIFFERENT"
		}
		fmt.Fprintf(&b, "| %.2f | %.2f GB | %s | %s | %.1f× | %.3f s, %.2f | %.3f s, %+.0f %% | %.2f | %s | %.1f %% | %s |\n",
			x.Ratio, float64(x.Limit)/1e9, x.Mapped, x.Streamed, x.Faster, x.Bound, x.Streamed.Median/x.Bound,
			x.Predicted, 100*(x.Streamed.Median/x.Predicted-1), x.Overlap, read,
			100*float64(x.Streamed.Peak)/float64(x.Limit), equal)
	}
	for i := range r.Rows {
		if e := r.Rows[i].Experts; e != nil {
			fmt.Fprintf(&b, "%.2f: %d of %d experts in memory, %.1f %% hits, %s read for those missing in a pass; whole layers %s s a pass, %.1f× slower\n",
				r.Rows[i].Ratio, e.Slots, e.Experts, 100*e.HitRate, spelling.Size(int64(e.Missing)), e.Whole, e.Faster)
		}
	}
	r.compare(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// String is a median with its range.
func (s side) String() string { return fmt.Sprintf("%.3f (%.3f–%.3f)", s.Median, s.Min, s.Max) }

// compare prints what became of the rows of an earlier result.
func (r *streamResult) compare(b *strings.Builder) {
	if r.before == nil {
		return
	}
	for i := range r.Rows {
		x := &r.Rows[i]
		k := slices.IndexFunc(r.before.Rows, func(o row) bool { return o.Limit == x.Limit })
		if k < 0 {
			fmt.Fprintf(b, "%d bytes of memory: not measured before\n", x.Limit)
			continue
		}
		o := &r.before.Rows[k]
		fmt.Fprintf(b, "%d bytes of memory: %.3f s a pass, %.3f before (%+.1f %%)\n",
			x.Limit, x.Streamed.Median, o.Streamed.Median, 100*(x.Streamed.Median/o.Streamed.Median-1))
	}
}

// verify returns an error if results differ, or if memory exceeded a budget by
// more than one percent.
func (r *streamResult) verify() error {
	for i := range r.Rows {
		x := &r.Rows[i]
		switch {
		case !x.Equal:
			return fmt.Errorf("%w: with %d bytes of memory runs gave different logits", command.ErrVerify, x.Limit)
		case float64(x.Streamed.Peak) > 1.01*float64(x.Limit):
			return fmt.Errorf("%w: %d bytes of memory were taken, the budget is %d", command.ErrVerify, x.Streamed.Peak, x.Limit)
		}
	}
	return nil
}

// readStreamResult reads what --json wrote.
func readStreamResult(path string) (*streamResult, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseStreamResult(b)
}

func parseStreamResult(b []byte) (*streamResult, error) {
	r := &streamResult{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("not a result of bench stream: %w", err)
	}
	if len(r.Rows) == 0 {
		return nil, fmt.Errorf("not a result of bench stream: it has no rows")
	}
	return r, nil
}
