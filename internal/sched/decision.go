package sched

import (
	"fmt"
	"time"

	"atenia/internal/spelling"
)

// An Action is what the scheduler did with a request.
type Action uint8

// The actions.
const (
	actionWait    Action = iota // the request stays in the queue, or stalls in its slot without memory
	actionAdmit                 // it got a slot
	actionReuse                 // it begins with keys and values that were there
	actionPreempt               // its keys and values were freed; they are computed again
	actionResume                // it goes on after it stalled
	actionEvict                 // the keys and values that it had left when it ended were freed
	actionFinish                // it ended with an answer
	actionCancel                // it was given up by its caller
	actionFail                  // it ended with an error
	actionRead                  // keys and values of its prompt are read from the disk
	actionCompute               // it computes keys and values that the disk has
	actionDraft                 // drafted tokens are verified, several a step
	actionPlain                 // no drafted tokens are
)

var actionNames = []string{"wait", "admit", "reuse", "preempt", "resume", "evict", "finish", "cancel", "fail", "read", "compute", "draft", "plain"}

func (a Action) String() string               { return spelling.Enum(actionNames, "Action", a) }
func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }
func (a *Action) UnmarshalText(b []byte) error {
	return spelling.ParseEnum(actionNames, "action", b, a)
}

// A Rule is why. It says what a decision's numbers count.
type Rule uint8

// The rules.
const (
	bySlots    Rule = iota // running requests, and how many may run
	byMemory               // bytes of keys and values needed, and available
	byPriority             // levels: of the request, and of the one it is compared with
	byShare                // tokens computed for the request's group, and for the one it is compared with
	byPrefix               // tokens that are there, or will be when the other request has computed them, and tokens of the prompt
	byArrival              // steps that the request waited; no limit
	byRoom                 // bytes of keys and values kept of ended requests, and how many may be
	byStop                 // tokens of the answer, and how many were allowed
	byLength               // the same
	byCaller               // the same
	byError                // the same
	byCost                 // estimated microseconds to read keys and values, and to compute them; 0 = not measured yet
	byDamage               // tokens whose keys and values could not be read; no limit
	byGain                 // nanoseconds that a token is expected to take with drafts, and without
	byDrafts               // drafted tokens that were accepted, and all of them
	byState                // none: a state of the model keeps no positions apart, and rejected tokens cannot be taken out
	byDrafter              // images of the request, which the draft model does not see; 0 = there is no draft model, or it failed
)

var ruleNames = []string{"slots", "memory", "priority", "share", "prefix", "arrival", "room", "stop", "length", "caller", "error", "cost", "damage", "gain", "drafts", "state", "drafter"}

func (r Rule) String() string                { return spelling.Enum(ruleNames, "Rule", r) }
func (r Rule) MarshalText() ([]byte, error)  { return []byte(r.String()), nil }
func (r *Rule) UnmarshalText(b []byte) error { return spelling.ParseEnum(ruleNames, "rule", b, r) }

// A Decision is what the scheduler did with a request, and why: a rule with what
// was observed and its limit.
type Decision struct {
	Time     time.Time
	Step     uint64 // steps computed before
	Request  string // id
	Action   Action
	Slot     int    // 1 and up; 0 = none
	Other    string // request that it was compared with, made room for, or continues; "" = none
	Rule     Rule
	Observed int64
	Limit    int64
	Adapter  string // of an admitted request; "" = none
	Drafter  string // of a decision about drafts; "" = look-up
}

// String returns one line: request, action, rule, numbers.
func (d Decision) String() string {
	s := d.Request + ": " + d.Action.String()
	if d.Slot > 0 {
		s += fmt.Sprintf(" slot %d", d.Slot)
	}
	if d.Adapter != "" {
		s += " with adapter " + d.Adapter
	}
	if d.Drafter != "" {
		s += " by " + d.Drafter
	}
	return s + " by rule " + d.Rule.String() + ": " + d.Because()
}

// Because returns the rule's numbers as a sentence.
func (d Decision) Because() string {
	n, of, other := d.Observed, d.Limit, d.Other
	switch d.Rule {
	case bySlots:
		return fmt.Sprintf("%d of %d slots run requests", n, of)
	case byMemory:
		s := fmt.Sprintf("%d bytes of keys and values needed, %d available", n, of)
		if other != "" {
			s += ", for " + other
		}
		return s
	case byPriority:
		return fmt.Sprintf("level %d, %s has %d", n, other, of)
	case byShare:
		return fmt.Sprintf("%d tokens computed for its group, %d for that of %s", n, of, other)
	case byPrefix:
		if d.Action == actionWait {
			return fmt.Sprintf("%s computes %d of its %d tokens", other, n, of)
		}
		return fmt.Sprintf("%d of %d tokens are those of %s", n, of, other)
	case byArrival:
		return fmt.Sprintf("first after %d steps", n)
	case byRoom:
		return fmt.Sprintf("%d bytes kept of ended requests, %d allowed", n, of)
	case byCost:
		if of == 0 {
			return fmt.Sprintf("reading takes about %d µs, and computing was not measured yet", n)
		}
		return fmt.Sprintf("reading takes about %d µs, computing %d µs", n, of)
	case byDamage:
		return fmt.Sprintf("keys and values of %d tokens could not be read", n)
	case byGain:
		return fmt.Sprintf("a token is expected to take %v with drafts, %v without", round(n), round(of))
	case byDrafts:
		return fmt.Sprintf("%d of %d drafted tokens were accepted", n, of)
	case byState:
		return "the model has states that keep no positions apart: rejected tokens could not be taken out of them"
	case byDrafter:
		if n > 0 {
			return fmt.Sprintf("the draft model does not see the %d images of the prompt", n)
		}
		return "there is no draft model, or it failed"
	default:
		return fmt.Sprintf("%d of at most %d tokens of an answer", n, of)
	}
}

// round returns a time with as many digits as matter.
func round(ns int64) time.Duration { return time.Duration(ns).Round(10 * time.Microsecond) }
