package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"atenia/internal/machine/cpu"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/place"
	"atenia/internal/model/file"
	"atenia/internal/model/quant"
	"atenia/internal/spelling"

	"atenia/tensor"
)

// A Verdict says how a model runs in a memory.
type Verdict string

// The verdicts, best first.
const (
	verdictFits    Verdict = "fits"    // all weights stay in memory
	verdictStreams Verdict = "streams" // some are read from the disk for every token
	verdictMaps    Verdict = "maps"    // all are mapped: what does not stay in memory is read when it is used
	verdictCannot  Verdict = "cannot"  // there is less memory than it needs for that
)

// An Outcome is what becomes of a model in a memory.
type Outcome struct {
	Verdict         Verdict
	Seconds         float64     // a token takes, or a text of Text tokens; 0 if it cannot run
	After           int         // tokens of a sequence that a token takes Seconds after
	Start           float64     // seconds of a token at the beginning of a text
	Text            int         // tokens of a text that an encoder computes in one pass; 0 = it generates
	Range           place.Range // of Seconds
	Limit           string      // the resource that limits Seconds
	Assumed         bool        // rates that set Seconds were neither measured nor given
	guessed, packed bool        // and no run like it corrected them
	Runs            int         // that the prediction was corrected by
	SSD             int64       // bytes that a token reads from the disk
	RAM             int64       // bytes that it needs; of what cannot run, at least; of what is mapped, to be streamed
	Why             string      // it cannot run, or not be streamed, or has room for fewer or shorter sequences
	Whole           int         // sequences with room for whole contexts, of several that were asked for; 0 = one was
	Context         int         // tokens up to which a sequence has room; 0 = all
}

// A Remedy is something that makes the verdict better, or a token faster than
// predictions are off.
type Remedy struct {
	What    string
	Command string // to run, as it is
	Then    Outcome
}

// An Advice is a verdict about a model, and what would help, cheapest first.
type Advice struct {
	Path string
	RAM  int64 // that was asked about
	Now  Outcome
	// Fit is the memory with which all weights stay there, with nothing else
	// changed.
	Fit      int64
	Remedies []Remedy
	Notes    []string // those of the plan
}

// mostRemedies is how many remedies an advice has.
const mostRemedies = 3

// An adviser tries other configurations of a model.
type adviser struct {
	ctx      context.Context
	plan     *Plan
	file     string // of the configuration, in a folder
	auto     bool   // the memory that is free now
	measured func(string, *place.Placement) (place.Measurement, error)
	disk     func() float64 // the rate that was measured or given; 0 = unknown
	advice   Advice
	machine  machine
}

// A machine is how much memory there is.
type machine struct {
	cpu.Memory
	alone, most int64 // of budgets without other programs, and beside them
}

// thisMachine reads it.
func thisMachine() machine {
	r := cpu.OpenMemory()
	defer r.Close()
	return machine{r.Read(), ledger.Process.Alone(), ledger.Process.Most()}
}

// Advise says how a model runs in the memory of its configuration, or else in
// what is free now. A file of the model is read for half a second to measure how
// fast, unless the rules say otherwise.
func Advise(ctx context.Context, path, configFile string, c Config, text func(*file.Description) any) (*Advice, error) {
	if c.Budget.VRAM > 0 {
		return nil, noDevice(c.Budget)
	}
	if path != "" {
		path = filepath.Clean(path)
	}
	a := &adviser{ctx: ctx, file: configFile, auto: c.Budget.RAM == 0 || c.Budget.Auto}
	if c.Budget.RAM == 0 {
		if err := SetBudget(&c.Budget, "ram", "auto"); err != nil {
			return nil, err
		}
	}
	var err error
	if a.plan, err = OpenPlan(path, configFile, c, text); err != nil {
		return nil, err
	}
	a.machine = thisMachine()
	if a.auto {
		c.Budget.RAM = a.plan.Config.Budget.RAM
	} else if most := a.machine.most; c.Budget.RAM > most {
		a.plan.note("%s can be allocated here: commands with a larger --budget are those of another machine", spelling.Size(most))
	}
	a.measure()
	a.advice.Path, a.advice.RAM, a.advice.Notes = a.plan.path, c.Budget.RAM, a.plan.Noted()
	if a.advice.Now, err = a.try(a.plan, a.plan.footprint, c.Budget.RAM, a.auto); err != nil {
		return nil, err
	}
	a.advice.Now.Assumed = a.advice.Now.guessed
	if a.advice.Fit, err = a.plan.fits(a.plan.footprint, a.plan.placeConfig()); err != nil {
		return nil, err
	}
	looks := []func() error{a.otherSteps, a.fewerSequences, a.otherCache, a.shorter, a.closing, a.smaller, a.altogether, a.more}
	if a.plan.inside() && a.advice.Now.Verdict == verdictMaps { // nothing is streamed, and what may be read again is little
		looks = []func() error{a.closing, a.more}
	}
	for _, look := range looks {
		if err := look(); err != nil {
			return nil, err
		}
	}
	a.advice.Remedies = few(a.advice.Remedies)
	if n, all := a.plan.Config.Threads, cpu.Threads(); n < all {
		a.advice.Notes = append(a.advice.Notes, fmt.Sprintf("%s of %d that could computes: more are faster, unless other programs compute", spelling.Count(n, "thread"), all))
	}
	a.cold()
	a.firstUse()
	return &a.advice, nil
}

