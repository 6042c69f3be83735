package place_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
)

// random returns a model of random sizes: dense, with experts, with one huge
// head, with tables, and some tensors that must be held.
func random(r *rand.Rand) place.Input {
	in := place.Input{Rates: rates, FLOP: 1e9, Batch: 1 + r.IntN(3)}
	if r.IntN(4) > 0 {
		in.Tensors = append(in.Tensors, place.Tensor{Name: "token_embd", Bytes: r.Int64N(1 << 26), Class: place.Table, ByRow: true, RowBytes: 4096})
	}
	base := 1 + r.Int64N(1<<22)
	experts := []int{0, 0, 4, 16}[r.IntN(4)]
	unit := 0
	for l := range 8 + r.IntN(40) {
		for k := range 1 + r.IntN(6) {
			in.Tensors = append(in.Tensors, place.Tensor{Name: fmt.Sprintf("blk.%d.w%d", l, k), Bytes: base + r.Int64N(base), Uses: 1, Unit: unit})
			if r.IntN(3) == 0 {
				unit++
			}
		}
		in.Tensors = append(in.Tensors, place.Tensor{Name: fmt.Sprintf("blk.%d.norm", l), Bytes: 4096, Class: place.Vector, Uses: 1, Unit: unit})
		for e := range experts {
			unit++
			in.Tensors = append(in.Tensors, place.Tensor{Name: fmt.Sprintf("blk.%d.expert.%d", l, e), Bytes: base, Class: place.Expert, Uses: 2 / float64(experts), Unit: unit})
		}
		unit++
	}
	if r.IntN(2) == 0 {
		in.Tensors = append(in.Tensors, place.Tensor{Name: "output", Bytes: 1 + r.Int64N(1<<27), Uses: 1, Unit: unit})
	}
	if r.IntN(3) == 0 {
		in.Tensors = append(in.Tensors, place.Tensor{Name: "made", Bytes: 1 + r.Int64N(1<<20), Uses: 1, Held: "made by a transform"})
	}
	in.Tensors = append(in.Tensors, place.Tensor{Name: "kv.0", Bytes: r.Int64N(1 << 25), Class: place.KV, Uses: 0.5})
	in.Reserves = []place.Reserve{{Name: "runtime", Bytes: r.Int64N(1 << 24)}}
	for i := range in.Tensors {
		in.RAM += in.Tensors[i].Bytes
	}
	in.RAM = 1 + r.Int64N(in.RAM+in.RAM/4)
	return in
}

// ringOf recomputes the ring of a plan.
func ringOf(p *place.Placement) (bytes int64, units int) {
	of := map[int]int64{}
	for i := range p.Tensors {
		if t := &p.Tensors[i]; t.Streamed() && t.Bytes > 0 {
			of[t.Unit] += place.SlotBytes(t.Bytes)
		}
	}
	sizes := slices.Sorted(maps.Values(of))
	for _, n := range sizes[max(0, len(sizes)-p.Ring.Slots):] {
		bytes += n
	}
	return bytes, len(of)
}

// For random models and budgets, a placement does not exceed the budget, gives
// every tensor an allowed tier, holds the largest streamed unit in its ring,
// streams no tensor that would still fit, and is deterministic. If the budget is
// too small, the reported floor suffices, and a byte less does not.
func TestPlaceAnything(t *testing.T) {
	t.Parallel()
	spills, floors, seeds := 0, 0, 150
	if await.Long() {
		seeds = 300
	}
	for seed := range uint64(seeds) {
		in := random(rand.New(rand.NewPCG(seed, 1)))
		p, err := place.Place(in)
		if err != nil {
			var f *place.FloorError
			if !errors.As(err, &f) || f.Tier != place.RAM {
				t.Fatalf("seed %d: %v", seed, err)
			}
			floors++
			checkFloor(t, seed, in, f)
			continue
		}
		checkPlan(t, seed, in, p)
		if p.Spills() {
			spills++
		}
		if again, err := place.Place(in); err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("seed %d: another plan the second time, %v", seed, err)
		}
	}
	t.Logf("%d plans spill, %d budgets are below the floor", spills, floors)
	if spills < seeds/5 || floors < seeds/60 {
		t.Error("the cases are too easy")
	}
}

func checkFloor(t *testing.T, seed uint64, in place.Input, f *place.FloorError) {
	t.Helper()
	sum := int64(0)
	for _, part := range f.Parts {
		sum += part.Bytes
	}
	if sum != f.Floor || f.Floor <= in.RAM || f.Budget != in.RAM {
		t.Errorf("seed %d: parts of %d bytes: %v", seed, sum, f)
	}
	in.RAM = f.Floor
	p, err := place.Place(in)
	if err != nil {
		t.Fatalf("seed %d: the floor is not enough: %v", seed, err)
	}
	checkPlan(t, seed, in, p)
	in.RAM--
	if _, err := place.Place(in); !errors.Is(err, place.ErrFloor) {
		t.Errorf("seed %d: less than the floor is enough", seed)
	}
}

func checkPlan(t *testing.T, seed uint64, in place.Input, p *place.Placement) {
	t.Helper()
	if p.RAM() > in.RAM {
		t.Errorf("seed %d: %d bytes of a budget of %d", seed, p.RAM(), in.RAM)
	}
	if bytes, units := ringOf(p); bytes != p.Ring.Bytes() || units != p.Ring.Units || (units > 0) != (p.Ring.Slots >= 2) {
		t.Errorf("seed %d: ring %+v, want %d units in %d bytes", seed, p.Ring, units, bytes)
	}
	left, all := in.RAM-p.RAM(), int64(0)
	smallest := int64(1 << 60)
	for i := range p.Tensors {
		x := &p.Tensors[i]
		if x.Name != in.Tensors[i].Name {
			t.Fatalf("seed %d: tensor %d is %s", seed, i, x.Name)
		}
		all += x.Bytes
		if x.Tier == memory.SSD {
			smallest = min(smallest, x.Bytes)
			if x.Class == place.KV || x.Class == place.Vector || x.Held != "" {
				t.Errorf("seed %d: %s is on the ssd", seed, x.Name)
			}
		}
	}
	if p.Spills() && left >= smallest {
		t.Errorf("seed %d: %d bytes left, and %d would do", seed, left, smallest)
	}
	if !p.Spills() && p.Ring.Slots > 0 {
		t.Errorf("seed %d: a ring for nothing", seed)
	}
	if fits := all+in.Reserves[0].Bytes <= in.RAM; fits == p.Spills() {
		t.Errorf("seed %d: fits %v, spills %v", seed, fits, p.Spills())
	}
}

// A model of many layers uses at least 95 % of a budget that it spills out of.
func TestPlaceUsesTheBudget(t *testing.T) {
	t.Parallel()
	for mib := int64(200); mib < 900; mib += 7 {
		p, err := place.Place(place.Input{Tensors: model(16), RAM: mib << 20, Rates: rates})
		if err != nil {
			t.Fatal(err)
		}
		if used := float64(p.RAM()) / float64(mib<<20); p.Spills() && used < 0.95 {
			t.Errorf("%d MiB: %.3f used", mib, used)
		}
	}
}
