package decide

import (
	"math"
	"slices"

	"atenia/internal/memory/checkpoint"
)

// A LoopConfig configures a [Loop]. The zero value has no cooldown and saves
// nothing.
type LoopConfig struct {
	Cooldown     uint64 // ticks between two switches
	DriftPenalty uint32 // see [Trainer]
	// Forget is the number of episodes at which a row is halved, so that old ones
	// fade; 0 = never.
	Forget uint32
	Autosave
}

// A Result is the outcome of an episode.
type Result struct {
	OK    bool
	Score int32
}

// A Tick is one episode of a [Loop].
type Tick struct {
	Context  Context
	Planned  []checkpoint.Decision // of the warm start before it
	Executed *Backend              // the backend that executed; nil infers it from Planned, see [Summarize]
	Drift    bool
	Result   Result
	Seconds  uint64 // the caller's clock, 0 when the loop was created
}

// A Loop records one episode per tick, chooses the backend of the next one, and
// saves its table from time to time.
type Loop struct {
	store
	cooldown uint64
	forget   uint32
	state    loopState

	reason, decision string
	turn             Turn
}

// loopState is the state, besides the table, that determines the next choice.
type loopState struct {
	choice     Backend
	tick       uint64
	lastSwitch uint64
}

// NewLoop returns a loop with an empty table that prefers the processor.
func NewLoop(cfg LoopConfig) *Loop {
	return &Loop{
		store:    store{trainer: Trainer{DriftPenalty: cfg.DriftPenalty}, cfg: cfg.Autosave},
		cooldown: cfg.Cooldown, forget: cfg.Forget, reason: "init", decision: "init",
	}
}

// Trainer returns the table; the loop owns it.
func (l *Loop) Trainer() *Trainer { return &l.trainer }

// Ticks returns the number of ticks so far.
func (l *Loop) Ticks() uint64 { return l.state.tick }

// Choice returns the latest choice.
func (l *Loop) Choice() Backend { return l.state.choice }

// LastReason returns why the loop last changed: the reason of a choice or of an
// attempt to save.
func (l *Loop) LastReason() string { return l.reason }

// LastDecisionReason returns the reason of the latest choice, regardless of
// saves since.
func (l *Loop) LastDecisionReason() string { return l.decision }

// LastTurn returns the inputs of the latest choice.
func (l *Loop) LastTurn() Turn { return l.turn }

// OnTick records an episode and returns the backend for the next one.
func (l *Loop) OnTick(t Tick) Backend {
	ran := Summarize(t.Planned).Backend
	if t.Executed != nil {
		ran = *t.Executed
	}
	l.trainer.Record(t.Context, ran, t.Result.OK, t.Result.Score, t.Drift)
	if l.forget > 0 {
		decay(l.trainer.row(t.Context.Bucket(), ran), l.forget)
	}
	l.dirty = true
	l.turn = l.next(t.Context.Bucket())
	c := l.turn.Decide()
	l.state.choice, l.state.lastSwitch = c.Backend, c.LastSwitch
	l.reason, l.decision = c.Reason, c.Reason
	if l.state.tick < math.MaxUint64 {
		l.state.tick++
	}
	if _, err := l.TryAutosave(t.Seconds); err != nil {
		l.reason = "autosave: failed (io)"
	}
	return l.state.choice
}

// next collects the inputs of the choice for a bucket.
func (l *Loop) next(b Bucket) Turn {
	cpu, _ := l.trainer.Stats(b, CPU)
	gpu, _ := l.trainer.Stats(b, GPU)
	return Turn{
		Bucket: b, CPU: cpu, GPUStats: gpu, DriftPenalty: l.trainer.penalty(), Cooldown: l.cooldown,
		Tick: l.state.tick, LastSwitch: l.state.lastSwitch, Last: l.state.choice,
	}
}

// A Turn holds all inputs of the choice of one tick.
type Turn struct {
	Bucket
	CPU          Stats   `json:"cpu"`
	GPUStats     Stats   `json:"gpu"`
	DriftPenalty uint32  `json:"drift_penalty"`
	Cooldown     uint64  `json:"cooldown"`
	Tick         uint64  `json:"tick"`
	LastSwitch   uint64  `json:"last_switch"`
	Last         Backend `json:"last"`
}

// The rules of [Turn.Decide], in order; the first that applies decides.
const (
	ruleNoGPU    = "GpuUnavailable"
	ruleSame     = "SameBackend"
	ruleCooldown = "CooldownActive"
	ruleSwitch   = "LearnedScore"
)

// turnRules lists the rules in the order of evaluation.
var turnRules = []string{ruleNoGPU, ruleSame, ruleCooldown, ruleSwitch}

// A Choice is the outcome of a [Turn].
type Choice struct {
	Backend    Backend
	Rule       string
	Reason     string
	LastSwitch uint64 // tick of the last switch, including this one
	Trial      bool   // chosen in order to learn, not because it is preferred

	of []string // the rules in the order of evaluation
}

// Rules returns the rules that were tried, the deciding one last.
func (c Choice) Rules() []string {
	return slices.Clone(c.of[:slices.Index(c.of, c.Rule)+1])
}

// Decide chooses a backend. Tick 0 is exempt from the cooldown; later ticks are
// not, even before the first switch.
func (t Turn) Decide() Choice {
	raw := prefer(t.GPU, t.CPU.Value(t.DriftPenalty), t.GPUStats.Value(t.DriftPenalty))
	c := Choice{Backend: t.Last, LastSwitch: t.LastSwitch, of: turnRules}
	switch {
	case !t.GPU:
		if t.Last == GPU {
			c.LastSwitch = t.Tick
		}
		c.Backend, c.Rule, c.Reason = CPU, ruleNoGPU, "hold: gpu unavailable"
	case raw == t.Last:
		c.Rule, c.Reason = ruleSame, "hold: same backend preferred"
	case t.Cooldown > 0 && t.Tick > 0 && t.Tick-min(t.LastSwitch, t.Tick) < t.Cooldown:
		c.Rule, c.Reason = ruleCooldown, "hold: cooldown active"
	default:
		c.Backend, c.LastSwitch, c.Rule = raw, t.Tick, ruleSwitch
		c.Reason = "switch: " + t.Last.Lower() + "->" + raw.Lower() + " due to learned score"
	}
	return c
}