// measure lets all outcomes have the same rates, which are measured once.
func (a *adviser) measure() {
	c := &a.plan.Config
	a.disk = func() float64 { return c.Rules.Rates.SSD }
	if c.Rules.NoProbe || c.Rules.Rates.SSD > 0 {
		return
	}
	var once bool
	var m place.Measurement
	var err error
	a.disk = func() float64 { return m.SSD }
	a.measured = func(path string, pl *place.Placement) (place.Measurement, error) {
		if !once {
			once = true
			m, err = place.MeasureRates(a.ctx, path, a.plan.effort(pl, toMeasure(), smallTypes...))
		}
		return m, err
	}
}

// perceptible is a wait that a user notices, in seconds, and what a slow disk reads meanwhile.
const (
	perceptible      = 0.1
	perceptibleBytes = 64 << 20
)

// cold notes that the first answer waits for the disk, where that is noticed and longer than
// a token takes: weights that are mapped are read when they are used, or packed.
func (a *adviser) cold() {
	now := &a.advice.Now
	if now.Verdict != verdictFits && now.Verdict != verdictMaps {
		return
	}
	n := int64(0)
	for _, path := range a.plan.footprint.paths {
		n += file.Uncached(path)
	}
	line := spelling.Size(n) + " of its files are not in memory yet: the first answer waits for the disk"
	switch rate := a.disk(); {
	case rate > 0 && float64(n)/rate > max(perceptible, now.Seconds):
		line += ", " + spelling.Seconds(float64(n)/rate) + " s at least"
	case rate > 0 || n < perceptibleBytes:
		return
	}
	a.advice.Notes = append(a.advice.Notes, line)
}

// firstUse notes that tokens take longer until most experts were packed.
func (a *adviser) firstUse() {
	if a.advice.Now.packed && a.plan.footprint.experts().Chosen > 0 {
		a.advice.Notes = append(a.advice.Notes, "experts are packed when tokens choose them first: until most of them were, a token takes longer")
	}
}

// try returns what becomes of a footprint in a memory; auto says that this is what
// there is, and not a budget.
func (a *adviser) try(p *Plan, f *footprint, ram int64, auto bool) (Outcome, error) {
	c := p.placeConfig()
	c.Budget.RAM, c.Budget.Auto, c.Measure, c.MeasureAlways = ram, auto, a.measured, true
	return a.outcome(p, f, c)
}

// outcome is try with a configuration.
func (a *adviser) outcome(p *Plan, f *footprint, c PlaceConfig) (Outcome, error) {
	pl, whole, err := p.fitWhole(f, c)
	if e, ok := errors.AsType[*place.FloorError](err); ok && e.Maps {
		return Outcome{Verdict: verdictMaps, RAM: e.Floor, Context: e.Context, Why: e.Paging() + upTo(e.Context, p.Context())}, nil
	} else if ok {
		return Outcome{Verdict: verdictCannot, RAM: e.Floor, Why: e.Error()}, nil
	}
	if err != nil {
		return Outcome{}, err
	}
	d, n, text := p.pass(pl)
	o := Outcome{
		Verdict: verdictFits, Seconds: d.Seconds / n, Text: text, Range: place.Range{Low: d.Range.Low / n, High: d.Range.High / n},
		After: d.Text, Start: d.Start / n, Limit: pl.Limits(d), Runs: d.Runs, SSD: int64(d.SSDBytes / n), RAM: pl.RAM(),
	}
	if pl.Spills() {
		o.Verdict = verdictStreams
	}
	o.Assumed, o.guessed, o.packed = pl.Supposed(), pl.Guessed(), pl.Input().Packed
	if text > 0 { // what small products, attention and norms of a text take beside is not measured
		o.Assumed, o.guessed, o.Limit = true, d.Runs == 0, ""
	}
	o.Whole, o.Why = whole, wholeOf(whole, c.sequences())
	if o.Context = f.inCache(c, f.CacheBytes(c)); o.Context > 0 && p.Model.Config.Encoder == nil {
		o.Why += strings.TrimPrefix(upTo(o.Context, p.Context()), "; ")
	}
	return o, nil
}

