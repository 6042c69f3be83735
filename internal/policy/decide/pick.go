package decide

import (
	"fmt"
	"math"
)

// A PickConfig bounds what trials of other options cost. The zero value uses
// sensible defaults.
type PickConfig struct {
	// Share of the time that trials may lose; 0 is [defaultShare].
	Share float64 `json:"share"`
	// Every is the least number of episodes from one trial to the next; 0 is 96.
	Every uint64 `json:"every"`
	// Burst is the number of episodes of a trial; 0 is 4.
	Burst uint32 `json:"burst"`
	// Cooldown is the least number of episodes between two switches; 0 is 16.
	Cooldown uint64 `json:"cooldown"`
	// Margin is how much faster an option must be; 0 is 0.05.
	Margin float64 `json:"margin"`
	// First is the number of episodes that are measured before anything is tried; 0
	// is 8.
	First uint32 `json:"first"`
	// Seed shifts the episodes of the first trial.
	Seed uint64 `json:"seed"`
	// Whole is set for what is chosen once and then lasts for a run: what earlier
	// runs measured counts as if it was measured now.
	Whole bool `json:"whole"`
}

// defaultShare is the share of the time that trials may lose: a machine that
// never changes pays it for nothing.
const defaultShare = 1.0 / 64

func (c PickConfig) withDefaults() PickConfig {
	if c.Share == 0 {
		c.Share = defaultShare
	}
	if c.Every == 0 {
		c.Every = 96
	}
	if c.Burst == 0 {
		c.Burst = 4
	}
	if c.Cooldown == 0 {
		c.Cooldown = 16
	}
	if c.Margin == 0 {
		c.Margin = 0.05
	}
	if c.First == 0 {
		c.First = 8
	}
	return c
}

// A Pick holds all inputs of the choice among the options of a knob.
type Pick struct {
	Place
	Arms      []Arm      `json:"arms"`
	Current   int        `json:"current"` // index of the arm in use
	Trying    int        `json:"trying"`  // of the arm of the trial that is going on
	Left      uint32     `json:"left"`    // episodes of that trial; 0 = there is none
	Long      float64    `json:"long"`    // slow mean of the current option, to notice a change
	Episode   uint64     `json:"episode"`
	LastTrial uint64     `json:"last_trial"` // episode at which the latest ended
	Switched  uint64     `json:"switched"`   // episode of the latest switch
	Config    PickConfig `json:"config"`

	hidden []Arm // of options that there are not now
}

// A Rule is why an option was picked.
type Rule string

// The rules of [Pick.Decide], in order; the first that applies decides.
const (
	ruleOnly      Rule = "OnlyOption"
	ruleFirst     Rule = "FirstEpisodes"
	ruleGoesOn    Rule = "TrialGoesOn"
	ruleFaster    Rule = "Faster"
	ruleWait      Rule = "CooldownActive"
	ruleRecheck   Rule = "Recheck"
	ruleChanged   Rule = "Changed"
	ruleTryOption Rule = "Trial"
	ruleKeep      Rule = "Keep"
)

var pickRules = []Rule{ruleOnly, ruleFirst, ruleGoesOn, ruleFaster, ruleWait, ruleRecheck, ruleChanged, ruleTryOption, ruleKeep}

// A Verdict is the outcome of a [Pick].
type Verdict struct {
	Arm   int
	Rule  Rule
	Trial bool // picked in order to learn
}

// Notable reports whether the verdict is worth a record: it changes what is done.
func (v Verdict) Notable() bool {
	switch v.Rule {
	case ruleFaster, ruleRecheck, ruleChanged, ruleTryOption:
		return true
	}
	return false
}

// Rules returns the rules that were tried, the deciding one last.
func (v Verdict) Rules() (out []string) {
	for _, r := range pickRules {
		out = append(out, string(r))
		if r == v.Rule {
			break
		}
	}
	return out
}

const (
	// changedBy is how far the recent mean is from the slow one when something
	// outside changed.
	changedBy = 0.20
	longRef   = 1.0 / 64 // weight of a new latency in the slow mean
	meanOf    = 8        // latencies that a mean is of, about: see refWeight
	// devWeight is the weight of a new latency in the mean deviation: small, or a
	// change would hide itself as noise.
	devWeight = 1.0 / 32
)

