package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"slices"
	"strings"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/place"

	"github.com/spf13/cobra"
)

func (a *app) chat() *cobra.Command {
	mf := modelFlags{learns: true}
	var sf samplingFlags
	var system string
	var special bool
	var tf toolFlags
	var th thinking
	c := &cobra.Command{
		Use:         "chat [MODEL]",
		Annotations: command.Patient,
		Short:       "Chat with a model",
		Long: "Chat with a model in the terminal, through its own chat template. Ctrl-C stops an answer but not the\n" +
			"program; /help lists the commands. Input from a pipe is answered line by line. What a model thinks\n" +
			"before it answers is dimmed in a terminal, and is not printed elsewhere; --json has it.\n\n" +
			"With --mcp the model can call the tools of MCP servers. Each call is shown, and runs when it is allowed.\n\n" + checkpointHelp + samplingHelp,
		Example: "  atenia chat\n" +
			"  atenia chat model.gguf --system \"Answer in one sentence.\"\n" +
			"  atenia chat model.gguf --mcp mcp.json",
		Args: cobra.MaximumNArgs(1),
	}
	mf.registerKeeping(c.Flags())
	sf.register(c.Flags())
	c.Flags().StringVar(&system, "system", "", "system prompt")
	c.Flags().BoolVar(&special, "parse-special", false, "let control tokens such as <|im_end|> count that messages have; otherwise they are text there")
	tf.register(c.Flags())
	th.register(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		variables, err := th.variables()
		if err != nil {
			return err
		}
		m, err := mf.open(c.Context(), a.env().Err, optionalModel(args))
		if err != nil {
			return err
		}
		defer mf.finish(a, m, &err)
		if ok, err := m.HasChat(); !ok {
			if m.Plan().Command() != "run" {
				return err
			}
			return fmt.Errorf("%w; \"atenia run\" continues plain text", err)
		}
		o, err := sf.options(m)
		if err != nil {
			return err
		}
		t := &talk{a: a, m: m, chat: m.Chat, opt: o, variables: variables, special: special, system: system, lines: newLineReader(a.in, a.out)}
		if t.tools, err = tf.open(c.Context(), a.err, a.env().Err, t.lines, t.read); err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, t.tools.close()) }()
		t.tools.warn(a.env().Err, m)
		t.reset()
		return t.loop(c.Context())
	}
	return c
}

// A talk is one conversation in the terminal, or with a pipe.
type talk struct {
	a        *app
	m        *atenia.Model
	opt      atenia.Options
	system   string
	lines    *lineReader
	messages []atenia.Message

	chat      func(context.Context, atenia.Conversation) iter.Seq2[atenia.Token, error] // of m
	tools     *tools                                                                    // nil = there are none
	variables map[string]any                                                            // of the template
	special   bool                                                                      // messages may have control tokens
	thinks    bool                                                                      // reasoning is being printed
}

func (t *talk) reset() {
	t.messages = nil
	if t.system != "" {
		t.messages = append(t.messages, atenia.Message{Role: "system", Content: t.system})
	}
}

// note prints a message that is not part of an answer, to a terminal only.
func (t *talk) note(format string, args ...any) {
	if t.lines.Terminal {
		fmt.Fprintf(t.a.err, format+"\n", args...)
	}
}

// read reads a line after a prompt. A signal ends it and restores the terminal.
func (t *talk) read(ctx context.Context, prompt string) (string, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	type read struct {
		line string
		err  error
	}
	done := make(chan read, 1)
	go func() {
		var r read
		r.err = command.Guard(func() (err error) {
			r.line, err = t.lines.Read(prompt)
			return err
		})
		done <- r
	}()
	select {
	case r := <-done:
		return r.line, r.err
	case s := <-signals:
		t.lines.Abandon()
		return "", &interruption{s}
	case <-ctx.Done():
		t.lines.Abandon()
		return "", context.Cause(ctx)
	}
}

// loop reads lines until the end of input or /bye.
func (t *talk) loop(ctx context.Context) error {
	t.a.talking.Store(t.lines.Terminal)
	t.note("%s (%s, %s of context). /help for help, Ctrl-D to leave.", cmp.Or(t.m.Path(), place.Embedded), t.m.Family(), spelling.Count(t.m.Context(), "token"))
	for {
		line, err := t.read(ctx, "> ")
		switch {
		case errors.Is(err, errInterrupted):
			t.note("(Ctrl-D or /bye to leave)")
			continue
		case err == io.EOF:
			t.note("")
			return nil
		case err != nil:
			return err
		}
		leave, err := t.take(ctx, strings.TrimSpace(line))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !t.lines.Terminal:
			return err
		case err != nil:
			t.note("atenia: %v", err)
		case leave:
			return nil
		}
	}
}

const chatHelp = `/bye            leave
/clear          clear the conversation
/system [TEXT]  set the system prompt and clear the conversation
/undo           remove the last question and its answer
/retry          answer the last question again
/history        print the conversation
/help           print this help

Ctrl-C stops an answer, or discards the line. Arrow keys edit the line and
recall earlier ones. A paste of several lines is one message.`