// placed reports whether there is room to hold the weights, or to read them ahead.
func (o *Outcome) placed() bool { return o.Verdict == verdictFits || o.Verdict == verdictStreams }

// helps reports whether an outcome is better than now by more than predictions are off.
// A model that processors' caches hold is no faster for what lets less be read of memory.
func (a *adviser) helps(o Outcome) bool {
	cached := o.Verdict == verdictFits && a.advice.Now.Verdict == verdictFits && a.plan.footprint.bytes() <= cachedBytes
	return o.better(a.advice.Now) && !cached
}

// cachedBytes are weights that the caches of most processors hold.
const cachedBytes = 8 << 20

// better compares an outcome with that of now.
func (o *Outcome) better(now Outcome) bool {
	rank := []Verdict{verdictFits, verdictStreams, verdictMaps, verdictCannot}
	switch was, is := slices.Index(rank, now.Verdict), slices.Index(rank, o.Verdict); {
	case is != was && o.placed() && now.placed() && place.Less(now.perToken(), o.perToken()):
		return false
	case is != was:
		return is < was
	case o.Verdict == verdictMaps:
		return now.Context > 0 && o.Context == 0
	case o.Verdict == verdictCannot:
		return false
	}
	if o.Text > 0 { // whose rates are assumed, and of which a shorter one takes less time because it is shorter
		return false
	}
	at := now.at(o.After)
	return place.Less(o.Seconds, now.Seconds*at)
}

// perToken is Seconds of one token, also of an encoder's text.
func (o *Outcome) perToken() float64 { return o.Seconds / float64(max(1, o.Text)) }

// at returns how much of Seconds a token takes after so many tokens: of texts of several
// lengths, tokens at the same place are compared.
func (o *Outcome) at(after int) float64 {
	if after == o.After || after == 0 {
		return 1
	}
	p := place.Prediction{Seconds: o.Seconds, Text: o.After, Start: o.Start}
	return p.At(float64(after)) / o.Seconds
}

// add adds a remedy, if it helps.
func (a *adviser) add(what, command string, o Outcome) bool {
	if !a.helps(o) {
		return false
	}
	a.advice.Remedies = append(a.advice.Remedies, Remedy{what, command, o})
	return true
}

// command returns the call that runs the model with a configuration in a memory.
func (a *adviser) command(c Config, ram int64) string {
	return a.commandOf(a.plan.path, a.file, c, ram)
}

// commandOf is command for a model that is made of this one.
func (a *adviser) commandOf(path, file string, c Config, ram int64) string {
	c.Budget.RAM = 0
	budget := "auto"
	if !a.auto || ram != a.advice.RAM {
		switch budget = fmt.Sprint(ram); {
		case ram%(1<<30) == 0:
			budget = fmt.Sprintf("%dGiB", ram>>30)
		case ram%(1<<20) == 0:
			budget = fmt.Sprintf("%dMiB", ram>>20)
		case ram%(1<<10) == 0:
			budget = fmt.Sprintf("%dKiB", ram>>10)
		}
	}
	s := "atenia run " + spelling.Shell(path)
	switch verb := a.plan.Verb(); {
	case verb == "embed":
		s = "atenia embed " + spelling.Shell(path) + " TEXT"
	case verb == "rerank":
		s = "atenia rerank " + spelling.Shell(path) + " QUERY DOCUMENT"
	case verb == "transcribe":
		s = "atenia transcribe " + spelling.Shell(path) + " FILE"
	case c.Rules.Batch > 1:
		s = fmt.Sprintf("atenia serve %s --slots %d", spelling.Shell(path), c.Rules.Batch)
	}
	s += " --budget ram=" + budget
	if rest := c.Budget.String(); rest != "" {
		s += "," + rest
	}
	return s + c.FileFlags(file) + c.Flags()
}

