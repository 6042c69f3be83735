package place_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"atenia/internal/memory/place"
	"atenia/internal/spelling"
)

// streamed is a model of which part of is streamed, and whose rates were measured.
func streamed(ram int64) place.Input {
	in := place.Input{RAM: ram, FLOP: 1e9, Rates: place.Rates{SSD: 1e9, RAM: 1e10, FLOPS: 1e12, Measured: []string{"ssd", "ram"}, Assumed: []string{"flops"}}}
	for i := range 20 {
		in.Tensors = append(in.Tensors, place.Tensor{Name: fmt.Sprint("blk.", i), Bytes: 50 << 20, Uses: 1, Unit: i})
	}
	return in
}

func decodeOf(t *testing.T, in place.Input) *place.Placement {
	t.Helper()
	p, err := place.Place(in)
	if err != nil {
		t.Fatal(err)
	}
	d := &p.Decode
	if !(d.Range.Low < d.Seconds && d.Seconds < d.Range.High) || d.Range.High > 1.2500001*d.Seconds || d.Range.Low < 0.7499999*d.Seconds {
		t.Fatalf("%g s, %+v", d.Seconds, d.Range)
	}
	return p
}

// A range is as wide as rates varied, and never wider than a quarter.
func TestRange(t *testing.T) {
	in := streamed(500 << 20)
	in.Rates.SSDRange = place.Range{Low: 1e9, High: 1e9}
	narrow := decodeOf(t, in).Decode
	in.Rates.SSDRange = place.Range{Low: 0.93e9, High: 1.07e9}
	wide := decodeOf(t, in).Decode
	if !(wide.Range.Low < narrow.Range.Low && wide.Range.High > narrow.Range.High) || wide.Seconds != narrow.Seconds {
		t.Errorf("%+v is no wider than %+v", wide, narrow)
	}
	in.Rates.SSDRange = place.Range{Low: 1e8, High: 1e10}
	if d := decodeOf(t, in).Decode; math.Abs(d.Range.High-1.25*d.Seconds) > 1e-9 {
		t.Errorf("%+v", d)
	}
	in.Rates.SSDRange, in.Rates.Measured, in.Rates.Assumed = place.Range{}, nil, []string{"ssd", "ram", "flops"}
	if d := decodeOf(t, in).Decode; math.Abs(d.Range.High-1.25*d.Seconds) > 1e-9 {
		t.Errorf("of assumptions: %+v", d)
	}
}

// TestProductsTakeLonger: weights whose products are slower than memory take as much longer,
// those that are streamed, too, and few rows are computed at a rate of their own.
func TestProductsTakeLonger(t *testing.T) {
	in := streamed(2 << 30)
	before := decodeOf(t, in)
	for i := range in.Tensors {
		in.Tensors[i].Effort = 2
	}
	after := decodeOf(t, in)
	if got := after.Decode.RAM / before.Decode.RAM; math.Abs(got-2) > 1e-9 || after.Decode.Seconds <= before.Decode.Seconds {
		t.Errorf("%g times as long, %g s of %g", got, after.Decode.Seconds, before.Decode.Seconds)
	}
	in.RAM = 500 << 20
	if d := decodeOf(t, in).Decode; math.Abs(d.RAM/before.Decode.RAM-2) > 1e-9 {
		t.Errorf("streamed: %g times as long", d.RAM/before.Decode.RAM)
	}
	in.Rates.FewFLOPS = 1e10
	if p := decodeOf(t, in); math.Abs(p.Decode.Compute-0.1) > 1e-9 || math.Abs(p.Prefill.Compute-512e9/1e12) > 1e-9 {
		t.Errorf("computing takes %g s, and %g of a prompt", p.Decode.Compute, p.Prefill.Compute)
	}
}