// take executes one line and reports whether to leave.
func (t *talk) take(ctx context.Context, line string) (leave bool, err error) {
	name, rest, _ := strings.Cut(line, " ")
	switch {
	case line == "":
		return false, nil
	case line[0] != '/' || strings.ContainsAny(name, "\n"):
		return false, t.answer(ctx, line)
	}
	switch name {
	case "/bye", "/exit", "/quit":
		return true, nil
	case "/clear":
		t.reset()
	case "/system":
		t.system = strings.TrimSpace(rest)
		t.reset()
	case "/undo":
		if t.undo() == "" {
			t.note("nothing to undo")
		}
	case "/retry":
		question := t.undo()
		if question == "" {
			t.note("no question to answer again")
			return false, nil
		}
		t.opt.Sampling.Seed = randomSeed()
		return false, t.answer(ctx, question)
	case "/history":
		for _, m := range t.messages {
			fmt.Fprintf(t.a.out, "%s: %s\n", m.Role, m.Content)
		}
	case "/help", "/?":
		fmt.Fprintln(t.a.err, chatHelp)
	default:
		return false, command.Usagef("no command %s; /help lists them", name)
	}
	return false, nil
}

// undo forgets the last exchange and returns its question.
func (t *talk) undo() string {
	for i := len(t.messages) - 1; i >= 0; i-- {
		if t.messages[i].Role == "user" {
			question := t.messages[i].Content
			t.messages = t.messages[:i]
			return question
		}
	}
	return ""
}

// forget drops the oldest question and what followed it, up to the next one.
// The last question stays.
func (t *talk) forget() bool {
	isQuestion := func(m atenia.Message) bool { return m.Role == "user" }
	first := slices.IndexFunc(t.messages, isQuestion)
	if first < 0 {
		return false
	}
	n := slices.IndexFunc(t.messages[first+1:], isQuestion)
	if n < 0 {
		return false
	}
	t.messages = slices.Delete(t.messages, first, first+1+n)
	return true
}

// fit removes the oldest messages until enough of the context is free for the
// answer.
func (t *talk) fit() error {
	const reserved = 4 // a quarter
	for forgot := false; ; forgot = true {
		text, err := t.m.Render(atenia.Conversation{Messages: t.messages, Tools: t.tools.offered(), Variables: t.variables})
		if err != nil {
			return err
		}
		ids, err := t.m.Tokenize(text)
		if err != nil {
			return err
		}
		if len(ids) <= t.m.Context()-t.m.Context()/reserved || !t.forget() {
			if forgot {
				t.note("(the oldest messages no longer fit the context and were removed)")
			}
			return nil
		}
	}
}

// answer generates and prints an answer. In a terminal Ctrl-C ends the answer;
// the text so far remains in the conversation.
func (t *talk) answer(ctx context.Context, question string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	before := slices.Clone(t.messages)
	t.messages = append(t.messages, atenia.Message{Role: "user", Content: question})
	err := t.fit()
	said := &atenia.Answer{}
	if err == nil {
		said, err = t.converse(ctx)
	}
	if ctx.Err() != nil && t.lines.Terminal {
		said.Finish, said.ToolCalls, err = "interrupted", nil, nil // a call may have been cut off
	}
	if err != nil {
		t.messages = before // the question was not answered
		return err
	}
	t.messages = append(t.messages, said.Message())
	if t.a.json {
		out := map[string]string{"role": "assistant", "content": said.Text, "finish": said.Finish}
		if said.Reasoning != "" {
			out["reasoning"] = said.Reasoning
		}
		return t.a.printJSON(out)
	}
	if _, err := fmt.Fprintln(t.a.out); err != nil {
		return err
	}
	if said.Finish == "length" {
		t.note("(the answer reached its maximum length)")
	}
	return nil
}

// say generates the answer to the conversation, or as much as came before the error. It
// returns as soon as ctx ends; the model may need longer to notice, since it computes a
// long question in large steps.
func (t *talk) say(ctx context.Context) (*atenia.Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer t.bright("")
	said := &atenia.Answer{}
	type event struct {
		tok atenia.Token
		err error
	}
	events := make(chan event)
	c := atenia.Conversation{Messages: slices.Clone(t.messages), Tools: t.tools.offered(), Variables: t.variables, ParseSpecial: t.special, Options: t.opt}
	go func() {
		defer close(events)
		send := func(e event) bool {
			select {
			case events <- e:
				return true
			case <-ctx.Done():
				return false
			}
		}
		err := command.Guard(func() error {
			for tok, err := range t.chat(ctx, c) {
				if !send(event{tok, err}) {
					break
				}
			}
			return nil
		})
		if err != nil {
			send(event{err: err})
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return said, ctx.Err()
		case e, more := <-events:
			if !more || e.err != nil {
				return said, e.err
			}
			said.Add(e.tok)
			if !t.a.json {
				if err := t.print(e.tok); err != nil {
					return said, err
				}
			}
		}
	}
}
