package decide

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"atenia/internal/machine/hw"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/store/durable"
)

// A LearnerConfig says where what is learned is kept.
type LearnerConfig struct {
	// Path is the file of the seed's table. That of the refined one is beside it,
	// see [choicesPath].
	Path string
	FS   durable.FS // nil: the operating system's
}

const (
	// saveTicks and saveSeconds bound what a kill loses. A save waits for the disk,
	// some ten milliseconds, so it must be rare against steps of one.
	saveTicks   = 1 << 16
	saveSeconds = 30
	// sampleEvery is the least time between two looks at the pressure of memory,
	// which take some ten microseconds.
	sampleEvery = 250 * time.Millisecond
	// cooldown is the seed loop's.
	cooldown = 8
	// window is the least time of an episode of a knob: the system lets a thread
	// wait for some milliseconds for a processor, which a shorter step either meets
	// or not. Steps of small models are taken together.
	window = 20 * time.Millisecond
	// mostRows bounds the classes of steps that are told apart: a step of more
	// sequences is computed by all threads.
	mostRows = 8
	// mostChanges bounds [Learner.Changes].
	mostChanges = 64
)

// A Learner decides before each step and learns after it. A nil learner decides
// nothing. It is not safe for concurrent use.
type Learner struct {
	cfg     LearnerConfig
	loop    *Loop
	policy  *Policy
	picker  *picker
	sampler *hw.Sampler
	start   Start
	next    Backend // of the next step, as what was learned recommends it
	begun   bool    // an episode was counted, of which the start is a part
	rec     Recorder

	run     LearnerRun
	now     Context
	sampled time.Time
	places  map[placeKey]*turn
	current *turn // of the step that runs
	weights Handle
	asked   Pick // its inputs
	steps   int  // that decoded
	changes []LearnerChange
	saved   time.Duration
	ticks   int // since the last save
	regret  float64
	err     error
}

// A placeKey is what distinguishes steps of one run.
type placeKey struct {
	bucket Bucket
	rows   int
}

// A LearnerRun is what a model lets a learner set, as its weights lie now.
type LearnerRun struct {
	Model   string // identity, equal for equal models
	Form    string // how the weights lie: packed, mapped or streamed
	Threads int    // the most
	Pinned  bool   // their number was asked for, and is kept
	// Readers is the most reads of the ring in flight; 0 = nothing is streamed.
	Readers    int
	SetReaders func(int)
}

// A LearnerChange is a decision that changed how steps are computed.
type LearnerChange struct {
	Step int    `json:"step"` // that decoded, from 0
	What string `json:"what"` // the knob
	From string `json:"from"`
	To   string `json:"to"`
	Rule string `json:"rule"`
	Why  string `json:"why"`
}

// OpenLearner reads the tables. It fails if they cannot be used, so that nothing is
// overwritten that another version wrote.
func OpenLearner(ctx context.Context, c LearnerConfig) (*Learner, error) {
	if fi, err := os.Stat(filepath.Dir(c.Path)); err != nil {
		return nil, err
	} else if !fi.IsDir() {
		return nil, errors.New("its folder is a file")
	}
	every := uint64(saveSeconds)
	l := &Learner{cfg: c, places: map[placeKey]*turn{}}
	l.loop = NewLoop(LoopConfig{Cooldown: cooldown, Forget: forgetAt, Autosave: Autosave{
		Path: c.Path, EveryTicks: saveTicks, EverySeconds: &every, FS: c.FS,
	}})
	if r := l.loop.LoadLearning(c.Path); unusable(r) {
		return nil, r.Err
	}
	*l.loop.Trainer() = l.loop.Trainer().Sound()
	var r Report
	if l.picker, r = newPicker(PickConfig{}, choicesPath(c.Path), c.FS); unusable(r) {
		return nil, r.Err
	}
	// The policy starts from the same table, which the loop owns and saves.
	l.policy, _ = newPolicy(policyConfig{})
	*l.policy.Trainer() = *l.loop.Trainer()
	l.sampler = hw.NewSampler()
	l.sample(time.Now())
	return l, nil
}

func unusable(r Report) bool {
	return r.Status == StatusUnreadable || r.Status == StatusForeign
}

