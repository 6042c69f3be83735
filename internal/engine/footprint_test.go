package engine_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"atenia/internal/engine"
	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/machine/hw"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	pub "atenia/place"
)

// cases are models of both kinds of files, with tied heads and without.
var cases = []string{"parity/llama3", "parity/gemma3", "parity/llama_bf16_sharded", "gguf/models/llama-q4_k_m.gguf", "gguf/models/qwen3moe-q4_k_m.gguf"}

// describe opens a model and returns what placing needs of it.
func describe(t *testing.T, name string) *engine.Footprint {
	t.Helper()
	path := filepath.Join(golden.Root(t), "testdata", "golden", filepath.FromSlash(name))
	d, err := file.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m, err := compile.Compile(d, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return engine.NewFootprint(path, m, d)
}

// placeConfig is of a small executor on a machine whose rates are known.
func placeConfig(ram int64) engine.PlaceConfig {
	return engine.PlaceConfig{
		Exec:   exec.Config{Threads: 1, MaxTokens: 4, MaxLogits: 1, Context: 32},
		Budget: place.Budget{RAM: ram, Reserve: pub.Reserve{Runtime: 1 << 16}},
		Rules:  place.Rules{NoProbe: true, Rates: place.KeptRates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}},
	}
}

// floorOf returns the least memory that a model can be placed in.
func floorOf(t *testing.T, m *engine.Footprint) int64 {
	t.Helper()
	_, err := m.Place(placeConfig(1))
	e, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		t.Fatalf("one byte of memory: %v", err)
	}
	return e.Floor
}

func isWeight(t *place.Placed) bool { return t.Class != place.KV && t.Class != place.Buffer }

// For every budget, every weight is in memory or on the SSD, the placement
// fits, and buffers that steps write to are in memory.
func TestRandomBudgets(t *testing.T) {
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			m := describe(t, name)
			all, err := m.Place(placeConfig(0))
			if err != nil {
				t.Fatal(err)
			}
			total := int64(0)
			for i := range all.Tensors {
				if x := &all.Tensors[i]; isWeight(x) {
					total += x.Bytes
					if x.Tier != memory.RAM {
						t.Errorf("without a bound %s is in %s", x.Name, x.Tier)
					}
				}
			}
			rng := rand.New(rand.NewPCG(1, 2))
			floor, spilled := floorOf(t, m), 0
			for range 40 {
				ram := floor + rng.Int64N(all.RAM()+all.RAM()/8-floor)
				pl, err := m.Place(placeConfig(ram))
				if err != nil {
					t.Fatalf("%d bytes: %v", ram, err)
				}
				if pl.RAM() > ram {
					t.Errorf("%d bytes of %d are planned", pl.RAM(), ram)
				}
				if pl.Spills() {
					spilled++
				} else if ram < all.RAM() {
					t.Errorf("nothing spills from %d bytes, %d are needed", ram, all.RAM())
				}
				checkSum(t, pl, total)
			}
			if spilled == 0 {
				t.Error("no budget made a weight spill")
			}
		})
	}
}

// checkSum: pinned and spilled weights are all weights, once.
func checkSum(t *testing.T, pl *place.Placement, total int64) {
	t.Helper()
	stays, left, seen := int64(0), int64(0), map[string]bool{}
	for i := range pl.Tensors {
		x := &pl.Tensors[i]
		if seen[x.Name] {
			t.Errorf("%s is placed twice", x.Name)
		}
		seen[x.Name] = true
		switch {
		case !isWeight(x) && x.Tier != memory.RAM, x.Class == place.Vector && x.Tier != memory.RAM, x.Held != "" && x.Tier != memory.RAM:
			t.Errorf("%s, a %s, is in %s", x.Name, x.Class, x.Tier)
		case !isWeight(x):
		case x.Tier == memory.RAM:
			stays += x.Bytes
		case x.Tier == memory.SSD:
			left += x.Bytes
		}
	}
	if stays+left != total || left != pl.Bytes(memory.SSD) {
		t.Errorf("%d bytes stay, %d are left, %d in all; the plan says %d are left", stays, left, total, pl.Bytes(memory.SSD))
	}
}

