package engine

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/machine/cpu"
	"atenia/internal/memory/place"
	"atenia/internal/model/quant"
	"atenia/internal/spelling"
	pub "atenia/place"

	"atenia/tensor"
)

// asked is an adviser about a small model whose configuration has an unusual name, in a
// memory of which it has a part.
func asked(t *testing.T, tokens int) *adviser {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "m")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(golden.Family(t, "parity"), "llama3"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "config.json"), filepath.Join(dir, "other.json")); err != nil {
		t.Fatal(err)
	}
	c := Config{
		Slots: 1, BatchTokens: 4, Context: tokens, Budget: place.Budget{RAM: 1 << 40, Reserve: pub.Reserve{Runtime: 1000}},
		Rules: place.Rules{Rates: place.KeptRates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}}, Logger: slog.New(slog.DiscardHandler),
	}
	p, err := OpenPlan(dir, "other.json", c, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &adviser{ctx: t.Context(), file: "other.json", plan: p}
	a.advice.Path = p.path
	if a.advice.Fit, err = p.fits(p.footprint, p.placeConfig()); err != nil {
		t.Fatal(err)
	}
	a.in(t, a.advice.Fit*3/4)
	return a
}

// in asks about another memory.
func (a *adviser) in(t *testing.T, ram int64) {
	t.Helper()
	var err error
	a.advice.RAM, a.advice.Remedies = ram, nil
	if a.advice.Now, err = a.try(a.plan, a.plan.footprint, ram, a.auto); err != nil {
		t.Fatal(err)
	}
}

// TestAdviseClosing: other programs have what is taken of all memory beside this one's, and
// closing them is a remedy where that much more makes a model fit.
func TestAdviseClosing(t *testing.T) {
	a := asked(t, 512)
	a.auto = true
	a.machine = machine{cpu.Memory{Limit: 100 << 20, Available: 30 << 20, Own: 7 << 20}, 2 * a.advice.Fit, 1}
	if err := a.closing(); err != nil {
		t.Fatal(err)
	}
	if r := a.advice.Remedies; len(r) != 1 || r[0].What != "other programs closed, which have 63 MiB of 100 MiB" || r[0].Then.Verdict != verdictFits || !strings.Contains(r[0].Command, " --budget ram=auto,runtime=1000 --config-file other.json ") {
		t.Errorf("%+v", r)
	}
	a.in(t, a.advice.RAM)
	if a.machine.alone = a.advice.RAM; a.closing() != nil || len(a.advice.Remedies) > 0 {
		t.Errorf("without them there is no more: %+v", a.advice.Remedies)
	}
}

// TestAdviseMore: no more memory is advised than this machine has, and any of another one,
// which has more than this.
func TestAdviseMore(t *testing.T) {
	a := asked(t, 512)
	for _, c := range []struct {
		limit, most int64 // of this machine
		want        bool
	}{
		{a.advice.RAM * 2, a.advice.Fit * 2, true}, {a.advice.RAM * 2, a.advice.RAM + 1, false}, {a.advice.RAM / 2, a.advice.RAM / 2, true},
	} {
		a.in(t, a.advice.RAM)
		a.machine = machine{cpu.Memory{Limit: c.limit}, 0, c.most}
		if err := a.more(); err != nil || (len(a.advice.Remedies) > 0) != c.want {
			t.Errorf("%d bytes, and %d may be had of %d: %v, %+v", a.advice.RAM, c.most, c.limit, err, a.advice.Remedies)
		}
	}
}

