package place_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
)

// mixture is a model of layers with attention and 16 experts each, of which a token
// chooses 2, and a table.
func mixture(ram int64, pins ...string) place.Input {
	const mib = 1 << 20
	in := place.Input{RAM: ram, Rates: place.Rates{SSD: 1e9, RAM: 1e10}}
	in.Tensors = append(in.Tensors, place.Tensor{Name: "table", Bytes: 8 * mib, Class: place.Table, Uses: 1, ByRow: true, RowBytes: 1000})
	for l := range 4 {
		in.Tensors = append(in.Tensors, place.Tensor{Name: fmt.Sprintf("blk.%d.attn", l), Bytes: 2 * mib, Uses: 1, Unit: 2*l + 1})
		for _, name := range []string{"gate", "up", "down"} {
			in.Tensors = append(in.Tensors, place.Tensor{
				Name: fmt.Sprintf("blk.%d.%s_exps", l, name), Bytes: 16 * mib, Class: place.Expert, Uses: 2.0 / 16, Experts: 16, Unit: 2*l + 2,
			})
		}
	}
	for _, s := range pins {
		p, _ := place.ParsePin(s)
		in.Pins = append(in.Pins, p)
	}
	return in
}

// TestExperts: under every budget from the floor on, what every pass reads comes
// before experts, experts before the table, and the budget is used.
func TestExperts(t *testing.T) {
	_, err := place.Place(mixture(1))
	floor, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		t.Fatal(err)
	}
	if _, err := place.Place(mixture(floor.Floor - 1)); err == nil {
		t.Error("a budget below the floor")
	}
	before := 0.0
	for ram := floor.Floor; ; ram += 1 << 20 {
		p, err := place.Place(mixture(ram))
		if err != nil {
			t.Fatal(err)
		}
		if !p.Spills() {
			break
		}
		c := p.Cache
		if p.RAM() > ram || c.Slots < 4 || c.Slots > c.Experts || c.Experts != 64 {
			t.Fatalf("%d bytes: %d are taken, %+v", ram, p.RAM(), c)
		}
		if p.Ring.Slots > 0 && c.Slots > 4 && ram-p.RAM() > 2<<20 {
			t.Errorf("%d bytes: weights are streamed, and %d experts have room", ram, c.Slots)
		}
		if x, _ := p.Tensor("table"); x.Tier == memory.RAM && c.Slots < c.Experts {
			t.Errorf("%d bytes: the table comes before experts", ram)
		}
		if p.Ring.Slots == 0 && c.Slots < c.Experts && ram-p.RAM() >= c.Slot {
			t.Errorf("%d bytes: %d are left", ram, ram-p.RAM())
		}
		if want := (1 - p.HitRate(1)) * 4 * 48 * (1 << 20) / 8; p.Decode.ExpertBytes < 0.999*want || p.Decode.ExpertBytes > 1.001*want {
			t.Errorf("%d bytes: %g bytes of experts a pass, want %g", ram, p.Decode.ExpertBytes, want)
		}
		if p.Ring.Slots > 0 { // a choice of rings
			continue
		}
		if before > 0 && p.Decode.Seconds > 1.001*before {
			t.Errorf("%d bytes: %g s, with less memory %g", ram, p.Decode.Seconds, before)
		}
		before = p.Decode.Seconds
	}
}