// The floor that an error names is exact: it suffices, and a byte less does not.
func TestFloorIsExact(t *testing.T) {
	for _, name := range cases {
		m := describe(t, name)
		floor := floorOf(t, m)
		if pl, err := m.Place(placeConfig(floor)); err != nil || pl.RAM() > floor {
			t.Errorf("%s: the floor of %d bytes: %v", name, floor, err)
		}
		_, err := m.Place(placeConfig(floor - 1))
		e, ok := errors.AsType[*place.FloorError](err)
		if !ok || !errors.Is(err, place.ErrFloor) || e.Floor != floor || e.Budget != floor-1 || e.Tier != place.RAM {
			t.Errorf("%s: a byte less than %d: %v", name, floor, err)
			continue
		}
		sum := int64(0)
		for _, p := range e.Parts {
			sum += p.Bytes
		}
		if sum != floor {
			t.Errorf("%s: the parts of the floor are %d bytes, it is %d: %v", name, sum, floor, err)
		}
	}
}

// Pins hold under every budget that has room for them; a pin that matches
// nothing, or pins to the SSD what cannot be there, is rejected by name.
func TestPins(t *testing.T) {
	m := describe(t, "parity/llama3")
	all, err := m.Place(placeConfig(0))
	if err != nil {
		t.Fatal(err)
	}
	floor := floorOf(t, m)
	held := 0
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		c := placeConfig(floor + rng.Int64N(all.RAM()-floor))
		c.Rules.Pins = []string{"ffn_down=ssd", "attn_q=ram"}
		pl, err := m.Place(c)
		if errors.Is(err, place.ErrFloor) || errors.Is(err, place.ErrPin) {
			continue // pinned weights need more
		}
		if err != nil {
			t.Fatal(err)
		}
		held++
		for i := range pl.Tensors {
			x := &pl.Tensors[i]
			if strings.Contains(x.Name, "ffn_down") && x.Tier != memory.SSD || strings.Contains(x.Name, "attn_q") && !strings.Contains(x.Name, "norm") && x.Tier != memory.RAM {
				t.Errorf("%s is in %s in spite of its pin", x.Name, x.Tier)
			}
		}
	}
	if held == 0 {
		t.Error("no budget had room for the pins")
	}
	for pin, want := range map[string]error{"nosuch=ram": place.ErrPin, "output_norm=ssd": place.ErrPin} {
		c := placeConfig(0)
		c.Rules.Pins = []string{pin}
		if _, err := m.Place(c); !errors.Is(err, want) || !strings.Contains(err.Error(), strings.TrimSuffix(strings.TrimSuffix(pin, "=ram"), "=ssd")) {
			t.Errorf("%s: %v", pin, err)
		}
	}
}

// A saved placement places the same model in the same way, also with another
// budget; it is rejected for another model.
func TestPlanFile(t *testing.T) {
	m := describe(t, "gguf/models/llama-q4_k_m.gguf")
	all, err := m.Place(placeConfig(0))
	if err != nil {
		t.Fatal(err)
	}
	floor := floorOf(t, m)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		c := placeConfig(floor + rng.Int64N(all.RAM()-floor))
		pl, err := m.Place(c)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(pl)
		if err != nil {
			t.Fatal(err)
		}
		c.File = filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(c.File, text, 0o666); err != nil {
			t.Fatal(err)
		}
		again, err := m.Place(c)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again.Tensors, pl.Tensors) || again.Ring != pl.Ring || again.Decode != pl.Decode || again.RAM() != pl.RAM() {
			t.Errorf("%d bytes: the plan from its file is another", c.Budget.RAM)
		}
		if _, err := describe(t, "parity/llama3").Place(c); !errors.Is(err, place.ErrMismatch) || !strings.Contains(err.Error(), c.File) {
			t.Errorf("the plan of another model: %v", err)
		}
		if err := os.WriteFile(c.File, text[:len(text)/2], 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Place(c); !errors.Is(err, place.ErrFile) || !strings.Contains(err.Error(), c.File) {
			t.Errorf("half a plan: %v", err)
		}
	}
}