// TestAdviseTogether: a model that streams with nothing but smaller weights, a shorter
// context and smaller keys and values together is advised so, in two commands that read the
// files as this one was told to.
func TestAdviseTogether(t *testing.T) {
	a := asked(t, 4096)
	low := func(c PlaceConfig, f *footprint, p *Plan) int64 {
		c.Budget.RAM = 1
		o, err := a.outcome(p, f, c)
		if err != nil || o.Verdict != verdictCannot {
			t.Fatalf("%+v, %v", o, err)
		}
		return o.RAM
	}
	least, err := a.plan.again(a.file, func(c *Config) { c.Compile.KVType, c.Context = tensor.F16, a.plan.leastContext() })
	if err != nil {
		t.Fatal(err)
	}
	f, bytes := least.footprint.quantized(smallerTypes[len(smallerTypes)-1])
	with, without := low(least.placeConfig(), f, least), low(least.placeConfig(), least.footprint, least)
	if bytes == 0 || with >= without {
		t.Fatalf("%d bytes, %d with smaller weights of %d", without, with, bytes)
	}
	a.in(t, (with+without)/2)
	if err := a.altogether(); err != nil {
		t.Fatal(err)
	}
	if r := a.advice.Remedies; len(r) != 1 || r[0].Then.Verdict == verdictCannot || !strings.Contains(r[0].Command, " --config-file other.json && atenia run ") || strings.Count(r[0].Command, "--config-file") != 1 ||
		!strings.Contains(r[0].Command, ".gguf --budget ram=") || !strings.HasSuffix(r[0].Command, " --kv-type f16 --ctx 512 --batch-tokens 4") {
		t.Errorf("in %d bytes: %+v, %+v", a.advice.RAM, a.advice.Now, r)
	}
}

// TestAdviseTogetherMapped: in memory where all that costs only length and speed leaves a
// model mapped, smaller weights beside it are advised if they let it be streamed.
func TestAdviseTogetherMapped(t *testing.T) {
	a := asked(t, 4096)
	a.auto, a.plan.Config.Budget = true, place.Budget{RAM: 1 << 40, Auto: true}
	floor := func(p *Plan, f *footprint) int64 {
		c := p.placeConfig()
		c.Budget.RAM, c.Budget.Auto = 1, false
		o, err := a.outcome(p, f, c)
		if err != nil || o.Verdict != verdictCannot {
			t.Fatalf("%+v, %v", o, err)
		}
		return o.RAM
	}
	least, err := a.plan.again(a.file, func(c *Config) { c.Compile.KVType, c.Context, c.BatchTokens = tensor.F16, a.plan.leastContext(), 4 })
	if err != nil {
		t.Fatal(err)
	}
	f, _ := least.footprint.quantized(quant.MixQ8_0)
	a.in(t, (floor(least, f)+floor(least, least.footprint))/2)
	if err := errors.Join(a.shorter(), a.altogether()); err != nil {
		t.Fatal(err)
	}
	r := a.advice.Remedies
	if a.advice.Now.Verdict != verdictMaps || len(r) == 0 || r[len(r)-1].Then.Verdict != verdictStreams || !strings.Contains(r[len(r)-1].Command, " --type q8_0 --config-file other.json && atenia run ") {
		t.Errorf("in %d bytes: %+v, %+v", a.advice.RAM, a.advice.Now, r)
	}
}

// TestFewRemedies: of many remedies the first are told, and one that does more than map if
// there is any.
func TestFewRemedies(t *testing.T) {
	names := func(verdicts ...Verdict) (s string) {
		var all []Remedy
		for i, v := range verdicts {
			all = append(all, Remedy{What: strconv.Itoa(i), Then: Outcome{Verdict: v}})
		}
		for _, r := range few(all) {
			s += r.What
		}
		return s
	}
	for want, got := range map[string]string{
		"01": names(verdictMaps, verdictMaps), "012": names(verdictMaps, verdictStreams, verdictMaps, verdictFits), "014": names(verdictMaps, verdictMaps, verdictMaps, verdictMaps, verdictStreams, verdictFits),
	} {
		if got != want {
			t.Errorf("%s are told, want %s", got, want)
		}
	}
	if got := names(verdictMaps, verdictMaps, verdictMaps, verdictMaps); got != "012" {
		t.Errorf("%s of four are told", got)
	}
}

