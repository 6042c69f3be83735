package atenia

import (
	"context"
	"iter"
	"time"

	"atenia/internal/sched"
)

// GenerateN continues a prompt n times and returns the sequences of the answers:
// that of number i is what [Model.Generate] yields with the seed Sampling.Seed+i.
//
// Range over all of them at the same time, each in a goroutine of its own, and the
// prompt is computed once: the answers share its keys and values, as far as there
// are slots for all. Ranged over in turns they are computed in turns.
func (m *Model) GenerateN(ctx context.Context, p Prompt, n int) []iter.Seq2[Token, error] {
	answers := make([]iter.Seq2[Token, error], 0, max(0, n))
	for range n {
		answers = append(answers, m.Generate(ctx, p))
		p.Sampling.Seed++
	}
	return answers
}

// ChatN answers a conversation n times, as [Model.GenerateN] continues a prompt.
func (m *Model) ChatN(ctx context.Context, c Conversation, n int) []iter.Seq2[Token, error] {
	answers := make([]iter.Seq2[Token, error], 0, max(0, n))
	for range n {
		answers = append(answers, m.Chat(ctx, c))
		c.Sampling.Seed++
	}
	return answers
}

// A Decision is what was done with a request, and why: by which rule, what was
// observed, and the limit it was compared with.
type Decision struct {
	Time    time.Time `json:"time"`
	Step    uint64    `json:"step"` // steps of the model before it
	Request string    `json:"request"`
	// Action is "wait", "admit", "reuse" (it begins with keys and values that were
	// there), "preempt" (they were freed for another request and are computed
	// again), "resume", "evict" (what it had left when it ended was freed),
	// "finish", "cancel", "fail", "read" (keys and values are read from the disk) or
	// "compute" (what the disk has is computed); "draft" (drafted tokens are verified)
	// or "plain" (they are not).
	Action string `json:"action"`
	Slot   int    `json:"slot,omitempty"`  // 1 and up; 0 = none
	Other  string `json:"other,omitempty"` // request that it was compared with, continues or made room for
	// Rule is what Observed and Limit count: "slots" that run requests; bytes of
	// "memory"; levels of "priority"; tokens given to its client ("share"); tokens
	// of a "prefix"; steps it waited ("arrival"); bytes kept of ended requests
	// ("room"); tokens of its answer ("stop", "length", "caller", "error");
	// microseconds to read and to compute ("cost"); tokens that could not be read
	// ("damage"); nanoseconds that a token is expected to take with drafts and without
	// ("gain"); drafted tokens ("drafts"); images that the draft model does not see
	// ("drafter"; 0 = there is none, or it failed). "state" has no numbers: the model cannot
	// take rejected tokens back.
	Rule     string `json:"rule"`
	Observed int64  `json:"observed"`
	Limit    int64  `json:"limit"`
	Because  string `json:"because"`           // the numbers as a sentence
	Adapter  string `json:"adapter,omitempty"` // of an admitted request; "" = none
	Drafter  string `json:"drafter,omitempty"` // of a decision about drafts: "the draft model"; "" = look-up

	line string
}

// String returns one line: request, action, rule, numbers.
func (d Decision) String() string { return d.line }

// Why returns what was decided about a request, in order. Give requests an
// [Options].ID to ask for them. The last 4096 decisions about all requests are
// kept; "" returns all of them.
func (m *Model) Why(request string) []Decision {
	var out []Decision
	for _, d := range m.engine.Sched.Why(request) {
		out = append(out, Decision{
			Time: d.Time, Step: d.Step, Request: d.Request, Action: d.Action.String(), Slot: d.Slot, Other: d.Other,
			Rule: d.Rule.String(), Observed: d.Observed, Limit: d.Limit, Because: d.Because(), Adapter: d.Adapter, Drafter: d.Drafter, line: d.String(),
		})
	}
	return out
}

// A RequestStatus is where a request is.
type RequestStatus struct {
	Slot    int    `json:"slot"`    // 1 and up; 0 = it waits for one
	Request string `json:"request"` // "" = the slot was not used yet
	// Phase is "waiting" (for a slot), "reading" (its prompt is computed),
	// "decoding", "stalled" (it waits for memory), or "ended": the slot is free, and
	// keeps what it computed for prompts that begin alike.
	Phase    string `json:"phase"`
	Priority int    `json:"priority"`
	Usage    Usage  `json:"usage"`    // so far
	Computed int    `json:"computed"` // tokens whose keys and values are cached
	Limit    int    `json:"limit"`    // tokens that the answer may have
	Adapter  string `json:"adapter,omitempty"`
}

// Requests returns what each of the model's slots does, by its number, and then the
// requests that wait for one, in the order in which they came. It is as of the last
// step, and does not wait for the one in flight.
func (m *Model) Requests() []RequestStatus {
	var out []RequestStatus
	for _, v := range m.engine.Sched.Status() {
		out = append(out, RequestStatus{
			Slot: v.Slot, Request: v.Request, Phase: v.Phase.String(), Priority: v.Priority,
			Usage: Usage{Prompt: v.Prompt, Cached: v.Cached, Answer: v.Answer}, Computed: v.Computed, Limit: v.Limit, Adapter: v.Adapter,
		})
	}
	return out
}

// request returns the part of a request that its options are about.
func (o *Options) request() (sched.Request, error) {
	if o.Priority < -sched.MaxPriority || o.Priority > sched.MaxPriority {
		return sched.Request{}, &ConfigError{"Priority", o.Priority, "-100 to 100"}
	}
	if o.MaxTokens < 0 {
		return sched.Request{}, &ConfigError{"MaxTokens", o.MaxTokens, "0 or more"}
	}
	draft, err := speculation("Speculate", o.Speculate)
	if err != nil {
		return sched.Request{}, err
	}
	return sched.Request{Speculate: draft, ID: o.ID, Priority: o.Priority, Client: o.Client, Sampling: o.Sampling.internal()}, nil
}