// Each rate is the configured, measured, cached or assumed one, in this order;
// a placement without spilled weights measures nothing.
func TestRates(t *testing.T) {
	m := describe(t, "parity/llama3")
	all, err := m.Place(placeConfig(0))
	if err != nil {
		t.Fatal(err)
	}
	spill := (floorOf(t, m) + all.RAM()) / 2
	measured := place.Measurement{KeptRates: place.KeptRates{SSD: 3e9, RAM: 20e9, SSDBusy: 2e9, RAMBusy: 15e9}}
	for _, c := range []struct {
		name       string
		ram        int64
		asked      place.KeptRates
		measure    bool
		calls      int
		ssd, mem   float64
		byMeasured []string
		byAssumed  []string
	}{
		{"nothing is known", spill, place.KeptRates{}, false, 0, 0, 0, nil, []string{"ssd", "ram", "flops"}},
		{"measured", spill, place.KeptRates{}, true, 1, 3e9, 20e9, []string{"ssd", "ram"}, []string{"flops"}},
		{"memory is asked for", spill, place.KeptRates{RAM: 7e9}, true, 1, 3e9, 7e9, []string{"ssd"}, []string{"flops"}},
		{"storage is asked for", spill, place.KeptRates{SSD: 5e9}, true, 0, 5e9, 0, nil, []string{"ram", "flops"}},
		{"all is asked for", spill, place.KeptRates{SSD: 5e9, RAM: 7e9, FLOPS: 1e12}, true, 0, 5e9, 7e9, nil, nil},
		{"nothing spills", 0, place.KeptRates{}, true, 0, 0, 0, nil, []string{"ssd", "ram", "flops"}},
	} {
		cfg := placeConfig(c.ram)
		cfg.Rules.Rates = c.asked
		calls := 0
		if c.measure {
			cfg.Measure = func(path string, _ *place.Placement) (place.Measurement, error) {
				calls++
				if fi, err := os.Stat(path); err != nil || fi.Size() == 0 {
					t.Errorf("%s: %q is measured: %v", c.name, path, err)
				}
				return measured, nil
			}
		}
		pl, err := m.Place(cfg)
		if err != nil {
			t.Fatal(err)
		}
		r := pl.Input().Rates
		if calls != c.calls || c.ssd != 0 && r.SSD != c.ssd || c.mem != 0 && r.RAM != c.mem || !(r.SSD > 0 && r.RAM > 0 && r.FLOPS > 0) {
			t.Errorf("%s: measured %d times, %+v", c.name, calls, r)
		}
		if !slices.Equal(r.Measured, c.byMeasured) || !slices.Equal(r.Assumed, c.byAssumed) || len(r.Kept) > 0 {
			t.Errorf("%s: %v measured, %v assumed, %v kept", c.name, r.Measured, r.Assumed, r.Kept)
		}
	}
	cfg := placeConfig(spill)
	cfg.Rules.Rates, cfg.Rules.ProfileDir = place.KeptRates{}, t.TempDir()
	for _, want := range []struct {
		now        place.Measurement
		measured   []string
		kept       []string
		ssd, at    float64 // the rate of the disk, alone and beside memory
		ram, ramAt float64
	}{
		{measured, []string{"ssd", "ram"}, nil, 3e9, 2e9, 20e9, 15e9},
		{place.Measurement{KeptRates: place.KeptRates{SSD: 6e9}}, []string{"ssd"}, []string{"ram"}, 6e9, 4e9, 20e9, 15e9}, // with too little memory for more
	} {
		cfg.Measure = func(string, *place.Placement) (place.Measurement, error) { return want.now, nil }
		pl, err := m.Place(cfg)
		if err != nil {
			t.Fatal(err)
		}
		r := pl.Input().Rates
		if !slices.Equal(r.Measured, want.measured) || !slices.Equal(r.Kept, want.kept) || r.SSD != want.ssd || math.Round(r.SSDBusy/1e6) != want.at/1e6 || r.RAM != want.ram || math.Round(r.RAMBusy/1e6) != want.ramAt/1e6 || pl.Guessed() {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	broken := errors.New("the disk is gone")
	cfg.Measure = func(string, *place.Placement) (place.Measurement, error) { return place.Measurement{}, broken }
	if _, err := m.Place(cfg); !errors.Is(err, broken) {
		t.Errorf("a measurement that fails: %v", err)
	}
}

// A reserve for buffers must hold them, and there must be weights to place.
func TestInputFaults(t *testing.T) {
	m := describe(t, "parity/llama3")
	c := placeConfig(0)
	c.Budget.Reserve.Activations = 1
	if _, err := m.Place(c); !errors.Is(err, place.ErrInput) || !strings.Contains(err.Error(), "activations") {
		t.Errorf("a byte for activations: %v", err)
	}
	for name, bad := range map[string]place.Rules{
		"pins":      {Pins: []string{"(=ram"}},
		"slowest":   {MaxTier: "tape"},
		"sequences": {Batch: -1},
	} {
		if errs := engine.Faults(&bad); len(errs) != 1 {
			t.Errorf("%s: %v", name, errs)
		}
	}
	if errs := engine.Faults(&place.Rules{MaxTier: "ram", Pins: []string{"a=ssd"}, Batch: 2}); len(errs) > 0 {
		t.Errorf("rules without faults: %v", errs)
	}
}

// A budget reads back from its text, and each fault names the size.
func TestParseBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		b := place.Budget{RAM: 1 + rng.Int64N(1<<40), VRAM: rng.Int64N(2) * rng.Int64N(1<<36), SSD: rng.Int64N(1 << 42)}
		b.Reserve = pub.Reserve{KV: rng.Int64N(1 << 30), Activations: rng.Int64N(1 << 30), Runtime: rng.Int64N(1 << 30)}
		if again, err := engine.ParseBudget(b.String()); err != nil || again != b {
			t.Errorf("%s reads back as %s, %v", b, again, err)
		}
	}
	for text, word := range map[string]string{
		"": "=", "ram": "=", "ram=0": "ram", "ram=1,ram=2": "twice", "tape=1": "tape", "vram=0": "nothing", "ram=x": "x", "kv=auto": "auto",
	} {
		if b, err := engine.ParseBudget(text); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%q: %+v, %v", text, b, err)
		}
	}
	bad := place.Budget{Reserve: pub.Reserve{KV: -1}}
	if f := bad.Faults(); !strings.HasPrefix(f, "kv ") {
		t.Errorf("a negative cache: %q", f)
	}
}