// TestAdviseQuantize: the command that makes smaller weights reads the files as this one was
// told to.
func TestAdviseQuantize(t *testing.T) {
	a := asked(t, 512)
	if err := a.smaller(); err != nil {
		t.Fatal(err)
	}
	if r := a.advice.Remedies; len(r) != 1 || !strings.HasPrefix(r[0].Command, "atenia quantize "+spelling.Shell(a.plan.path)+" ") || !strings.HasSuffix(r[0].Command, " --config-file other.json") {
		t.Errorf("%+v", r)
	}
}

// TestSlotsOfBudget: sequences have room in all that a budget leaves.
func TestSlotsOfBudget(t *testing.T) {
	a := asked(t, 512)
	c := a.plan.placeConfig()
	_, one := a.plan.footprint.stateBytes(&c)
	c.Budget.RAM = a.advice.Fit + 4*one + one/2
	pl, err := a.plan.fit(a.plan.footprint, c)
	if err != nil {
		t.Fatal(err)
	}
	notes, err := a.plan.footprint.Notes(c, pl)
	if want := "the budget has room for 5, with --batch"; err != nil || !strings.Contains(strings.Join(notes, "\n"), want) {
		t.Errorf("%v: no %q in %q", err, want, notes)
	}
}

// TestAfter: a token is predicted after half of a context, and at the beginning without keys
// and values; remedies are compared at the same place.
func TestAfter(t *testing.T) {
	a := asked(t, 4096)
	a.in(t, a.advice.Fit)
	now := a.advice.Now
	if now.After != 2048 || now.Start <= 0 || now.Start >= now.Seconds {
		t.Fatalf("%+v", now)
	}
	p, err := a.plan.again(a.file, func(c *Config) { c.Context = 512 })
	if err != nil {
		t.Fatal(err)
	}
	o, err := a.try(p, p.footprint, a.advice.RAM, false)
	if at := now.at(256) * now.Seconds; err != nil || o.After != 256 || o.Start != now.Start || o.Seconds < 0.999*at || o.Seconds > 1.001*at {
		t.Errorf("%v: %+v, and after 256 tokens of %+v", err, o, now)
	}
	if o.better(now) {
		t.Errorf("a shorter text makes no token faster: %+v, %+v", now, o)
	}
	_, perToken := a.plan.StateBytes()
	want := now.Start + 2048*float64(perToken)/0.8/10e9 // float32
	if now.Seconds < 0.999*want || now.Seconds > 1.001*want {
		t.Errorf("%g s after 2048 tokens, want %g", now.Seconds, want)
	}
}

// TestWritten: a size that is advised is one that people write, and less than a hundredth more
// than what is needed.
func TestWritten(t *testing.T) {
	for n, want := range map[int64]int64{1: 1, 100: 100, 1 << 20: 1 << 20, 1<<20 + 1: 1<<20 + 1<<10, 326<<20 + 1: 327 << 20, 99<<20 + 1: 99<<20 + 1<<10} {
		if got := written(n); got != want {
			t.Errorf("%d bytes are written as %d, want %d", n, got, want)
		}
	}
}

// TestBetterAtTheSamePlace: an outcome that holds near the beginning of a text is better than
// one of half a context only if its token is faster than one at that beginning is.
func TestBetterAtTheSamePlace(t *testing.T) {
	now := Outcome{Verdict: verdictFits, Seconds: 1, After: 1000, Start: 0.5, Range: place.Range{Low: 0.9, High: 1.1}}
	for s, want := range map[float64]bool{0.39: true, 0.41: false} { // 0.88 × 0.505 / 1.12
		o := Outcome{Verdict: verdictFits, Seconds: s, After: 10, Start: s, Range: place.Range{High: 0.6}}
		if o.better(now) != want {
			t.Errorf("%g s after 10 tokens, in place of 0.505: better is %v", s, !want)
		}
	}
}

