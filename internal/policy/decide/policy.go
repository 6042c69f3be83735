package decide

import (
	"fmt"
	"math"
	"time"
)

// A policyConfig configures a [Policy]. The zero value uses sensible defaults.
type policyConfig struct {
	Cooldown     uint64 // ticks between two switches of one context and class; 0 is 8
	DriftPenalty uint32 // see [Trainer]
	Episodes     uint32 // of each backend before scores decide; 0 is 3
	TrialEvery   uint64 // episodes between two trials of the other backend; 0 is 64
	Seed         uint64 // shifts the episodes that are trials
	Autosave
}

const (
	// forgetAt is the number of episodes at which a row of the table is halved, so
	// that old ones fade.
	forgetAt = 512
	// cellDecayAt is forgetAt for one class of work, which should adapt sooner to a
	// changed machine.
	cellDecayAt = 64
	// trialShare bounds the cost of trials of the slower backend, as a share of the
	// time since the last trial. Without it, a trial every 64 episodes of a backend
	// ten times slower would cost 14 %.
	trialShare = 1.0 / 32
	// refWeight is the weight of a new latency in the exponential means.
	refWeight = 1.0 / 8
	// bestScore limits scores: twice as fast as the processor, or half.
	bestScore = 10
)

// A Policy prefers the backend that was measured to be faster. It judges each
// class of work in each bucket separately: scores are relative to the mean
// latency of the processor for that class, so that the table of [Trainer], which
// has no classes, holds comparable numbers. A Policy is not safe for concurrent
// use.
type Policy struct {
	store
	cfg   policyConfig
	cells map[cellKey]*cell
	ticks uint64 // episodes
}

type cellKey struct {
	bucket Bucket
	class  string
}

// A cell holds the measurements of one class of work in one bucket.
type cell struct {
	stats    [2]Stats
	seconds  [2]float64 // mean latencies; 0 is unknown
	tried    [2]uint32  // episodes since this process started
	episodes uint64

	choice     Backend
	lastSwitch uint64
	switched   bool
	sinceTrial float64 // seconds spent
	trial      bool    // the latest choice was a trial
}

// newPolicy returns a policy; with a path it starts from that file, and the
// report is that of loading it.
func newPolicy(cfg policyConfig) (*Policy, Report) {
	def := func(v *uint64, d uint64) {
		if *v == 0 {
			*v = d
		}
	}
	def(&cfg.Cooldown, 8)
	def(&cfg.TrialEvery, 64)
	if cfg.Episodes == 0 {
		cfg.Episodes = 3
	}
	p := &Policy{cfg: cfg, cells: map[cellKey]*cell{}}
	p.store = store{cfg: cfg.Autosave, trainer: Trainer{DriftPenalty: cfg.DriftPenalty}}
	r := Report{Status: StatusMissing}
	if cfg.Path != "" {
		r = p.load(cfg.Path)
	}
	return p, r
}

// Trainer returns the table; the policy owns it.
func (p *Policy) Trainer() *Trainer { return &p.trainer }

// cell returns the cell of a context; a new one starts from its bucket's
// statistics, weighted as a few episodes.
func (p *Policy) cell(c Context, class string) *cell {
	k := cellKey{c.Bucket(), class}
	if x := p.cells[k]; x != nil {
		return x
	}
	x := &cell{}
	for b := range x.stats {
		s, _ := p.trainer.Stats(k.bucket, Backend(b))
		for s.Count >= 2*p.cfg.Episodes {
			s.halve()
		}
		x.stats[b] = s
	}
	p.cells[k] = x
	return x
}

// Turn collects the inputs of the next choice for a class of work.
func (p *Policy) Turn(c Context, class string, tick uint64) Measured {
	x := p.cell(c, class)
	return Measured{
		Bucket: c.Bucket(), Class: class, CPU: x.stats[CPU], GPUStats: x.stats[GPU],
		CPUSeconds: x.seconds[CPU], GPUSeconds: x.seconds[GPU], CPUTried: x.tried[CPU],
		Episode: x.episodes, SinceTrial: x.sinceTrial,
		Tick: tick, LastSwitch: x.lastSwitch, Switched: x.switched, Last: x.choice,
		Cooldown: p.cfg.Cooldown, DriftPenalty: p.trainer.penalty(), MinEpisodes: p.cfg.Episodes,
		TrialEvery: p.cfg.TrialEvery, Seed: p.cfg.Seed,
	}
}

// Choose returns the backend for a class of work. Ticks are the caller's and
// must not decrease.
func (p *Policy) Choose(c Context, class string, tick uint64) Choice {
	x := p.cell(c, class)
	choice := p.Turn(c, class, tick).Decide()
	x.trial = choice.Trial
	if !choice.Trial && choice.Backend != x.choice {
		x.choice, x.lastSwitch, x.switched = choice.Backend, choice.LastSwitch, true
	}
	return choice
}

// An Episode is one measured execution.
type Episode struct {
	Context Context
	Class   string
	Backend Backend // the backend that executed
	Latency time.Duration
	Err     error  // if not nil the execution failed and the latency is ignored
	Drift   bool   // see [Trainer.Record]
	Seconds uint64 // the caller's clock, for autosave
}

// Observe learns from an episode and saves if that is due; the only error is
// that of saving.
func (p *Policy) Observe(e Episode) error {
	b, score := min(e.Backend, GPU), p.Judge(e)
	p.trainer.Record(e.Context, b, e.Err == nil, score, e.Drift)
	decay(p.trainer.row(e.Context.Bucket(), b), forgetAt)
	p.dirty = true
	p.ticks++
	_, err := p.try(p.ticks, e.Seconds)
	return err
}