// What runs of the same kind measured corrects a prediction and makes its range
// narrower, but moves no tensor; runs of another kind, and rates that were given,
// change nothing.
func TestCorrections(t *testing.T) {
	in := streamed(500 << 20)
	in.Rates.SSDRange = place.Range{Low: 0.9e9, High: 1.1e9}
	before := decodeOf(t, in)
	class := before.Class()
	for _, c := range []struct {
		ratios map[string][]float64
		runs   int
		ratio  float64
	}{
		{map[string][]float64{class: {1.5, 1.4, 1.6}}, 3, 1.5},
		{map[string][]float64{class: {1.5}, "streamed measured ram,1/4": {0.5}}, 1, 1.5},
		{map[string][]float64{"streamed measured ram,1/4": {1.2, 1.4}}, 2, 1.3}, // the nearest that is known
		{map[string][]float64{"held measured ram,0/4": {1.2}}, 0, 0},
		{map[string][]float64{"streamed assumed ssd,1/4": {1.2}}, 0, 0},
	} {
		in.Corrections = place.Corrections(c.ratios)
		p := decodeOf(t, in)
		d := &p.Decode
		want := before.Decode.Seconds
		if c.runs > 0 {
			want *= c.ratio
		}
		if d.Runs != c.runs || math.Abs(d.Correction-c.ratio) > 1e-9 || math.Abs(d.Seconds-want) > 1e-9 {
			t.Errorf("%v: %+v, want %g s", c.ratios, d, want)
		}
		if math.Abs(d.Ratio(2*before.Decode.Seconds, 0)-2) > 1e-9 {
			t.Errorf("%v: the ratio of a correction: %g", c.ratios, d.Ratio(2*before.Decode.Seconds, 0))
		}
		for i := range p.Tensors {
			if p.Tensors[i].Tier != before.Tensors[i].Tier {
				t.Fatalf("%v: %s moved", c.ratios, p.Tensors[i].Name)
			}
		}
	}
	in.Corrections = place.Corrections(map[string][]float64{class: slices.Repeat([]float64{1.1}, 20)})
	if d := decodeOf(t, in).Decode; (d.Range.High-d.Range.Low)/d.Seconds >= (before.Decode.Range.High-before.Decode.Range.Low)/before.Decode.Seconds {
		t.Errorf("twenty equal runs: %+v", d)
	}
	in.Rates.SSDRange = place.Range{Low: in.Rates.SSD, High: in.Rates.SSD}
	in.Corrections = place.Corrections(map[string][]float64{class: {1, 1.2}})
	if d := decodeOf(t, in).Decode; math.Abs(d.Range.High/d.Seconds-1-0.1/1.1-0.06) > 1e-9 { // half of what they differ by, and of what few runs may be off
		t.Errorf("two runs that differ: %+v", d)
	}
	in.Rates.Measured = nil
	if p := decodeOf(t, in); p.Decode.Runs != 0 || !p.Given() {
		t.Errorf("given rates were corrected: %+v", p.Decode)
	}
	in.Corrections[0].Ratio = math.NaN()
	if _, err := place.Place(in); err == nil {
		t.Error("a correction by no number")
	}
}

// TestAfterText: a pass reads the more keys and values the longer its texts are, up to the
// window of each, and not in the time of as many bytes of weights; corrections are of a pass
// as long as the one that was measured.
func TestAfterText(t *testing.T) {
	in := streamed(4000 << 20)
	plain := decodeOf(t, in).Decode
	in.Batch, in.Text = 2, 1000
	in.Tensors = append(in.Tensors,
		place.Tensor{Name: "kv.0", Bytes: 1 << 30, Class: place.KV, PerToken: 1e5, Effort: 2},
		place.Tensor{Name: "kv.1", Bytes: 1 << 30, Class: place.KV, PerToken: 1e5, Window: 100})
	d := decodeOf(t, in).Decode
	const each = 2 * 1e5 / 1e10 // seconds
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-9 }
	if d.Text != 1000 || !near(d.Start, plain.Seconds) || !near(d.Seconds, plain.Seconds+each*(2*1000+100)) || !near(d.RAMBytes, plain.RAMBytes+2*1e5*1100) {
		t.Errorf("%+v, and without keys and values %+v", d, plain)
	}
	if half := (d.Start + d.Seconds) / 2; !near(d.At(500), half) || !near(d.Ratio(3*half, 500), 3) || !near(d.At(0), d.Start) {
		t.Errorf("%g s after 500 tokens, ratio %g, want %g and 3", d.At(500), d.Ratio(3*half, 500), half)
	}
	in.Corrections = place.Corrections(map[string][]float64{decodeOf(t, in).Class(): {2}})
	if c := decodeOf(t, in).Decode; !near(c.Start, 2*d.Start) || !near(c.Ratio(d.At(500), 500), 1) {
		t.Errorf("corrected: %+v of %+v", c, d)
	}
	if got := d.Where(2); got != fmt.Sprintf(" after 1000 tokens of text (%s s at the beginning)", spelling.Seconds(d.Start/2)) || plain.Where(1) != "" {
		t.Errorf("%q, %q", got, plain.Where(1))
	}
}

