package place_test

import (
	"errors"
	"fmt"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/place"
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
		if want := (1 - c.HitRate()) * 4 * 48 * (1 << 20) / 8; p.Decode.ExpertBytes < 0.999*want || p.Decode.ExpertBytes > 1.001*want {
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