// sample measures pressures. Unknown ones count as none.
func (l *Learner) sample(now time.Time) {
	l.now, l.sampled = NewContext(l.start.On.GPU, l.start.VRAM, l.sampler.Sample().Pressure), now
}

// wholeRun is how knobs are tried that are set when a model is opened: rarely,
// and for a whole run, which is assumed to have some hundred tokens.
var wholeRun = PickConfig{Whole: true, First: 32, Burst: 128, Every: 2048, Cooldown: 1}

// Weights returns which of two ways to keep weights a model is opened with, and
// why: the usual one unless the other was measured to be faster. guess is how many
// times longer a token takes with the other one before that was measured. Both must
// give the same bits.
func (l *Learner) Weights(model, usual, other string, guess float64) (form, why string) {
	if l == nil {
		return usual, ""
	}
	l.weights = l.picker.At(Place{Bucket: l.now.Bucket(), Model: model, Class: "decode", Knob: weightsKnob}, wholeRun,
		[]Option{{Name: usual}, {Name: other, Guess: guess}})
	p := l.weights.Pick()
	l.asked = *p
	l.asked.Arms = slices.Clone(p.Arms)
	v := p.Decide()
	why = p.Reason(v)
	return l.weights.Follow(v), why
}

// Run returns what was described last.
func (l *Learner) Run() LearnerRun { return l.run }

// Describe says what runs: before [Learner.Begin], and whenever the weights have
// moved. Steps before are learned from as what they were; what was set for them is
// not kept, since the options and those who take them may be others now.
func (l *Learner) Describe(r LearnerRun) {
	l.end(l.current)
	l.current = nil
	clear(l.places)
	l.run = r
}

// A Start is what a run begins with.
type Start struct {
	On      Executors
	VRAM    float32               // pressure of the devices' memory
	Planned []checkpoint.Decision // of its warm start
	Drift   bool                  // something could not be restored as it was saved
}

// Begin is called before the first step. Decisions are recorded by rec, that of
// [Learner.Weights] now.
func (l *Learner) Begin(rec Recorder, s Start) {
	l.rec, l.start = rec, s
	l.sample(time.Now())
	if len(l.asked.Arms) > 0 {
		l.rec.Picked(&l.asked)
	}
	c := l.rec.Choose(l.policy, l.now, "decode")
	if l.next = l.rec.Recommend(l.loop.Trainer(), l.now.Bucket()); c.Trial { // else what earlier runs say
		l.next = c.Backend
	}
}

// Backend returns where the next step should be computed, as what was learned recommends
// it: on the processor where no device computes.
func (l *Learner) Backend() Backend {
	if l == nil {
		return GPU // nothing speaks against one
	}
	return l.next
}

// A turn is what is set for the steps of one bucket and number of rows.
type turn struct {
	class   string
	threads Handle
	counts  []int // threads of each option
	readers Handle
	depths  []int
	option  [2]string // in force for threads and readers
	trying  *Handle

	took   time.Duration // of the steps of this episode
	steps  int
	failed bool // one of them
	count  int  // threads in force
}

// turnOf returns the turn of a bucket; a new one starts from what is known.
func (l *Learner) turnOf(k placeKey) *turn {
	if t := l.places[k]; t != nil {
		return t
	}
	class := "decode " + l.run.Form
	if k.rows > 1 {
		class += " of " + strconv.Itoa(k.rows)
	}
	t := &turn{class: class}
	at := Place{Bucket: k.bucket, Model: l.run.Model, Class: class, Knob: threads}
	var options []Option
	options, t.counts = threadOptions(l.run.Threads)
	if l.run.Pinned {
		options, t.counts = options[:1], t.counts[:1]
	}
	t.threads = l.picker.At(at, PickConfig{}, options)
	if l.run.Readers > 0 {
		at.Knob = readers
		options, t.depths = readerOptions(l.run.Readers)
		t.readers = l.picker.At(at, PickConfig{}, options)
	}
	l.places[k] = t
	return t
}

