package dialect

import (
	"fmt"
	"strings"
	"testing"

	"atenia"
)

// TestCalls: calls are sent whole, each when the next begins or the answer ends, and one that
// turns out to be none is left out; the whole answer has the same, and the counts.
func TestOllamaCalls(t *testing.T) {
	part := func(index int, id, name, arguments string, broken bool) atenia.Token {
		return atenia.Token{Call: &atenia.CallPart{Index: index, ID: id, Name: name, Arguments: arguments, Broken: broken}}
	}
	tokens := []atenia.Token{
		{Text: "So: "}, part(0, "a", "look", `{"x"`, false), part(0, "", "", `:1}`, false), part(1, "b", "find", `{}`, false),
		part(2, "c", "none", `{"y":`, false), part(2, "", "", "", true), {Text: "none("},
		part(3, "d", "last", `{"z":3}`, false), {Finish: "stop", Usage: &atenia.Usage{Prompt: 7, Cached: 2, Answer: 9}},
	}
	const want = `So: none(|0 look {"x":1};1 find {};3 last {"z":3}|stop 7 9`
	show := func(calls []ollamaCall) (out []string) {
		for _, c := range calls {
			out = append(out, fmt.Sprintf("%d %s %s", c.Function.Index, c.Function.Name, c.Function.Arguments))
		}
		return out
	}
	whole := &ollamaAnswer{chat: true}
	var text strings.Builder
	var sent []string
	var last ollamaLine
	stream := &ollamaAnswer{chat: true, emit: func(l ollamaLine) error {
		text.WriteString(l.Message.Content)
		sent = append(sent, show(l.Message.ToolCalls)...)
		last = l
		return nil
	}}
	for _, tok := range tokens {
		for _, a := range []*ollamaAnswer{whole, stream} {
			if err := a.add(&tok, false); err != nil {
				t.Fatal(err)
			}
		}
	}
	end := func(l ollamaLine) string {
		return fmt.Sprintf("|%s %d %d", l.DoneReason, l.PromptEvalCount, l.EvalCount)
	}
	if got := text.String() + "|" + strings.Join(sent, ";") + end(last); got != want || !last.Done {
		t.Errorf("the stream is %s, want %s", got, want)
	}
	m := whole.done.Message
	if got := m.Content + "|" + strings.Join(show(m.ToolCalls), ";") + end(whole.done); got != want {
		t.Errorf("the whole is %s, want %s", got, want)
	}
}
