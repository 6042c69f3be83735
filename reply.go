package atenia

import (
	"context"
	"encoding/json"
	"iter"
)

// An Answer is all of what a model generated.
type Answer struct {
	Text      string
	Reasoning string     // what the model thought before; see [Token]
	ToolCalls []ToolCall // calls of the conversation's tools, which the program answers
	Finish    string     // "stop" or "length", as of the last [Token]
	Stop      string     // the stop string that ended it
	Usage     Usage
	Tokens    []Token // as they came, if Sampling.LogProbs is set
}

// Message returns the answer as a message, to go on with the conversation.
func (a *Answer) Message() Message {
	return Message{Role: "assistant", Content: a.Text, Reasoning: a.Reasoning, ToolCalls: a.ToolCalls}
}

// Reply answers a conversation as [Model.Chat] does and returns the answer as a whole.
//
// If ToolCalls is not empty, the model waits for results: run the functions, append
// [Answer.Message] and for each call a message of the role "tool" with its ToolCallID
// to the conversation, and call Reply again.
//
// An error comes with what was generated before it.
func (m *Model) Reply(ctx context.Context, c Conversation) (*Answer, error) {
	return gather(m.Chat(ctx, c), c.Sampling.LogProbs > 0)
}

// Complete continues a prompt as [Model.Generate] does and returns the continuation as
// a whole. An error comes with what was generated before it.
func (m *Model) Complete(ctx context.Context, p Prompt) (*Answer, error) {
	return gather(m.Generate(ctx, p), p.Sampling.LogProbs > 0)
}

// gather puts the tokens of an answer together.
func gather(tokens iter.Seq2[Token, error], keep bool) (*Answer, error) {
	a := &Answer{}
	for t, err := range tokens {
		if err != nil {
			return a, err
		}
		a.Add(t)
		if t.Finish == "" && keep {
			a.Tokens = append(a.Tokens, t)
		}
	}
	return a, nil
}

// Add puts the next token to the answer, for a program that shows tokens as they come and
// wants the whole at the end. Tokens are not kept.
func (a *Answer) Add(t Token) {
	a.Text += t.Text
	a.Reasoning += t.Reasoning
	if t.Call != nil {
		a.call(t.Call)
	}
	if t.Finish != "" {
		a.Finish, a.Stop = t.Finish, t.Stop
	}
	if t.Usage != nil {
		a.Usage = *t.Usage
	}
}

// call adds a part of a call.
func (a *Answer) call(p *CallPart) {
	if p.Name != "" {
		a.ToolCalls = append(a.ToolCalls, ToolCall{ID: p.ID, Name: p.Name, Arguments: json.RawMessage{}})
	}
	n := len(a.ToolCalls) - 1
	last := &a.ToolCalls[n]
	if last.Arguments = append(last.Arguments, p.Arguments...); p.Broken {
		a.ToolCalls = a.ToolCalls[:n]
	}
}