// TestLimits: a pass is limited by the disk as far as computing waits for it, whichever alone
// would take longer; where the waits are few, by both; and by nothing that is known where
// rates were assumed, or runs took far longer or shorter.
func TestLimits(t *testing.T) {
	in := streamed(700 << 20)
	for rate, want := range map[float64]string{1e9: "ssd", 3.6e9: "ram and ssd", 20e9: "ram"} {
		in.Rates = place.Rates{SSD: rate, RAM: 10e9}
		p := decodeOf(t, in)
		if got := p.Limits(&p.Decode); got != want {
			t.Errorf("a disk of %g bytes a second: limited by %q, want %q (%+v)", rate, got, want, p.Decode)
		}
		in.Rates.Assumed = []string{"ssd"}
		if p := decodeOf(t, in); p.Limits(&p.Decode) != "" {
			t.Errorf("assumed rates: limited by %q", p.Limits(&p.Decode))
		}
	}
	in.Rates = place.Rates{SSD: 1e9, RAM: 10e9, Measured: []string{"ssd", "ram"}}
	class := decodeOf(t, in).Class()
	for ratio, want := range map[float64]string{0.7: "", 0.9: "ssd", 1.2: "ssd", 1.3: ""} {
		in.Corrections = []place.Correction{{Class: class, Ratio: ratio, Runs: 1}}
		if p := decodeOf(t, in); p.Limits(&p.Decode) != want {
			t.Errorf("runs took %g times as long: limited by %q, want %q", ratio, p.Limits(&p.Decode), want)
		}
	}
}

// TestNextOfAssumedRates: what more RAM does is told in bytes where times are of rates that
// were assumed, and never that it does nothing.
func TestNextOfAssumedRates(t *testing.T) {
	in := streamed(700 << 20)
	in.Rates = place.Rates{SSD: 1e12, RAM: 1e10, Assumed: []string{"ram"}, Measured: []string{"ssd"}}
	for _, runs := range []int{0, 2} { // which correct times of placements like theirs alone
		in.Corrections = place.Corrections(map[string][]float64{decodeOf(t, in).Class(): slices.Repeat([]float64{0.3}, runs)})
		p := decodeOf(t, in)
		var b strings.Builder
		if err := p.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if s := b.String(); p.Decode.Runs != runs || !strings.Contains(s, "next     +300 MiB RAM: 0 B are read from the ssd by a pass, in place of ") || strings.Contains(s, "does not make") {
			t.Errorf("%d runs, %s", p.Decode.Runs, s)
		}
	}
}

// TestRingPage: a ring of a part of a page or more is whole pages, the same for what is
// placed, for the floor and for the sum.
func TestRingPage(t *testing.T) {
	in := streamed(700 << 20)
	in.RingPage = 64 << 20
	p := decodeOf(t, in)
	if p.Ring.Size == 0 || p.Ring.Size%in.RingPage != 0 || p.RAM() > in.RAM {
		t.Errorf("a ring of %d bytes, %d in all", p.Ring.Size, p.RAM())
	}
	in.RAM = 1
	_, err := place.Place(in)
	low, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		t.Fatal(err)
	}
	in.RAM = low.Floor
	if p := decodeOf(t, in); p.Ring.Size%in.RingPage != 0 || p.RAM() > in.RAM {
		t.Errorf("at the floor: a ring of %d bytes, %d in all", p.Ring.Size, p.RAM())
	}
	in.RingPage = 1 << 40
	in.RAM = 700 << 20
	if p := decodeOf(t, in); p.Ring.Size >= 700<<20 {
		t.Errorf("a small part of a page became %d bytes", p.Ring.Size)
	}
}

