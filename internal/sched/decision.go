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
	Waits     Action = iota // the request stays in the queue, or stalls in its slot without memory
	Admitted                // it got a slot
	Reuses                  // it begins with keys and values that were there
	Preempted               // its keys and values were freed; they are computed again
	Resumed                 // it goes on after it stalled
	Evicted                 // the keys and values that it had left when it ended were freed
	Finished                // it ended with an answer
	Cancelled               // it was given up by its caller
	Failed                  // it ended with an error
	Reads                   // keys and values of its prompt are read from the disk
	Computes                // it computes keys and values that the disk has
	Drafts                  // drafted tokens are verified, several a step
	Plain                   // no drafted tokens are
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
	BySlots    Rule = iota // running requests, and how many may run
	ByMemory               // bytes of keys and values needed, and available
	ByPriority             // levels: of the request, and of the one it is compared with
	ByShare                // tokens computed for the request's group, and for the one it is compared with
	ByPrefix               // tokens that are there, or will be when the other request has computed them, and tokens of the prompt
	ByArrival              // steps that the request waited; no limit
	ByRoom                 // bytes of keys and values kept of ended requests, and how many may be
	ByStop                 // tokens of the answer, and how many were allowed
	ByLength               // the same
	ByCaller               // the same
	ByError                // the same
	ByCost                 // estimated microseconds to read keys and values, and to compute them; 0 = not measured yet
	ByDamage               // tokens whose keys and values could not be read; no limit
	ByGain                 // nanoseconds that a token is expected to take with drafts, and without
	ByDrafts               // drafted tokens that were accepted, and all of them
	ByState                // none: a state of the model keeps no positions apart, and rejected tokens cannot be taken out
	ByDrafter              // images of the request, which the draft model does not see; 0 = there is no draft model, or it failed
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
	case BySlots:
		return fmt.Sprintf("%d of %d slots run requests", n, of)
	case ByMemory:
		s := fmt.Sprintf("%d bytes of keys and values needed, %d available", n, of)
		if other != "" {
			s += ", for " + other
		}
		return s
	case ByPriority:
		return fmt.Sprintf("level %d, %s has %d", n, other, of)
	case ByShare:
		return fmt.Sprintf("%d tokens computed for its group, %d for that of %s", n, of, other)
	case ByPrefix:
		if d.Action == Waits {
			return fmt.Sprintf("%s computes %d of its %d tokens", other, n, of)
		}
		return fmt.Sprintf("%d of %d tokens are those of %s", n, of, other)
	case ByArrival:
		return fmt.Sprintf("first after %d steps", n)
	case ByRoom:
		return fmt.Sprintf("%d bytes kept of ended requests, %d allowed", n, of)
	case ByCost:
		if of == 0 {
			return fmt.Sprintf("reading takes about %d µs, and computing was not measured yet", n)
		}
		return fmt.Sprintf("reading takes about %d µs, computing %d µs", n, of)
	case ByDamage:
		return fmt.Sprintf("keys and values of %d tokens could not be read", n)
	case ByGain:
		return fmt.Sprintf("a token is expected to take %v with drafts, %v without", round(n), round(of))
	case ByDrafts:
		return fmt.Sprintf("%d of %d drafted tokens were accepted", n, of)
	case ByState:
		return "the model has states that keep no positions apart: rejected tokens could not be taken out of them"
	case ByDrafter:
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

// decisionsKept is how many decisions are kept.
const decisionsKept = 4096

// note keeps a decision. It is called where requests come, go or wait, never in a
// step that only decodes.
func (s *Scheduler) note(d Decision) {
	d.Time, d.Step = time.Now(), s.steps.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.decisions) < decisionsKept {
		s.decisions = append(s.decisions, d)
		return
	}
	s.decisions[s.oldest] = d
	s.oldest = (s.oldest + 1) % decisionsKept
}

// Why returns the decisions about a request in order, as far as they are kept:
// the last 4096 of all requests. "" stands for every request.
func (s *Scheduler) Why(request string) (out []Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, part := range [][]Decision{s.decisions[s.oldest:], s.decisions[:s.oldest]} {
		for _, d := range part {
			if request == "" || d.Request == request {
				out = append(out, d)
			}
		}
	}
	return out
}

// waits keeps why a request waits, once for each rule in turn.
func (s *Scheduler) waits(st *Stream, d Decision) {
	if st.waiting && st.why == d.Rule {
		return
	}
	st.waiting, st.why = true, d.Rule
	d.Request, d.Action = st.req.ID, Waits
	s.note(d)
}

// ends keeps how a request ended.
func (s *Scheduler) ends(st *Stream, f Finish, err error) {
	if n, m := st.drafted-st.byModel.drafted, st.accepted-st.byModel.accepted; n > 0 {
		s.note(Decision{Request: st.req.ID, Action: Drafts, Slot: st.slot, Rule: ByDrafts, Observed: int64(m), Limit: int64(n)})
	}
	if n, m := st.byModel.drafted, st.byModel.accepted; n > 0 {
		s.note(Decision{Request: st.req.ID, Action: Drafts, Slot: st.slot, Rule: ByDrafts, Observed: int64(m), Limit: int64(n), Drafter: s.drafterName()})
	}
	d := Decision{Request: st.req.ID, Slot: st.slot, Action: Finished, Rule: ByLength, Observed: int64(st.made), Limit: int64(st.req.MaxTokens)}
	switch {
	case err != nil && st.dropped.Load() != nil:
		d.Action, d.Rule = Cancelled, ByCaller
	case err != nil:
		d.Action, d.Rule = Failed, ByError
	case f == FinishStop:
		d.Rule = ByStop
	}
	s.note(d)
}
