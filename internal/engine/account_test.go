package engine

import (
	"slices"
	"testing"
)

// TestFewer: what is advised to read less reads so much less where it is done, has room for
// the texts of the run, and pins that stream are the first that goes; smaller types read what
// they are placed to read.
func TestFewer(t *testing.T) {
	a := asked(t, 1024)
	ram := (a.plan.StreamFloor() + a.advice.Fit) / 2
	placed := func(p *Plan) float64 {
		t.Helper()
		c := p.placeConfig()
		c.Budget.RAM = ram
		pl, _, err := p.fitWhole(p.footprint, c)
		if err != nil {
			t.Fatal(err)
		}
		return pl.Decode.SSDBytes
	}
	has := func(l *Lesser, name string) bool {
		return slices.ContainsFunc(l.Flags, func(f Flag) bool { return f.Name == name })
	}
	c := a.plan.placeConfig()
	c.Budget.RAM = ram
	pl, _, err := a.plan.fitWhole(a.plan.footprint, c)
	if err != nil || pl.Decode.SSDBytes == 0 {
		t.Fatalf("%v: %+v", err, pl)
	}
	l, ok := a.plan.Fewer("other.json", pl, 100)
	if !ok || float64(l.Read) > 0.9*pl.Decode.SSDBytes || !has(&l, "kv-type") && !has(&l, "ctx") {
		t.Errorf("%+v, in place of %g bytes", l, pl.Decode.SSDBytes)
	}
	if l, ok := a.plan.Fewer("other.json", pl, 1024); ok {
		for _, f := range l.Flags {
			if f.Name == "ctx" && f.Value != "1024" {
				t.Errorf("%s for texts of 1024 tokens", f.Value)
			}
		}
	}
	types := a.plan.ReadAs("other.json", pl)
	if q8, q4 := types["q8_0"], types["q4_k_m"]; len(types) == 0 || q4 > q8 || float64(q8) >= pl.Decode.SSDBytes {
		t.Errorf("%v, in place of %g bytes", types, pl.Decode.SSDBytes)
	}
	pinned, err := a.plan.again("other.json", func(c *Config) { c.Rules.Pins = []string{`blk\.0\.ffn_up=ssd`} })
	if err != nil {
		t.Fatal(err)
	}
	ram = 1 << 40
	c = pinned.placeConfig()
	c.Budget.RAM = ram
	if pl, _, err = pinned.fitWhole(pinned.footprint, c); err != nil || pl.Decode.SSDBytes == 0 {
		t.Fatalf("%v: %+v", err, pl)
	}
	if l, ok := pinned.Fewer("other.json", pl, 1); !ok || l.What != "no --pin" || l.Read != 0 || has(&l, "pin") || placed(a.plan) != 0 {
		t.Errorf("%+v", l)
	}
}
