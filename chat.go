package atenia

import (
	"context"
	"encoding/json"
	"iter"

	"atenia/internal/model/text"
	"atenia/internal/sched"
	"atenia/internal/text/chat"
)

// A Message is one turn of a conversation.
type Message struct {
	Role    string // "system", "user", "assistant", "tool"
	Content string
	// Parts are what the message says instead of Content, if not nil: texts and
	// images in order.
	Parts []ContentPart
	// Reasoning is what the assistant thought before Content. Templates leave out
	// what their models should not read again.
	Reasoning string
	// ToolCalls are the functions that the assistant called in this turn.
	ToolCalls []ToolCall
	// ToolCallID and Name say, in a message of the role "tool", which call Content is
	// the result of: its ID, and the name of the function.
	ToolCallID string
	Name       string
}

// A Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON Schema of an object; nil: no parameters
}

// A ToolCall is a call of a [Tool]. The program runs it and answers with a message of
// the role "tool".
type ToolCall struct {
	ID        string // chosen by whoever made the call; unique in a conversation
	Name      string
	Arguments json.RawMessage // an object; nil: {}
}

// A Document is a text that answers may refer to, for templates that take documents.
type Document struct{ Title, Text string }

// A Conversation is what was said so far. The model answers as the assistant.
type Conversation struct {
	Messages  []Message
	Tools     []Tool
	Documents []Document
	// MustCall makes the answer a call of the tool with this name, or with [AnyTool] of
	// one that the model chooses, with arguments that its Parameters allow; parameters
	// that cannot be enforced in full are a [*GrammarError]. "" = the model decides
	// whether it calls.
	MustCall string
	// OneCall lets the answer have one call: it ends where the model begins a second.
	OneCall bool
	// Continue says that the last message is the beginning of the answer: the model
	// goes on where its content ends.
	Continue bool
	// Raw leaves the answer as the model writes it: all of it is Text, with the marks of
	// its thoughts and calls that are not special tokens.
	Raw bool
	// NoPrompt leaves out the words with which the template asks for an answer, such as
	// the header of the assistant's turn: the model continues the conversation itself.
	NoPrompt bool
	// Variables are further variables of the model's chat template, such as
	// "enable_thinking". Values are strings, numbers, bools, nil, and slices
	// and maps of them.
	Variables map[string]any
	// ParseSpecial lets control tokens, such as <|im_end|>, count that are written in what
	// the conversation says: its messages, tools, documents and variables. Otherwise they
	// are text there, so that nobody whose words come into a conversation can end a turn or
	// begin one of the system's. Control tokens are those that the tokenizer calls special.
	ParseSpecial bool
	Options
}

// Chat answers a conversation, formatted by the model's own chat template. It
// yields tokens as [Model.Generate] does.
//
// A Model keeps no conversation: append the answer to Messages as an "assistant"
// message and call Chat again. Keys and values that are still cached are used
// again, so only new messages are computed. [Model.Reply] does it for those who want the
// answer as a whole.
//
// What the model thinks comes as Reasoning, and calls of Tools as Call, in whichever
// format the model was trained to write them; Options.Stop are looked for in Text alone.
// Without Tools a call is text. What looks like a call and is none is text, too.
//
// A model without a template returns
// [ErrNoTemplate]. [Model.Render] shows the text that the model is given.
func (m *Model) Chat(ctx context.Context, c Conversation) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		r, w, err := m.ask(ctx, &c)
		if err != nil {
			yield(Token{}, err)
			return
		}
		m.run(ctx, r, w, yield)
	}
}

// ask returns what the scheduler is asked for a conversation, and what reads the answer.
func (m *Model) ask(ctx context.Context, c *Conversation) (sched.Request, *text.Writer, error) {
	w, ids, places, err := m.read(ctx, c)
	if err != nil {
		return sched.Request{}, nil, err
	}
	r, err := m.prepare(ctx, ids, places, &c.Options)
	if err != nil {
		w.Close()
		err = c.blame(err)
	}
	return r, w, err
}