// More RAM is advised only if a pass will surely be faster.
func TestNextIsSilent(t *testing.T) {
	in := streamed(500 << 20)
	p := decodeOf(t, in)
	if len(p.Next) == 0 {
		t.Fatal("nothing is advised")
	}
	for _, c := range p.Next {
		if c.SecondsThen*(1+place.OwnError) >= c.Seconds*(1-place.OwnError) {
			t.Errorf("%s: it may be no faster", c)
		}
	}
	in.RAM = 900 << 20 // few tensors are streamed, from a disk that is faster than memory
	in.Rates.SSD = 20e9
	if p := decodeOf(t, in); len(p.Next) != 0 || len(p.Larger) != 1 || p.Larger[0].SSDBytes != 0 {
		t.Errorf("%v, %v", p.Next, p.Larger)
	}
}

// What lets nothing be streamed is told once, with the least RAM that does: also where a
// quarter more, which is tried first, would be more than that, or is only for who places
// again and streams nothing in less.
func TestNextIsTheLeast(t *testing.T) {
	const all = 1000 << 20
	for ram, want := range map[int64][]int64{700 << 20: {956 << 20, all}, 900 << 20: {all}} {
		p := decodeOf(t, streamed(ram))
		told := func() (out []int64) {
			for _, c := range p.Next {
				if out = append(out, c.RAM); c.Fits != (len(out) == len(p.Next)) {
					t.Errorf("%d bytes: %s", ram, c)
				}
			}
			return out
		}
		if got := told(); !slices.Equal(got, want) {
			t.Errorf("%d bytes: %v, want %v", ram, got, want)
		}
		const fits = 940 << 20 // as with shorter steps
		p.Revise(fits, false, func(ram int64) (*place.Placement, error) {
			in := streamed(ram)
			for i := range in.Tensors {
				in.Tensors[i].Bytes = fits / int64(len(in.Tensors))
			}
			return place.Place(in)
		})
		want = []int64{fits}
		if got := told(); !slices.Equal(got, want) {
			t.Errorf("%d bytes, and nothing is streamed in %d: %v, want %v", ram, int64(fits), got, want)
		}
	}
}

// TestClassOfHalfKnown: a rate that was assumed and sets a half of what is streamed makes
// another class than measured ones.
func TestClassOfHalfKnown(t *testing.T) {
	in := streamed(500 << 20)
	in.Rates.Measured, in.Rates.Assumed = []string{"ssd", "ram"}, nil
	measured := decodeOf(t, in).Class()
	for _, name := range []string{"ram", "both at once"} {
		in.Rates.Measured, in.Rates.Assumed = []string{"ssd"}, []string{name}
		if got := decodeOf(t, in).Class(); got == measured || !strings.HasPrefix(got, "streamed assumed ") {
			t.Errorf("%s assumed: %q, and with measured rates %q", name, got, measured)
		}
	}
}

// TestContention: reading and computing that slow one another down take as long side by side
// as they would one after another; without, as the longer one.
func TestContention(t *testing.T) {
	in := streamed(500 << 20)
	in.Rates.RAM = 2e9
	free := decodeOf(t, in).Decode
	if most := max(free.SSD, free.RAM); free.Seconds > 1.25*most {
		t.Errorf("%g s, of which the longer is %g", free.Seconds, most)
	}
	in.Rates.SSDBusy, in.Rates.RAMBusy = in.Rates.SSD/2, in.Rates.RAM/2
	if d := decodeOf(t, in).Decode; d.Seconds < 0.95*(d.SSD+d.RAM) || d.Seconds > 1.05*(d.SSD+d.RAM) {
		t.Errorf("%g s, want about %g and %g", d.Seconds, d.SSD, d.RAM)
	}
}