// Judge learns from an episode without counting it in the table, and returns its
// score: a [Loop] that owns the table counts it.
func (p *Policy) Judge(e Episode) int32 {
	x, b := p.cell(e.Context, e.Class), min(e.Backend, GPU)
	score := int32(-bestScore)
	if e.Err == nil {
		t := e.Latency.Seconds()
		score = scoreOf(x.reference(b, t), t)
		x.count(b, t)
	}
	x.stats[b].add(e.Err == nil, score, e.Drift)
	decay(&x.stats[b], cellDecayAt)
	x.tried[b] = addOne(x.tried[b], true)
	x.episodes++
	return score
}

// count adds a latency to what was spent since the last trial.
func (x *cell) count(b Backend, t float64) {
	x.sinceTrial += t
	if x.trial && b != x.choice {
		x.sinceTrial, x.trial = 0, false
	}
}

// reference returns the mean latency of the processor, updated by t if t is the
// processor's.
func (x *cell) reference(b Backend, t float64) float64 {
	if m := &x.seconds[b]; *m == 0 {
		*m = t
	} else {
		*m += refWeight * (t - *m)
	}
	return x.seconds[CPU]
}

// scoreOf compares a latency with the processor's: 0 is equal, 10 twice as fast or
// faster, -10 half as fast or slower. Without a reference it is 0.
func scoreOf(reference, seconds float64) int32 {
	if reference <= 0 || seconds < 0 {
		return 0
	}
	s := math.Round(bestScore * math.Log2(reference/seconds))
	return int32(max(-bestScore, min(s, bestScore)))
}

func decay(s *Stats, at uint32) {
	if s.Count >= at {
		s.halve()
	}
}

// Measured holds all inputs of the choice for one class of work.
type Measured struct {
	Bucket
	Class        string  `json:"class"`
	CPU          Stats   `json:"cpu"`
	GPUStats     Stats   `json:"gpu"`
	CPUSeconds   float64 `json:"cpu_seconds"` // mean latencies, 0 if unknown
	GPUSeconds   float64 `json:"gpu_seconds"`
	CPUTried     uint32  `json:"cpu_tried"` // episodes in this process
	Episode      uint64  `json:"episode"`
	SinceTrial   float64 `json:"since_trial_seconds"`
	Tick         uint64  `json:"tick"`
	LastSwitch   uint64  `json:"last_switch"`
	Switched     bool    `json:"switched"` // there was a switch before
	Last         Backend `json:"last"`
	Cooldown     uint64  `json:"cooldown"`
	DriftPenalty uint32  `json:"drift_penalty"`
	MinEpisodes  uint32  `json:"min_episodes"`
	TrialEvery   uint64  `json:"trial_every"`
	Seed         uint64  `json:"seed"`
}

// The rules of [Measured.Decide] besides those of [Turn.Decide].
const (
	ruleNoReference = "NoReference"
	ruleForcedTrial = "ForcedTrial"
	ruleTrial       = "PeriodicTrial"
)

var measuredRules = []string{ruleNoGPU, ruleNoReference, ruleForcedTrial, ruleTrial, ruleSame, ruleCooldown, ruleSwitch}

// Decide chooses a backend. A trial does not change the preference.
func (m Measured) Decide() Choice {
	c := Choice{Backend: m.Last, LastSwitch: m.LastSwitch, of: measuredRules}
	value := func(s Stats) float64 { // not rounded: a few percent of latency matter here
		if s.Count == 0 {
			return 0
		}
		return (float64(s.Score) - float64(s.Drift)*float64(m.DriftPenalty)) / float64(s.Count)
	}
	better := CPU
	if value(m.GPUStats) > value(m.CPU) {
		better = GPU
	}
	trial := func(b Backend, rule, reason string) { c.Backend, c.Rule, c.Reason, c.Trial = b, rule, reason, true }
	switch {
	case !m.GPU:
		c.Backend, c.Rule, c.Reason = CPU, ruleNoGPU, "hold: gpu unavailable"
		if m.Last == GPU {
			c.LastSwitch = m.Tick
		}
	case m.CPUSeconds <= 0 && m.CPUTried < m.MinEpisodes:
		trial(CPU, ruleNoReference, "trial: no latency of the cpu to compare with")
	case m.CPU.Count < m.MinEpisodes:
		trial(CPU, ruleForcedTrial, fmt.Sprintf("trial: cpu has %d of %d episodes", m.CPU.Count, m.MinEpisodes))
	case m.GPUStats.Count < m.MinEpisodes:
		trial(GPU, ruleForcedTrial, fmt.Sprintf("trial: gpu has %d of %d episodes", m.GPUStats.Count, m.MinEpisodes))
	case m.trialDue():
		trial(1-m.Last, ruleTrial, fmt.Sprintf("trial: every %dth episode", m.TrialEvery))
	case better == m.Last:
		c.Rule, c.Reason = ruleSame, "hold: same backend preferred"
	case m.Switched && m.Tick-min(m.LastSwitch, m.Tick) < m.Cooldown:
		c.Rule, c.Reason = ruleCooldown, "hold: cooldown active"
	default:
		c.Backend, c.LastSwitch, c.Rule = better, m.Tick, ruleSwitch
		c.Reason = "switch: " + m.Last.Lower() + "->" + better.Lower() + " due to learned score"
	}
	return c
}

// trialDue reports whether it is time to try the other backend and the expected
// cost is within trialShare.
func (m Measured) trialDue() bool {
	if m.TrialEvery == 0 || (m.Episode+m.Seed)%m.TrialEvery != 0 {
		return false
	}
	extra := m.GPUSeconds - m.CPUSeconds
	if m.Last == GPU {
		extra = -extra
	}
	return extra <= trialShare*m.SinceTrial
}
