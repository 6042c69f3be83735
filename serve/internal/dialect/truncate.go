package dialect

// What a conversation that is longer than the context loses: truncation of responses.

import (
	"errors"
	"math"
	"sort"

	"atenia"
	"atenia/serve/internal/host"
)

// checkTruncation refuses what is neither of the two values.
func (in *respondRequest) checkTruncation() error {
	switch in.Truncation {
	case "":
		in.Truncation = "disabled"
	case "auto", "disabled":
	default:
		return host.Invalid("truncation", "truncation is %q, want auto or disabled", in.Truncation)
	}
	return nil
}

// truncate leaves out the oldest of a conversation's messages, if that is wanted, as few as
// leave room for the answer: max_output_tokens, but no more than half of the context. Turns
// go whole; of the last one its question stays, and what follows goes in steps, each a call
// with its results. Messages of the system stay. If that is not enough, nothing goes, and
// the model says what is too long.
func (in *respondRequest) truncate(r *host.Request, m *atenia.Model, c *atenia.Conversation) {
	if in.Truncation != "auto" {
		return
	}
	room := 1
	if most := in.most(); most != nil {
		room = min(max(*most, 1), m.Context()/2)
	}
	step, steps := ages(c.Messages)
	after := func(n int) []atenia.Message {
		var left []atenia.Message
		for i := range c.Messages {
			if step[i] >= n {
				left = append(left, c.Messages[i])
			}
		}
		return left
	}
	var failed error
	fits := func(n int) bool {
		short := *c
		short.Messages = after(n)
		length, err := m.CountTokens(r.Context(), short)
		if _, long := errors.AsType[*atenia.ContextError](err); err != nil && !long {
			failed = err // Chat finds the same, and says whose fault it is
			return true
		}
		return err == nil && length+room <= m.Context()
	}
	if fits(0) { // as most do
		return
	}
	n := 1 + sort.Search(steps, func(i int) bool { return failed != nil || fits(i+1) })
	if failed != nil || n > steps {
		return
	}
	left := after(n)
	r.Log.Info("input truncated", "messages", len(c.Messages), "left", len(left))
	c.Messages = left
}

// ages returns for each message the step with which it goes, and how many steps there are.
// The last step is never one of them: what is answered stays with its call.
func ages(messages []atenia.Message) (step []int, steps int) {
	question := 0
	for i, m := range messages {
		if m.Role == "user" {
			question = i
		}
	}
	const stays = math.MaxInt
	step = make([]int, len(messages))
	open := false // the step that counts has a message
	for i, m := range messages {
		if begins := i < question && m.Role == "user" || i > question && m.Role != "tool"; begins && open {
			steps, open = steps+1, false
		}
		if m.Role == "system" || i == question {
			step[i] = stays
		} else {
			step[i], open = steps, true
		}
	}
	if open && question == len(messages)-1 {
		steps++
	}
	for i := question + 1; i < len(messages); i++ {
		if step[i] == steps {
			step[i] = stays
		}
	}
	return step, steps
}
