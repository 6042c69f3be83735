package host

// Turns of the system, which templates take in different places.

import (
	"slices"
	"strings"
	"sync"

	"atenia"
)

// systemTurns says where a chat template writes what the system says.
type systemTurns struct {
	once         sync.Once
	first, later bool
}

// of asks the template, once: it writes a turn of the system, or leaves it out, or fails.
func (s *systemTurns) of(m *atenia.Model) (first, later bool) {
	s.once.Do(func() {
		const said = "Be brief."
		writes := func(before ...atenia.Message) bool {
			c := atenia.Conversation{Messages: append(before, atenia.Message{Role: "system", Content: said}, atenia.Message{Role: "user", Content: "Go on."})}
			text, err := m.Render(c)
			return err == nil && strings.Contains(text, said) && strings.Contains(text, "Go on.")
		}
		s.first = writes()
		s.later = writes(atenia.Message{Role: "user", Content: "Hello."}, atenia.Message{Role: "assistant", Content: "Hi."})
	})
	return s.first, s.later
}

// Settle returns the messages of a conversation with those of the system where the model's
// chat template writes them: as they are, or in the first turn if they follow one another
// there, or else at the beginning of the next turn of the user.
func (l *Lease) Settle(messages []atenia.Message) []atenia.Message {
	later := slices.ContainsFunc(messages[min(1, len(messages)):], func(m atenia.Message) bool { return m.Role == "system" })
	if !later && (len(messages) == 0 || messages[0].Role != "system") {
		return messages
	}
	if ok, _ := l.Model.HasChat(); !ok { // which the answer says
		return messages
	}
	atFirst, atLater := l.i.system.of(l.Model)
	if atFirst && (atLater || !later) {
		return messages
	}
	var out []atenia.Message
	var waiting []string // for the next turn of the user
	user := func(m atenia.Message) {
		if n := len(out); n > 0 && len(waiting) > 0 && out[n-1].Role == "user" { // what stood between them is in the second
			m, out = joined(out[n-1], "\n\n"+strings.Join(waiting, "\n\n"), m), out[:n-1]
		} else {
			m = joined(atenia.Message{}, strings.Join(waiting, "\n\n"), m)
		}
		out, waiting = append(out, m), nil
	}
	for i, m := range messages {
		switch {
		case m.Role == "system" && i == 0 && atFirst, m.Role == "system" && i > 0 && atLater:
			out = append(out, m)
		case m.Role == "system" && atFirst && len(out) == 1 && out[0].Role == "system":
			out[0].Content += "\n\n" + m.Text()
		case m.Role == "system":
			waiting = append(waiting, m.Text())
		case m.Role == "user":
			user(m)
		default:
			out = append(out, m)
		}
	}
	if len(waiting) > 0 {
		user(atenia.Message{Role: "user"})
	}
	return out
}

// joined returns one message of the user's with what two say, and a text between them.
func joined(a atenia.Message, between string, b atenia.Message) atenia.Message {
	if between == "" {
		return b
	}
	if b.Parts != nil || b.Content != "" {
		between += "\n\n"
	}
	if a.Parts == nil && b.Parts == nil {
		b.Content = a.Content + between + b.Content
		return b
	}
	parts := func(m *atenia.Message) []atenia.ContentPart {
		if m.Parts == nil && m.Content != "" {
			return []atenia.ContentPart{{Text: m.Content}}
		}
		return m.Parts
	}
	b.Parts = slices.Concat(parts(&a), []atenia.ContentPart{{Text: between}}, parts(&b))
	b.Content = ""
	return b
}