// TestExpertsPins: a pin of one matrix of a layer's experts is one of all three, and
// a plan file brings the same cache.
func TestExpertsPins(t *testing.T) {
	p, err := place.Place(mixture(120<<20, `blk\.2\.up_exps=ram`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gate", "up", "down"} {
		if x, _ := p.Tensor("blk.2." + name + "_exps"); x.Tier != memory.RAM || x.Rule != place.RulePin {
			t.Errorf("%s is in %v by rule %s", x.Name, x.Tier, x.Rule)
		}
		if x, _ := p.Tensor("blk.1." + name + "_exps"); x.Tier != memory.SSD || x.Rule != place.RuleCache || x.Streamed() {
			t.Errorf("%s is in %v by rule %s", x.Name, x.Tier, x.Rule)
		}
	}
	if c := p.Cache; c.Held != 16 || c.Experts != 48 || p.RAM() > 120<<20 {
		t.Errorf("%+v, %d bytes", c, p.RAM())
	}
	b, err := p.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	f, err := place.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	q, err := place.Reload(mixture(0), f)
	if err != nil || q.Cache != p.Cache {
		t.Errorf("reloaded: %v", err)
	}
}

// zeros is a file of nothing.
type zeros int64

func (z zeros) ReadAt(b []byte, _ int64) (int, error) { clear(b); return len(b), nil }
func (z zeros) Same() error                           { return nil }
func (z zeros) Size() int64                           { return int64(z) }
func (z zeros) Name() string                          { return "zeros" }

// TestHitRate: what is predicted of a cache is what a cache of the same experts has, of
// choices by chance.
func TestHitRate(t *testing.T) {
	const layers, experts, chosen, size = 4, 16, 2, 4096
	var all []ring.ExpertLayer
	for l := range layers {
		var x ring.ExpertLayer
		for e := range experts {
			x.Experts = append(x.Experts, ring.Unit{{Offset: int64(l*experts+e) * size, Bytes: size}})
		}
		all = append(all, x)
	}
	off, times := 0.0, 0.0
	drawn := rand.New(rand.NewPCG(1, 2))
	for ram := int64(20 << 20); ram <= 220<<20; ram += 20 << 20 {
		p, err := place.Place(mixture(ram))
		if errors.Is(err, place.ErrFloor) || err == nil && !p.Spills() {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		c, err := ring.NewExpertCache(ring.ExpertConfig{Files: []ring.Source{zeros(layers * experts * size)}, Layers: all, Slots: p.Cache.Slots, Account: ledger.Process, Readers: 1})
		if err != nil {
			t.Fatal(err)
		}
		var before ring.ExpertStats
		for pass := range 600 {
			if pass == 100 {
				before = c.Stats()
			}
			if err := c.Begin(nil); err != nil {
				t.Fatal(err)
			}
			for l := range layers {
				ids := []int32{}
				for _, k := range drawn.Perm(experts)[:chosen] {
					ids = append(ids, int32(k))
				}
				c.Use(l, ids, false)
				for n := 0; n < chosen; {
					k, err := c.Acquire()
					if err != nil {
						t.Fatal(err)
					}
					n += k
					c.Release()
				}
			}
			c.End(true)
		}
		got := c.Stats().Since(before)
		c.Close()
		off += got.HitRate() - p.HitRate(1)
		times++
		if rate := got.HitRate(); math.Abs(rate-p.HitRate(1)) > 0.04 {
			t.Errorf("%d slots of %d: %.3f hits, want %.3f", p.Cache.Slots, layers*experts, rate, p.HitRate(1))
		}
	}
	if math.Abs(off/times) > 0.015 {
		t.Errorf("hits are %.3f off in the mean of %g caches", off/times, times)
	}
}

// TestChosen: experts wait once a layer, for as long as was measured.
func TestChosen(t *testing.T) {
	in := mixture(100 << 20)
	in.Rates.Chosen = place.ChosenRate{Wait: 1, Each: 0.5}
	p := decodeOf(t, in)
	h := p.HitRate(1)
	want := 4*(1-h*h) + 0.5*4*2*(1-h)
	if got := p.Decode.Seconds; h <= 0 || h >= 0.5 || got < want || got > want+0.1 { // with the weights that are there
		t.Errorf("%g s with %g hits, want %g", got, h, want)
	}
	in.Rates.Chosen.Range = place.Range{Low: 0.8, High: 1.1}
	if r := decodeOf(t, in).Decode.Range; r.Low > 0.85*want || r.High < 1.1*want {
		t.Errorf("%+v about %g", r, want)
	}
}

// TestChosenRate: both numbers of experts take as long as was measured.
func TestChosenRate(t *testing.T) {
	for _, c := range []struct {
		one, all float64
		chosen   int
		want     place.ChosenRate
	}{
		{3, 6, 4, place.ChosenRate{Wait: 2, Each: 1}},
		{2, 8, 4, place.ChosenRate{Each: 2}},
		{2, 9, 4, place.ChosenRate{Each: 2.25}}, // no faster at once
		{2, 2, 4, place.ChosenRate{Each: 0.5}},
		{2, 2, 1, place.ChosenRate{Each: 2}},
	} {
		if got := place.RateOfChosen(c.one, c.all, c.chosen); got != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestFewRows: products with several rows read weights once, and take longer by as much for
// each row, between what was measured with one, eight and 128; keys and values are read
// beside them.
func TestFewRows(t *testing.T) {
	in := place.Input{RAM: 1 << 40, FLOP: 1e9, Rates: place.Rates{RAM: 1e9, FLOPS: 64e9, FewFLOPS: 4e9}, Tensors: []place.Tensor{
		{Name: "w", Bytes: 1e9, Uses: 1}, {Name: "kv", Bytes: 1e9, Class: place.KV, PerToken: 1e6},
	}}
	in.Text = 100
	for batch, want := range map[int]float64{1: 1, 2: 1 + 1.0/7, 4: 1 + 3.0/7, 8: 2, 128: 2} {
		in.Batch = batch
		want += 0.1 * float64(batch)
		if got := decodeOf(t, in).Decode.Seconds; math.Abs(got-want) > 1e-6 && !(batch == 128 && got >= 2) {
			t.Errorf("%d rows take %g s, want %g", batch, got, want)
		}
	}
	in.Rates.FewFLOPS, in.Batch = 0.5e9, 1 // as of types that are fast with one row alone
	if got := decodeOf(t, in).Decode; math.Abs(got.Seconds-1.1) > 1e-6 || got.Limit != "ram" {
		t.Errorf("one row takes %g s, limited by %s, want 1.1 and ram", got.Seconds, got.Limit)
	}
	in.Rates.FewFLOPS, in.Batch = 0, 4
	if got := decodeOf(t, in).Decode.Seconds; math.Abs(got-1.4) > 1e-6 {
		t.Errorf("rows that were not measured take %g s, want what reading takes", got)
	}
}