// threadOptions are all threads, one and two less, and half of them: what
// neighbours take is a core or two, or most of the machine.
func threadOptions(most int) (options []Option, counts []int) {
	last := most + 1
	for _, n := range []int{most, most - 1, most - 2, most / 2} {
		if n < 1 || n >= last {
			continue
		}
		last = n
		options, counts = append(options, Option{Name: strconv.Itoa(n), Guess: float64(most) / float64(n)}), append(counts, n)
	}
	return options, counts
}

// readerOptions are depths of the ring: halves of the most.
func readerOptions(most int) (options []Option, depths []int) {
	for n, guess := most, 1.0; n >= 2; n, guess = n/2, guess*1.2 {
		options, depths = append(options, Option{Name: strconv.Itoa(n), Guess: guess}), append(depths, n)
	}
	return options, depths
}

// Before sets what the next step is computed with and returns its threads; 0 =
// all.
func (l *Learner) Before(rows int, decode bool) (threads int) {
	if l == nil {
		return 0
	}
	l.current = nil
	if !decode || rows > mostRows {
		return 0
	}
	t := l.turnOf(placeKey{l.now.Bucket(), rows})
	l.current = t
	if t.steps > 0 {
		return t.count
	}
	v := l.turn(t, &t.threads, 0)
	t.count = t.counts[v.Arm]
	if l.run.Readers > 0 {
		v := l.turn(t, &t.readers, 1)
		l.run.SetReaders(t.depths[v.Arm])
	}
	return t.count
}

// trialEnds is the rule of a change back to the option before a trial.
const trialEnds Rule = "TrialEnds"

// turn decides about one knob. While another one's trial goes on, it stays.
func (l *Learner) turn(t *turn, h *Handle, k int) Verdict {
	p := h.Pick()
	v := Verdict{Arm: p.Current, Rule: ruleKeep}
	if t.trying == nil || t.trying == h {
		v = p.Decide()
	}
	switch {
	case v.Notable(), p.Episode == 0:
		l.rec.Tick = uint64(l.steps)
		l.rec.Picked(p)
	}
	from := t.option[k]
	why := v.Rule
	if why == ruleKeep { // a change without a reason of its own
		why = trialEnds
	}
	if t.option[k] = h.Follow(v); from != "" && from != t.option[k] && len(l.changes) < mostChanges {
		l.changes = append(l.changes, LearnerChange{l.steps, p.Knob.String(), from, t.option[k], string(why), p.Reason(v)})
	}
	t.trying = nil
	if v.Trial {
		t.trying = h
	}
	return v
}

// A LearnerStep is one that was computed.
type LearnerStep struct {
	Start  time.Time
	Took   time.Duration
	Decode bool
	Err    error
	// Backend computed it.
	Backend Backend
}

// After learns from a step and returns the pressure of memory under which it
// ran.
func (l *Learner) After(s LearnerStep, at time.Duration) (pressure float32) {
	if !s.Decode {
		return l.now.RAM
	}
	if t := l.current; t != nil {
		t.took, t.steps = t.took+s.Took, t.steps+1
		t.failed = t.failed || s.Err != nil
		if t.took >= window || t.failed {
			l.end(t)
		}
	}
	l.tick(s, at)
	l.steps++
	if now := s.Start.Add(s.Took); now.Sub(l.sampled) >= sampleEvery {
		l.sample(now)
	}
	return l.now.RAM
}

// end learns from the steps since the last episode, if there are any.
func (l *Learner) end(t *turn) {
	if t == nil || t.steps == 0 {
		return
	}
	seconds, ok := t.took.Seconds()/float64(t.steps), !t.failed
	t.took, t.steps, t.failed = 0, 0, false
	if t.trying != &t.readers { // else the latency has another cause
		t.threads.Observe(t.option[0], seconds, ok)
		l.regret = t.threads.Pick().regret()
	}
	if t.trying != &t.threads && l.run.Readers > 0 {
		t.readers.Observe(t.option[1], seconds, ok)
	}
	if len(l.asked.Arms) > 0 {
		l.weights.Observe(l.run.Form, seconds, ok) // which may be none of the two
	}
}