// Check returns the error with which [Model.Chat] would refuse a conversation, and how many
// tokens it has. Nothing is generated: use it before something is done for an answer that
// cannot be done twice. What goes wrong later, such as the end of memory, it does not know.
func (m *Model) Check(ctx context.Context, c Conversation) (tokens int, err error) {
	r, w, err := m.ask(ctx, &c)
	if err != nil {
		return 0, err
	}
	w.Close()
	if r.Ended != nil {
		defer r.Ended()
	}
	return len(r.Prompt), publish(m.engine.Sched.Check(&r))
}

// read returns what reads the answer to a conversation, and the conversation's tokens with
// the places of its images.
func (m *Model) read(ctx context.Context, c *Conversation) (*text.Writer, []int32, []sched.Image, error) {
	images, err := c.imagesOf()
	if err != nil {
		return nil, nil, nil, err
	}
	if len(images) > 0 && m.eye == nil { // the template would fail on them first
		return nil, nil, nil, ErrNoImages
	}
	said := 0
	for i := range c.Messages {
		said += len(c.Messages[i].Content)
		for _, p := range c.Messages[i].Parts {
			said += len(p.Text)
		}
	}
	if err := m.tooLong(said); err != nil { // before it is rendered
		return nil, nil, nil, err
	}
	prompt, err := m.prompt(ctx, c)
	if err != nil {
		return nil, nil, nil, err
	}
	begin, named, w, err := m.force(c, prompt.Text)
	if err != nil {
		return nil, nil, nil, err
	}
	if w == nil {
		w = m.reader(c, prompt.Text)
	}
	if prompt.Said != nil { // the name of the tool is somebody's, too
		for _, at := range named {
			prompt.Said = append(prompt.Said, len(prompt.Text)+at)
		}
	}
	ids, places, err := m.see(ctx, prompt.Text+begin, prompt.Said, images, false)
	if err != nil {
		w.Close()
		return nil, nil, nil, err
	}
	return w, ids, places, nil
}

// CountTokens returns how many tokens a conversation has for the model, those
// included that the chat template adds: what [Model.Chat] would report as
// [Usage].Prompt. Use it to see whether a conversation fits before it is answered.
// Images are encoded to be counted, and are not encoded again by Chat.
func (m *Model) CountTokens(ctx context.Context, c Conversation) (int, error) {
	w, ids, _, err := m.read(ctx, &c)
	if err != nil {
		return 0, err
	}
	w.Close()
	return len(ids), nil
}

// Render returns the text that the model's chat template makes of a
// conversation, ending where the assistant's answer begins. It is the text of
// transformers' apply_chat_template, for which add_generation_prompt is set unless
// NoPrompt or Continue is, and continue_final_message is Continue. As a [Prompt] it reads
// control tokens wherever they are written.
func (m *Model) Render(c Conversation) (string, error) {
	r, err := m.prompt(context.Background(), &c)
	return r.Text, err
}

// prompt is Render, which also tells what of the text the conversation said.
func (m *Model) prompt(ctx context.Context, c *Conversation) (chat.Result, error) {
	if m.text.Tokenizer == nil {
		return chat.Result{}, m.textErr
	}
	if m.text.Template == nil {
		if m.textErr != nil {
			return chat.Result{}, m.textErr
		}
		return chat.Result{}, ErrNoTemplate
	}
	r, err := c.render(ctx, m.text.Template, m.text.Vars, m.text.Control())
	return r, publish(err)
}

// HasChat reports whether the model has a chat template that can be run, and
// why not.
func (m *Model) HasChat() (bool, error) {
	if m.text.Tokenizer != nil && m.text.Template != nil {
		return true, nil
	}
	if m.textErr != nil {
		return false, m.textErr
	}
	return false, ErrNoTemplate
}