// TestMeasuredUntilCorrected: rates of a model that fits are measured as long as no run has
// told how long its tokens take.
func TestMeasuredUntilCorrected(t *testing.T) {
	a := asked(t, 64)
	c := a.plan.placeConfig()
	c.Rules = place.Rules{ProfileDir: t.TempDir()}
	c.Budget.RAM, c.MeasureAlways = 1<<40, true
	measured := 0
	c.Measure = func(string, *place.Placement) (m place.Measurement, err error) {
		measured++
		m.KeptRates = place.KeptRates{SSD: 1e9, RAM: 10e9}
		return m, nil
	}
	if _, err := a.plan.footprint.Place(c); err != nil || measured != 1 {
		t.Fatalf("measured %d times, %v", measured, err)
	}
	c.Measure = nil // what runs are corrected by are the classes without a measurement
	pl, err := a.plan.footprint.Place(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := place.RememberRatio(c.Rules.ProfileDir, place.RunKind{Model: pl.Model(), Machine: machineOf(c.Exec.Threads), Class: pl.Class()}, 2); err != nil {
		t.Fatal(err)
	}
	c.Measure = func(string, *place.Placement) (m place.Measurement, err error) {
		t.Error("measured again")
		return m, nil
	}
	if pl, err = a.plan.footprint.Place(c); err != nil || pl.Decode.Runs != 1 {
		t.Errorf("%+v, %v", pl.Decode, err)
	}
}

// TestCorrectionsOfOtherTypes: runs of a model do not correct what is measured of products of
// other types.
func TestCorrectionsOfOtherTypes(t *testing.T) {
	a := asked(t, 64)
	var q *footprint
	for _, mix := range smallerTypes {
		if f, n := a.plan.footprint.quantized(mix); n > 0 {
			q = f
		}
	}
	if q == nil {
		t.Fatal("no smaller type")
	}
	c := a.plan.placeConfig()
	c.Rules = place.Rules{ProfileDir: t.TempDir()}
	c.Budget.RAM, c.MeasureAlways = 1<<40, true
	now := place.Measurement{KeptRates: place.KeptRates{SSD: 1e9, RAM: 10e9, SSDBusy: 1e9, RAMBusy: 1e10}, Products: map[string]place.ProductRate{}}
	for _, p := range q.typesOf(false) {
		now.Products[p.String()] = place.ProductRate{Effort: 2, Few: 1e9, Many: 1e10}
	}
	c.Measure = func(string, *place.Placement) (place.Measurement, error) { return now, nil }
	placed := func() *place.Placement {
		t.Helper()
		pl, err := q.Place(c)
		if err != nil {
			t.Fatal(err)
		}
		return pl
	}
	k := place.RunKind{Model: q.like, Machine: machineOf(c.Exec.Threads), Class: placed().Class()}
	if err := place.RememberRatio(c.Rules.ProfileDir, k, 2); err != nil {
		t.Fatal(err)
	}
	if d := placed().Decode; d.Runs != 0 {
		t.Errorf("corrected by %d runs of another type", d.Runs)
	}
	now.Products = nil // then they are all that is known
	k.Class = placed().Class()
	if err := place.RememberRatio(c.Rules.ProfileDir, k, 2); err != nil {
		t.Fatal(err)
	}
	if d := placed().Decode; d.Runs == 0 {
		t.Error("not corrected")
	}
}

// TestBetterTexts: of encoders, whose rates are assumed, a remedy changes the verdict, and what has
// room and takes longer for each token is none.
func TestBetterTexts(t *testing.T) {
	now := Outcome{Verdict: verdictStreams, Seconds: 1.7, Text: 512}
	for _, c := range []struct {
		then Outcome
		want bool
	}{
		{Outcome{Verdict: verdictStreams, Seconds: 0.852, Text: 256}, false},
		{Outcome{Verdict: verdictStreams, Seconds: 0.4, Text: 256}, false},
		{Outcome{Verdict: verdictStreams, Seconds: 0.9, Text: 512}, false},
		{Outcome{Verdict: verdictFits, Seconds: 0.852, Text: 256}, true},
		{Outcome{Verdict: verdictFits, Seconds: 4, Text: 512}, false},
	} {
		if got := c.then.better(now); got != c.want {
			t.Errorf("%+v better than %+v: %v", c.then, now, got)
		}
	}
}