// tick counts an episode in the seed's table, and saves both tables when that
// is due.
func (l *Learner) tick(s LearnerStep, at time.Duration) {
	score := l.policy.Judge(Episode{Context: l.now, Class: "decode", Backend: s.Backend, Latency: s.Took, Err: s.Err})
	l.rec.Tick = l.loop.Ticks()
	t := Tick{
		Context: l.now, Executed: &s.Backend, Result: Result{OK: s.Err == nil, Score: score}, Seconds: uint64(at / time.Second),
	}
	if !l.begun {
		l.begun, t.Planned, t.Drift = true, l.start.Planned, l.start.Drift
	}
	l.next = l.rec.Loop(l.loop, t)
	if l.ticks++; l.ticks >= saveTicks || at-l.saved >= saveSeconds*time.Second {
		l.ticks, l.saved = 0, at
		if err := l.picker.Save(); err != nil && l.err == nil {
			l.err = err
		}
	}
}

// A LearnerSummary is what a run learned and chose, for its account.
type LearnerSummary struct {
	Pressure    float32         `json:"ram_pressure"`
	Peak        float32         `json:"ram_pressure_peak"` // since the last summary
	Band        string          `json:"ram_band"`
	Ticks       uint64          `json:"ticks"`       // of the seed's loop
	Recommended string          `json:"recommended"` // backend of the next tick
	Because     string          `json:"because"`
	Table       string          `json:"table"` // what the loop last said: a choice, or a save
	Rows        int             `json:"rows"`
	Episodes    uint64          `json:"episodes"` // of all runs
	PreferGPU   float32         `json:"gpu_preference_ratio"`
	Knobs       []LearnerKnob   `json:"knobs"`
	Lost        float64         `json:"trial_seconds_lost"` // in all runs of this model
	Spent       float64         `json:"seconds_spent"`
	Weights     string          `json:"weights_because,omitempty"`
	Changes     []LearnerChange `json:"changes"`
}

// A LearnerKnob is a setting with what is known of its options.
type LearnerKnob struct {
	Class  string `json:"class"`
	Name   string `json:"knob"`
	Option string `json:"option"` // preferred
	Arms   []Arm  `json:"arms"`
}

// Summary tells what was learned and chosen so far. A nil learner has nothing to
// tell.
func (l *Learner) Summary() *LearnerSummary {
	if l == nil {
		return nil
	}
	l.end(l.current)
	snap := l.loop.Trainer().Snapshot()
	band := l.now.Bucket().RAM
	s := &LearnerSummary{
		Pressure: l.now.RAM, Peak: l.sampler.Peak(), Band: fmt.Sprintf("%d, for which %.2f stands", band, float64(band.Pressure())),
		Ticks: l.loop.Ticks(), Recommended: l.loop.Choice().String(), Because: l.loop.LastDecisionReason(), Table: l.loop.LastReason(),
		Rows: snap.Summary.TotalEntries, Episodes: snap.Summary.TotalEpisodes, PreferGPU: snap.Summary.GPUPreferenceRatio,
		Changes: append([]LearnerChange{}, l.changes...), Knobs: []LearnerKnob{},
	}
	if len(l.asked.Arms) > 0 {
		s.Weights = l.asked.Reason(l.asked.Decide())
	}
	for _, p := range l.picker.Known() {
		if p.Model != l.run.Model {
			continue
		}
		for _, a := range p.Arms {
			if p.Knob == threads {
				s.Lost, s.Spent = s.Lost+a.Lost, s.Spent+a.Spent
			}
		}
		if p.Bucket == l.now.Bucket() && len(p.Arms) > 1 {
			s.Knobs = append(s.Knobs, LearnerKnob{p.Class, p.Knob.String(), p.Arms[p.Current].Option, p.Arms})
		}
	}
	return s
}

// Regret is how much longer steps like the last ones took, in all runs of this model, than
// with the threads that were measured to be the fastest: 0.05 is 5 %.
func (l *Learner) Regret() float64 { return l.regret }

// Close saves what was learned.
func (l *Learner) Close() error {
	l.end(l.current)
	l.sampler.Close()
	var errs []error
	if l.loop.Dirty() {
		errs = append(errs, l.loop.Save())
	}
	if l.picker.Dirty() {
		errs = append(errs, l.picker.Save())
	} else {
		errs = append(errs, l.err) // a save that succeeds makes up for earlier ones
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("what was learned: %w", err)
	}
	return nil
}
