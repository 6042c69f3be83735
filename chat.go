package atenia

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"regexp"
	"strconv"
	"strings"

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
		m.run(ctx, r, &c.Options, w, yield)
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

// PromptTokens returns the tokens that [Model.Chat] would give the model of a conversation: see
// [Model.Verify]. Images are an error.
func (m *Model) PromptTokens(ctx context.Context, c Conversation) ([]int32, error) {
	w, ids, places, err := m.read(ctx, &c)
	if err != nil {
		return nil, err
	}
	w.Close()
	if len(places) > 0 {
		return nil, &ConfigError{"Receipt", nil, "a prompt without images"}
	}
	return ids, nil
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

// ChatTemplate returns the source of the model's chat template, in Jinja; "" if it has none.
func (m *Model) ChatTemplate() string {
	if m.text.Template == nil {
		return ""
	}
	return m.text.Template.Source()
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

// AnyTool is the [Conversation].MustCall that leaves the choice of a tool to the model.
const AnyTool = "*"

// force makes the answer to a conversation a call, if it must be one: it sets the schema
// of what the model writes, and returns what follows the prompt, where in that the name
// of a tool stands, and what reads the answer; "" and nil if the model decides.
func (m *Model) force(c *Conversation, prompt string) (begin string, named []int, w *text.Writer, err error) {
	if c.MustCall == "" {
		return "", nil, nil, nil
	}
	tools := c.callable()
	switch {
	case len(tools) == 0:
		return "", nil, nil, &ConfigError{"MustCall", c.MustCall, "AnyTool or the name of one of Tools"}
	case c.Schema != nil || c.Grammar != "":
		return "", nil, nil, &ConfigError{"MustCall", c.MustCall, "no schema or grammar beside it: the call follows its tool's parameters"}
	case c.Raw || c.Continue || c.NoPrompt:
		return "", nil, nil, &ConfigError{"MustCall", c.MustCall, "an answer that is neither raw nor continued, and has a prompt"}
	}
	name := ""
	if len(tools) == 1 {
		name = tools[0].Name
	}
	f := m.text.Answers.Force(prompt, name)
	if f.Arguments {
		c.Schema = parameters(&tools[0])
	} else {
		c.Schema = callSchema(tools, f.Key)
	}
	if f.NameAt > 0 {
		for i := range name {
			named = append(named, f.NameAt+i)
		}
	}
	return f.Begin, named, m.text.Forced(f, schemasOf(tools), newCallID), nil
}

// callable returns the tools of which one must be called.
func (c *Conversation) callable() (tools []Tool) {
	for _, t := range c.Tools {
		if c.MustCall == AnyTool || c.MustCall == t.Name {
			tools = append(tools, t)
		}
	}
	return tools
}

// blame says of which tool a schema is wrong that force made, by pointers into its parameters.
func (c *Conversation) blame(err error) error {
	e, ok := errors.AsType[*GrammarError](err)
	tools := c.callable()
	if !ok || c.MustCall == "" || len(tools) == 0 {
		return err
	}
	told := *e
	told.Tool = AnyTool
	if len(tools) == 1 {
		told.Tool = tools[0].Name
	}
	if len(tools) > 1 || !bytes.Equal(c.Schema, parameters(&tools[0])) {
		// /anyOf/NUMBER/properties/KEY is where the parameters are
		told.Pointer = ""
		if parts := strings.SplitN(e.Pointer, "/", 6); len(parts) >= 5 {
			if i, err := strconv.Atoi(parts[2]); err == nil && i < len(tools) {
				told.Tool = tools[i].Name
			}
			if len(parts) == 6 {
				told.Pointer = "/" + parts[5]
			}
		}
	}
	return &told
}

// parameters returns the schema of a tool's arguments, which are an object.
func parameters(t *Tool) json.RawMessage {
	if t.Parameters == nil {
		return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	var says map[string]json.RawMessage
	if json.Unmarshal(t.Parameters, &says) != nil { // the compiler of schemas says why
		return t.Parameters
	}
	for _, key := range []string{"type", "$ref", "anyOf", "oneOf", "allOf", "const", "enum"} {
		if says[key] != nil {
			return t.Parameters
		}
	}
	// Without any of these a schema allows values of all types.
	rest := bytes.TrimPrefix(bytes.TrimSpace(t.Parameters), []byte("{"))
	if len(says) > 0 {
		rest = append([]byte(","), rest...)
	}
	return append([]byte(`{"type":"object"`), rest...)
}

// ownRef is a reference within a schema.
var ownRef = regexp.MustCompile(`("\$ref"\s*:\s*"#)`)

// callSchema returns the schema of an object with the name of a tool and, named by key,
// its arguments.
func callSchema(tools []Tool, key string) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"anyOf":[`)
	for i := range tools {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(tools[i].Name)
		at := "${1}/anyOf/" + strconv.Itoa(i) + "/properties/" + key
		p := ownRef.ReplaceAll(parameters(&tools[i]), []byte(at))
		b.WriteString(`{"type":"object","properties":{"name":{"const":` + string(name) + `},"` + key + `":`)
		b.Write(p)
		b.WriteString(`},"required":["name","` + key + `"],"additionalProperties":false}`)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

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