// with tries a changed configuration.
func (a *adviser) with(change func(c *Config), what string) (bool, error) {
	p, err := a.plan.again(a.file, change)
	if err != nil {
		return false, err
	}
	return a.offer(p, what)
}

// offer tries the configuration of a plan.
func (a *adviser) offer(p *Plan, what string) (bool, error) {
	o, err := a.try(p, p.footprint, a.advice.RAM, a.auto)
	if err != nil {
		return false, err
	}
	return a.add(what, a.command(p.Config, a.advice.RAM), o), nil
}

// fewSteps is the number of tokens of a step that needs little memory.
const fewSteps = 64

func (a *adviser) otherSteps() error {
	if a.plan.Config.BatchTokens <= fewSteps || a.plan.Model.Config.Encoder != nil { // which computes a text in one step
		return nil
	}
	_, err := a.with(func(c *Config) { c.BatchTokens = fewSteps },
		fmt.Sprintf("steps of %d tokens in place of %d, which take a smaller scratch", fewSteps, a.plan.Config.BatchTokens))
	return err
}

func (a *adviser) fewerSequences() error {
	n := a.plan.Config.Rules.Batch
	if n < 2 {
		return nil
	}
	_, err := a.with(func(c *Config) { c.Rules.Batch = 1 }, fmt.Sprintf("room for 1 sequence in place of %d", n))
	return err
}

// cacheTypes are the types of keys and values that are tried, what loses least first.
var cacheTypes = []tensor.DType{tensor.F16, tensor.Q8_0}

// otherCache tries smaller keys and values.
func (a *adviser) otherCache() error {
	_, now := a.plan.footprint.stateBytes(new(a.plan.placeConfig()))
	for _, to := range cacheTypes {
		p, err := a.plan.again(a.file, func(c *Config) { c.Compile.KVType = to })
		if err != nil {
			continue // the model's heads are no whole blocks
		}
		_, then := p.footprint.stateBytes(new(p.placeConfig()))
		if then >= now {
			continue
		}
		name := strings.ToLower(to.String())
		what := fmt.Sprintf("keys and values in %s: %s for a sequence in place of %s", name, spelling.Size(then), spelling.Size(now))
		if ok, err := a.offer(p, what); ok || err != nil {
			return err
		}
	}
	return nil
}

// leastContext returns the shortest context that is worth advising.
func (p *Plan) leastContext() int {
	if n := p.Context(); n <= 512 {
		return max(64, n/4)
	}
	return 512
}

// shorterContexts returns those that are tried, longest first.
func (p *Plan) shorterContexts() (all []int) {
	for n := p.Context() / 2; n >= p.leastContext(); n /= 2 {
		all = append(all, n)
	}
	return all
}

// inContext names a shorter context.
func (p *Plan) inContext(n int) string {
	return fmt.Sprintf("a context of %d tokens in place of %d", n, p.Context())
}

// shorter tries contexts that take less memory. Of a model that fits, a token at the same
// place takes as long as before.
func (a *adviser) shorter() error {
	if a.advice.Now.Verdict == verdictFits {
		return nil
	}
	lengths := a.plan.shorterContexts()
	if n := a.advice.Now.Context; n > 0 { // the one that it is mapped with, which a run refuses to exceed
		lengths = append(lengths, n)
		slices.SortFunc(lengths, func(a, b int) int { return b - a }) // a shorter one is worth no more
	}
	for _, n := range lengths {
		if ok, err := a.with(func(c *Config) { c.Context = n }, a.plan.inContext(n)); ok || err != nil {
			return err
		}
	}
	return nil
}

// smallerTypes are tried in this order: what loses least comes first.
var smallerTypes = []quant.Mix{quant.MixQ8_0, quant.MixQ6_K, quant.MixQ5_K_M, quant.MixQ4_K_M, quant.MixQ3_K_M, quant.MixQ2_K}

// smallTypes are the types of their weights.
var smallTypes = []tensor.DType{tensor.Q8_0, tensor.Q6_K, tensor.Q5_K, tensor.Q4_K, tensor.Q3_K, tensor.Q2_K}

