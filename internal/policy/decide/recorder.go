package decide

import (
	"time"

	"atenia/internal/machine/hw"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/policy/record"
)

// A Recorder decides and records its decisions. With a nil journal it only
// decides, at no extra cost.
type Recorder struct {
	Journal *record.Journal
	Tick    uint64 // of the next record
}

// OpenRecorder returns a recorder that appends to a log of package record and tells
// listeners, and a function that closes the log. Without a path and listeners
// the recorder only decides.
func OpenRecorder(path string, listeners []record.Listener) (r Recorder, done func() error, err error) {
	c := record.Config{Listeners: listeners, Now: func() int64 { return time.Now().UnixNano() }}
	done = func() error { return nil }
	switch {
	case path != "":
		w, last, err := record.Open(record.WriterConfig{Path: path})
		if err != nil {
			return r, nil, err
		}
		c.After, c.Listeners, done = last, append([]record.Listener{w}, listeners...), w.Close
	case len(listeners) == 0:
		return r, done, nil
	}
	r.Journal = record.NewJournal(c)
	return r, done, nil
}

// record adds a draft to the journal. Encoding cannot fail, because the inputs
// are types of this package; the journal reports write errors itself.
func (r *Recorder) record(component string, inputs any, d record.Draft) record.Record {
	d.Tick, d.Component, d.Inputs = r.Tick, component, inputs
	rec, _ := r.Journal.Add(d)
	return rec
}

// Place is [memory.Decide].
func (r *Recorder) Place(p memory.TensorProfile, machine *hw.Snapshot, noSSD bool) memory.Decision {
	d := memory.Decide(p, *machine, noSSD)
	if r.Journal != nil {
		r.record("placement", placeInputsOf(p, *machine, noSSD), placeDraft(d))
	}
	return d
}

// Target is [ChooseRoute].
func (r *Recorder) Target(k Kernel, tiers []memory.Tier, s memory.Snapshot, on Executors) RouteChoice {
	p := ChooseRoute(k, tiers, s, on)
	if r.Journal != nil {
		r.record("planner", targetInputs{k, append([]memory.Tier{}, tiers...), pressuresOf(s), on}, targetDraft(p))
	}
	return p
}

// Offload is [memory.Offload.PlanWithTick] at the recorder's tick.
func (r *Recorder) Offload(o *memory.Offload, s memory.Snapshot, ids []string, m *memory.Manager) memory.PlannedOffload {
	return r.offload(false, o, s, ids, m)
}

// OffloadNow is [memory.Offload.Plan].
func (r *Recorder) OffloadNow(o *memory.Offload, s memory.Snapshot, ids []string, m *memory.Manager) memory.PlannedOffload {
	return r.offload(true, o, s, ids, m)
}

func (r *Recorder) offload(now bool, o *memory.Offload, s memory.Snapshot, ids []string, m *memory.Manager) memory.PlannedOffload {
	in := offloadInputs{Tick: r.Tick, Now: now}
	if r.Journal != nil {
		in = offloadInputsOf(o, s, ids, m, r.Tick)
		in.Now = now
	}
	p := in.plan(o, s, ids, m)
	if r.Journal != nil {
		r.record("offload", in, offloadDraft(in, p))
	}
	return p
}

// Recommend is [Trainer.Recommend].
func (r *Recorder) Recommend(t *Trainer, b Bucket) Backend {
	k := t.Recommend(b)
	if r.Journal != nil {
		in := trainerInputsOf(t, b)
		d, _ := in.draft(nil)
		r.record("trainer", in, d)
	}
	return k
}

// Picked records the choice that a pick makes.
func (r *Recorder) Picked(p *Pick) {
	if r.Journal != nil {
		d, _ := pickInputs{*p}.draft(nil)
		r.record("choice", pickInputs{*p}, d)
	}
}

// Loop is [Loop.OnTick]; the choice is recorded if it has another reason
// than the last one: most of them are the same for thousands of tokens.
func (r *Recorder) Loop(l *Loop, t Tick) Backend {
	said := l.LastDecisionReason()
	k := l.OnTick(t)
	if r.Journal != nil && l.LastDecisionReason() != said {
		turn := l.LastTurn()
		r.record("autoloop", turnInputs{turn}, choiceDraft(turn.Decide()))
	}
	return k
}

// Choose is [Policy.Choose] at the recorder's tick.
func (r *Recorder) Choose(p *Policy, c Context, class string) Choice {
	if r.Journal == nil {
		return p.Choose(c, class, r.Tick)
	}
	m := p.Turn(c, class, r.Tick)
	choice := p.Choose(c, class, r.Tick)
	r.record("policy", measuredInputs{m}, choiceDraft(choice))
	return choice
}

// Budget is [place.Place], recorded as the plan, or the reason why there is
// none, and one record for each tensor.
func (r *Recorder) Budget(in place.Input) (*place.Placement, error) {
	p, err := place.Place(in)
	if r.Journal != nil {
		r.recordPlacement(budgetInputsOf(in), p, err)
	}
	return p, err
}

// Reload is [place.Reload], recorded as by [Recorder.Budget].
func (r *Recorder) Reload(in place.Input, f *place.File) (*place.Placement, error) {
	p, err := place.Reload(in, f)
	if r.Journal == nil {
		return p, err
	}
	if text, ferr := f.Append(nil); ferr == nil { // a file that cannot be encoded cannot be replayed
		i := budgetInputsOf(in)
		i.PlacementFile = string(text)
		r.recordPlacement(i, p, err)
	}
	return p, err
}

func (r *Recorder) recordPlacement(in budgetInputs, p *place.Placement, err error) {
	of := r.record("budget", in, budgetDraft(p, err))
	if err != nil {
		return
	}
	for i := range p.Tensors {
		r.record("budget_tensor", tensorInputs{of.Seq, p.Tensors[i].Name}, tensorDraft(p, i))
	}
}
