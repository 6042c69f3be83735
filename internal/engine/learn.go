package engine

import (
	"atenia/internal/memory"
	"atenia/internal/memory/pack"
	"atenia/internal/policy/decide"
)

// The ways in which weights lie, as what is learned about them is named. Codings
// of streamed blocks are options of [learn.Codec].
const (
	formPacked   = "packed"
	formMapped   = "mapped"
	formStreamed = "streamed"
	formHeld     = "held" // in memory, as the file has them
)

// mappedGuess is how much longer a token takes with weights as the file has
// them, before that was measured.
const mappedGuess = 1.3

// choosePacking lets what was learned choose between packed and mapped weights
// where the user left that open. Both give the same bits.
func (p *Plan) choosePacking(c *pack.Config) {
	l := p.Config.Observer.Learner()
	if l == nil || c.Mode != pack.Auto {
		return
	}
	if form, why := l.Weights(p.identity(), formPacked, formMapped, mappedGuess); form == formMapped {
		c.Mode, c.Because = pack.Off, why
	}
}

// identity names the model to what is learned: equal for equal plans, wherever
// their files are.
func (p *Plan) identity() string {
	id, err := p.Model.Plans.ID()
	if err != nil { // a plan that was compiled has an id
		return p.path
	}
	const short = len("sha256:") + 16
	return id[:min(short, len(id))]
}

// Form says how the weights lie: packed, mapped or streamed.
func (e *Engine) Form() string {
	switch {
	case e.weights.Stream.Ring != nil || e.weights.Stream.Experts != nil:
		return formStreamed
	case e.packing.Mode != pack.Off || e.packing.Held > 0:
		return formPacked
	case e.Plan.Config.NoMap:
		return formHeld
	}
	return formMapped
}

// learn tells the learner what it may set from step to step.
func (e *Engine) learn() {
	p := e.Plan
	l := p.Config.Observer.Learner()
	if l == nil {
		return
	}
	e.learnForm()
	d := e.devices()
	s := decide.Start{On: d.Executors()}
	if s.On.GPU { // else what others do with it says nothing of this run
		s.VRAM, _ = memory.PlanningPressures(d.Pressure.VRAM, nil)
	}
	if k := e.resume; k != nil {
		s.Planned, s.Drift = k.planned, len(k.Drift) > 0
	}
	l.Begin(e.record, s)
}

// learnForm tells the learner how the weights lie, which changes when they move.
func (e *Engine) learnForm() {
	p := e.Plan
	l := p.Config.Observer.Learner()
	if l == nil {
		return
	}
	run := l.Run()
	run.Model, run.Threads, run.Pinned = p.identity(), p.Effective().Threads, p.Config.AllThreads
	run.Form, run.Readers, run.SetReaders = e.Form(), 0, nil
	if r := e.weights.Stream.Ring; r != nil {
		run.Readers, run.SetReaders = r.Readers(), r.SetReaders
	}
	l.Describe(run)
}