// Decide picks an option. It allocates nothing.
//
// Trials are paid from an allowance: a share of the time spent so far, less what
// trials have lost. One is made only if it is expected to lose no more than that,
// so the bound holds but for one trial whose cost was underestimated, which the
// next ones wait for.
func (p *Pick) Decide() Verdict {
	if len(p.Arms) <= 1 {
		return Verdict{0, ruleOnly, false}
	}
	now := &p.Arms[p.Current]
	stay := Verdict{p.Current, ruleKeep, false}
	switch {
	case now.Fresh < p.Config.First || now.Seconds <= 0:
		return Verdict{p.Current, ruleFirst, false}
	case p.Left > 0:
		return Verdict{p.Trying, ruleGoesOn, true}
	}
	rested := p.Episode + p.Config.Seed%p.Config.Every - p.LastTrial
	if i, ok := p.fastest(); ok {
		switch recent := p.recent(&p.Arms[i]); {
		case recent && p.Episode-p.Switched < p.Config.Cooldown && p.Switched > 0:
			return Verdict{p.Current, ruleWait, false}
		case recent:
			return Verdict{i, ruleFaster, false}
		case rested >= p.Config.Every/4 && p.Allowance() > 0:
			return Verdict{i, ruleRecheck, true}
		}
	}
	by := max(changedBy, 2*now.Dev)
	changed := p.Long > 0 && (now.Seconds > p.Long*(1+by) || now.Seconds < p.Long*(1-by))
	if rested < p.Config.Every && !(changed && rested >= uint64(p.Config.Burst)) {
		return stay
	}
	i, ok := p.candidate()
	switch {
	case !ok:
		return stay
	case changed:
		return Verdict{i, ruleChanged, true}
	}
	return Verdict{i, ruleTryOption, true}
}

// recent reports whether an estimate is of now: of the latest trial, or of
// whole runs.
func (p *Pick) recent(a *Arm) bool {
	return a.Fresh >= p.Config.Burst && (p.Config.Whole || a.Age <= p.Config.Every/4)
}

// fastest returns the option with the least mean, if it is faster than the
// current one by the margin.
func (p *Pick) fastest() (best int, ok bool) {
	now := p.Arms[p.Current].Seconds
	least := now
	for i := range p.Arms {
		if s := p.Arms[i].Seconds; s > 0 && s < least && s < now*(1-p.margin(&p.Arms[i])) {
			best, least, ok = i, s, true
		}
	}
	return best, ok
}

// margin returns by how much an option must be faster: that of the configuration,
// or what the noise of the two means may be. Beside busy neighbours one latency is
// several times another.
func (p *Pick) margin(a *Arm) float64 {
	now := &p.Arms[p.Current]
	n, m := float64(max(1, min(a.Fresh, meanOf))), float64(max(1, min(now.Fresh, meanOf)))
	return max(p.Config.Margin, 1.5*max(now.Dev, a.Dev)*math.Sqrt(1/n+1/m))
}

// Allowance returns how many seconds trials may lose now.
func (p *Pick) Allowance() float64 {
	spent, lost := 0.0, 0.0
	for i := range p.Arms {
		spent, lost = spent+p.Arms[i].Spent, lost+p.Arms[i].Lost
	}
	return p.Config.Share*spent - lost
}

// candidate returns the option to try next: of those that the allowance pays
// for, the one whose knowledge is oldest for the square of what a trial is
// expected to lose: those that are much slower should not take the allowance of
// those that may be faster soon.
func (p *Pick) candidate() (best int, ok bool) {
	allowance, now := p.Allowance(), p.Arms[p.Current].Seconds
	most := -1.0
	for i := range p.Arms {
		if i == p.Current {
			continue
		}
		a := &p.Arms[i]
		extra := max(0, a.expect(now)-now)
		if extra*float64(p.Config.Burst) > allowance {
			continue
		}
		cost := extra/now + 0.05
		if worth := float64(a.Age+1) / (cost * cost); worth > most {
			best, most, ok = i, worth, true
		}
	}
	return best, ok
}

// regret is the share of time that trials of slower options lost; 0 = none was spent.
func (p *Pick) regret() float64 {
	spent, lost := 0.0, 0.0
	for i := range p.Arms {
		spent, lost = spent+p.Arms[i].Spent, lost+p.Arms[i].Lost
	}
	if spent <= lost {
		return 0
	}
	return lost / (spent - lost)
}

// Reason says in a line why the verdict is what it is.
func (p *Pick) Reason(v Verdict) string {
	now, a := &p.Arms[p.Current], &p.Arms[v.Arm]
	switch v.Rule {
	case ruleOnly:
		return fmt.Sprintf("%s is the only option", a.Option)
	case ruleFirst:
		return fmt.Sprintf("%s is measured first, %d of %d episodes", a.Option, a.Fresh, p.Config.First)
	case ruleGoesOn:
		return fmt.Sprintf("trial of %s, %d more", a.Option, p.Left)
	case ruleFaster:
		return fmt.Sprintf("%s takes %.6g s, %s takes %.6g s", a.Option, a.Seconds, now.Option, now.Seconds)
	case ruleWait:
		return fmt.Sprintf("hold: switched %d episodes ago, want %d", p.Episode-p.Switched, p.Config.Cooldown)
	case ruleRecheck:
		return fmt.Sprintf("trial: %s once took %.6g s, %s takes %.6g s", a.Option, a.Seconds, now.Option, now.Seconds)
	case ruleChanged:
		return fmt.Sprintf("trial of %s: %s takes %.6g s, it used to take %.6g s", a.Option, now.Option, now.Seconds, p.Long)
	case ruleTryOption:
		return fmt.Sprintf("trial of %s, last tried %d episodes ago; trials may lose %.6g s", a.Option, a.Age, p.Allowance())
	}
	return fmt.Sprintf("%s takes %.6g s, and no trial is due", now.Option, now.Seconds)
}
