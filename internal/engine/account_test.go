package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/memory/place"
)

// TestFewer: what is advised to read less reads so much less where it is done, has room for
// the texts of the run, and flags that let more be read are the first that go.
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
	all := a.plan.Fewer("other.json", pl, 100, true)
	var kinds [4]int // keys and values, contexts, budgets, types of weights
	for _, l := range all {
		if float64(l.Read) > 0.9*pl.Decode.SSDBytes {
			t.Errorf("%+v, in place of %g bytes", l, pl.Decode.SSDBytes)
		}
		for k, is := range []bool{has(&l, "kv-type"), has(&l, "ctx"), l.RAM > ram, l.Type != ""} {
			if is {
				kinds[k]++
			}
		}
		if q8 := all[len(all)-1]; l.Type == "q8_0" && (q8.Type == "q8_0" || q8.Read > l.Read) {
			t.Errorf("%+v reads less than %+v", l, q8)
		}
	}
	if slices.Contains(kinds[:], 0) {
		t.Errorf("%v of %+v", kinds, all)
	}
	for _, l := range a.plan.Fewer("other.json", pl, 1024, true) {
		for _, f := range l.Flags {
			if f.Name == "ctx" && f.Value != "1024" {
				t.Errorf("%s for texts of 1024 tokens", f.Value)
			}
		}
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
	if l := pinned.Fewer("other.json", pl, 1, false); len(l) != 1 || l[0].What != "no --pin" || l[0].Read != 0 || has(&l[0], "pin") || placed(a.plan) != 0 {
		t.Errorf("%+v", l)
	}
	pinned.Config.NoStream, pinned.Config.Rules.Pins = true, nil
	if l := pinned.Fewer("other.json", pl, 1, false); len(l) != 1 || l[0].What != "no --no-stream" || has(&l[0], "no-stream") {
		t.Errorf("%+v", l)
	}
}

// TestFewerWithoutThePlanFile: where a plan file leaves weights on the disk that have room,
// the same memory without it is told first, and that more memory helps is said without it.
func TestFewerWithoutThePlanFile(t *testing.T) {
	a := asked(t, 64)
	c := a.plan.placeConfig()
	c.Budget.RAM, c.Rules.Pins = a.advice.Fit+64<<20, []string{`blk\.0\.ffn_(up|down)=ssd`}
	pinned, err := a.plan.footprint.Place(c)
	if err != nil {
		t.Fatal(err)
	}
	b, err := pinned.File().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := a.plan.again(a.file, func(x *Config) { x.PlacementFile, x.Budget.RAM = file, c.Budget.RAM })
	if err != nil {
		t.Fatal(err)
	}
	pl, err := p.Place(t.Context())
	if err != nil || !pl.Spills() {
		t.Fatal(err)
	}
	l := p.Fewer(a.file, pl, 1, false)
	if len(l) == 0 || l[len(l)-1].What != "the same RAM without the plan file" || l[len(l)-1].RAM != c.Budget.RAM || l[len(l)-1].Read != 0 {
		t.Errorf("%+v", l)
	}
	for _, x := range pl.Larger {
		if !strings.HasSuffix(x.What, "without the plan file") {
			t.Errorf("%+v", x)
		}
	}
}

// TestPlanFileSteps: a plan file of a budget that steps were made shorter for is followed in
// as short ones.
func TestPlanFileSteps(t *testing.T) {
	a := asked(t, 512)
	p, err := a.plan.again(a.file, func(c *Config) { c.BatchTokens = 512 })
	if err != nil {
		t.Fatal(err)
	}
	ram := p.StreamFloor()
	if p, err = p.again(a.file, func(c *Config) { c.Budget.RAM = ram }); err != nil {
		t.Fatal(err)
	}
	want, err := p.Place(t.Context())
	if err != nil || want.Input().Chunk >= 512 {
		t.Fatalf("%v: %+v", err, want)
	}
	b, err := want.File().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err = p.again(a.file, func(c *Config) { c.PlacementFile, c.Budget = file, place.Budget{Reserve: c.Budget.Reserve} }); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Place(t.Context()); err != nil || got.Input().Chunk != want.Input().Chunk || got.Decode.SSDBytes != want.Decode.SSDBytes {
		t.Errorf("%v: %+v", err, got)
	}
}