// smaller tries types of weights: the best that changes the verdict, or else one
// that loses little and makes a token faster.
func (a *adviser) smaller() error {
	p := a.plan.halfCache(a.file)
	var best *Remedy
	for _, mix := range smallerTypes {
		f, bytes := p.footprint.quantized(mix)
		if bytes == 0 {
			continue
		}
		o, err := a.try(p, f, a.advice.RAM, a.auto)
		if err != nil {
			return err
		}
		if !a.helps(o) || best != nil && o.Verdict == best.Then.Verdict {
			continue
		}
		what, command, _ := a.quantize(mix, bytes)
		best = &Remedy{what, command, o}
		if o.Verdict == verdictFits {
			break
		}
	}
	if best != nil {
		a.advice.Remedies = append(a.advice.Remedies, *best)
	}
	return nil
}

// quantize says what weights of another type are, and returns the command that makes them
// and the path that they have then.
func (a *adviser) quantize(mix quant.Mix, bytes int64) (what, command, out string) {
	name := mix.String()
	out = beside(a.plan.path, "-"+name+".gguf")
	return fmt.Sprintf("weights in %s: %s in place of %s", name, spelling.Size(bytes), spelling.Size(a.plan.footprint.bytes())),
		fmt.Sprintf("atenia quantize %s %s --type %s%s", spelling.Shell(a.plan.path), spelling.Shell(out), name, a.plan.Config.FileFlags(a.file)), out
}

// altogether tries all that costs nothing but length and speed, where no single one of it
// lets a model run otherwise than mapped; and if not all of it either, with weights of a
// smaller type. One that only lets it be mapped is advised if none does more.
func (a *adviser) altogether() error {
	if a.advice.Now.placed() || slices.ContainsFunc(a.advice.Remedies, func(r Remedy) bool { return r.Then.placed() }) {
		return nil
	}
	var least *Plan // which takes the least but for its weights
	var best *Remedy
	var all string
	better := func(what, command string, o Outcome) (placed bool) {
		if a.helps(o) && (best == nil || o.placed()) {
			best = &Remedy{what, command, o}
		}
		return o.placed()
	}
	types := cacheTypes
	if a.plan.Model.Config.Encoder != nil { // keeps none
		types = []tensor.DType{a.plan.Config.Compile.KVType}
	}
	for _, to := range types {
		p, what, err := a.sparing(to)
		if err != nil || what == "" {
			continue // the model's heads are no whole blocks
		}
		least, all = p, what
		o, err := a.try(p, p.footprint, a.advice.RAM, a.auto)
		if err != nil {
			return err
		}
		if better(all, a.command(p.Config, a.advice.RAM), o) {
			break
		}
	}
	if least != nil && (best == nil || !best.Then.placed()) {
		for _, mix := range smallerTypes {
			f, bytes := least.footprint.quantized(mix)
			if bytes == 0 {
				continue
			}
			o, err := a.try(least, f, a.advice.RAM, a.auto)
			if err != nil {
				return err
			}
			what, command, out := a.quantize(mix, bytes)
			c := least.Config
			c.GPTQZeros = "" // the new file has none
			if better(what+"; "+all, command+" && "+a.commandOf(out, "", c, a.advice.RAM), o) {
				break
			}
		}
	}
	if best != nil {
		a.advice.Remedies = append(a.advice.Remedies, *best)
	}
	return nil
}

// sparing returns the plan with all that costs nothing but length and speed, keys and values
// of a type among it, and what that is; "" = nothing.
func (a *adviser) sparing(to tensor.DType) (*Plan, string, error) {
	var changes []string
	changed := func(format string, args ...any) { changes = append(changes, fmt.Sprintf(format, args...)) }
	n := min(a.plan.Context(), a.plan.leastContext())
	p, err := a.plan.again(a.file, func(c *Config) {
		if to != c.Compile.KVType {
			c.Compile.KVType = to
			changed("keys and values in %s", strings.ToLower(to.String()))
		}
		if n < a.plan.Context() {
			c.Context = n
			changed("a context of %d tokens", n)
		}
		if c.BatchTokens > fewSteps {
			c.BatchTokens = fewSteps
			changed("steps of %d", fewSteps)
		}
		if c.Rules.Batch > 1 {
			c.Rules.Batch = 1
			changed("one sequence")
		}
	})
	return p, strings.Join(changes, ", "), err
}

// few cuts remedies to the first of them, of which one lets the model run otherwise than
// mapped if any does.
func few(all []Remedy) []Remedy {
	if len(all) <= mostRemedies {
		return all
	}
	placed := func(r Remedy) bool { return r.Then.placed() }
	if k := slices.IndexFunc(all, placed); k >= mostRemedies {
		all[mostRemedies-1] = all[k]
	}
	return all[:mostRemedies]
}