// Cached rates of the storage are used if none was measured or configured.
func TestKeptRates(t *testing.T) {
	if testing.Short() {
		t.Skip("measures the storage for some seconds")
	}
	t.Parallel()
	cache := t.TempDir()
	snapshot, _, err := hw.Probe(t.Context(), hw.Options{CacheDir: cache, Depth: hw.Quick})
	if err != nil {
		t.Skipf("storage cannot be measured here: %v", err)
	}
	path := filepath.Join(golden.Root(t), "testdata", "golden", "parity", "llama3")
	kept, err := hw.Kept(cache, path)
	if err != nil || kept == nil {
		t.Skipf("the model lies on other storage than %s: %v, %v", cache, snapshot, err)
	}
	m := describe(t, "parity/llama3")
	all, err := m.Place(placeConfig(0))
	if err != nil {
		t.Fatal(err)
	}
	c := placeConfig((floorOf(t, m) + all.RAM()) / 2)
	c.Rules.ProfileDir = cache
	for _, x := range []struct {
		name           string
		asked, measure float64
		want           float64
		kept           []string
	}{
		{"kept", 0, 0, kept.ReadBytes, []string{"ssd"}},
		{"measured", 0, 3e9, 3e9, nil},
		{"asked", 5e9, 3e9, 5e9, nil},
	} {
		c.Rules.Rates, c.Measure = place.KeptRates{SSD: x.asked, RAM: 10e9, FLOPS: 1e12}, nil
		if x.measure > 0 {
			c.Measure = func(string, *place.Placement) (place.Measurement, error) {
				return place.Measurement{KeptRates: place.KeptRates{SSD: x.measure}}, nil
			}
		}
		pl, err := m.Place(c)
		if err != nil {
			t.Fatal(err)
		}
		if r := pl.Input().Rates; r.SSD != x.want || !slices.Equal(r.Kept, x.kept) {
			t.Errorf("%s: %g from %v, want %g from %v", x.name, r.SSD, r.Kept, x.want, x.kept)
		}
	}
}
