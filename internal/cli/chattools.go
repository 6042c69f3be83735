package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/cli/toolbox"

	"github.com/spf13/pflag"
)

// mostRounds bounds how often a model may call tools before it answers: some call the
// same one for ever.
const mostRounds = 8

// toolFlags are the flags of a chat with tools.
type toolFlags struct {
	config string
	yes    bool
}

func (f *toolFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.config, "mcp", "", "offer the model the tools of the MCP servers in a JSON `FILE` (examples/chat/mcp.json is one)")
	fs.BoolVar(&f.yes, "yes", false, "with --mcp: run every call of a tool without asking")
}

// open starts or connects to the servers, and returns nil without --mcp.
func (f *toolFlags) open(ctx context.Context, errw, warn io.Writer, lines *lineReader, ask func(ctx context.Context, prompt string) (string, error)) (*tools, error) {
	if f.config == "" {
		if f.yes {
			return nil, command.Usagef("--yes needs --mcp")
		}
		return nil, nil
	}
	servers, err := toolbox.ReadConfig(f.config)
	if err != nil {
		return nil, err
	}
	info, _ := debug.ReadBuildInfo()
	o := toolbox.Options{Version: versionOf(info).Version, Err: warn, Tokens: tokensFile()}
	if lines.Terminal {
		o.Person = toolbox.Person{Visit: visit(errw), Ask: ask}
	}
	box, err := toolbox.Open(ctx, servers, o)
	if err != nil {
		return nil, err
	}
	return &tools{box: box, list: box.Tools(), yes: f.yes, always: map[string]bool{}, errw: errw}, nil
}

// visit asks the user to log in to an MCP server.
func visit(errw io.Writer) func(ctx context.Context, server, url string) error {
	return func(_ context.Context, server, url string) error {
		fmt.Fprintf(errw, "atenia: MCP server %q wants a login. Open this page in a browser on this machine:\n  %s\n", server, toolbox.Visible(url))
		return nil
	}
}

// tokensFile is where the tokens of logins are kept.
func tokensFile() string {
	dir, err := os.UserConfigDir()
	if err != nil { // a user without one logs in again
		return ""
	}
	return filepath.Join(dir, "atenia", "mcp-tokens.json")
}

// tools are what the model of a chat may call. The zero pointer has none.
type tools struct {
	box    *toolbox.Box
	list   []atenia.Tool
	yes    bool            // nothing is asked
	always map[string]bool // tools that the user allowed for good
	errw   io.Writer       // where calls are shown
}

func (s *tools) offered() []atenia.Tool {
	if s == nil {
		return nil
	}
	return s.list
}

func (s *tools) close() error {
	if s == nil {
		return nil
	}
	return s.box.Close()
}

// warn says if a model cannot know of the tools: its template leaves them out.
func (s *tools) warn(to io.Writer, m *atenia.Model) {
	if s == nil {
		return
	}
	c := atenia.Conversation{Messages: []atenia.Message{{Role: "user", Content: "Hello"}}}
	without, err := m.Render(c)
	if err != nil {
		return // the first question will say so
	}
	c.Tools = s.list
	if with, err := m.Render(c); err == nil && with == without {
		fmt.Fprintln(to, "atenia: warning: the model's chat template has no place for tools; the model does not learn of them")
	}
}

// use shows a call, asks whether it may run, and returns its result for the model.
// Ask reads an answer; nil = nobody can be asked.
func (s *tools) use(ctx context.Context, call atenia.ToolCall, ask func(prompt string) (string, error)) string {
	if s.box.Server(call.Name) == "" {
		return fmt.Sprintf("error: there is no tool %q", call.Name)
	}
	if len(call.Arguments) > 0 && !json.Valid(call.Arguments) {
		return "error: the arguments are no JSON"
	}
	fmt.Fprintf(s.errw, "tool %s of %s: %s\n", toolbox.Visible(call.Name), toolbox.Visible(s.box.Server(call.Name)), toolbox.Visible(string(call.Arguments)))
	if !s.allowed(call.Name, ask) {
		fmt.Fprintln(s.errw, "(not run)")
		return "error: the user did not allow this call"
	}
	result, err := s.box.Call(ctx, call.Name, call.Arguments)
	if err != nil {
		fmt.Fprintf(s.errw, "(%s)\n", toolbox.Visible(err.Error()))
		return "error: " + err.Error()
	}
	fmt.Fprintf(s.errw, "(%d bytes)\n", len(result))
	return result
}

func (s *tools) allowed(name string, ask func(prompt string) (string, error)) bool {
	if s.yes || s.always[name] {
		return true
	}
	if ask == nil {
		fmt.Fprintln(s.errw, "atenia: nobody can be asked; --yes runs calls without asking")
		return false
	}
	for {
		line, err := ask("run it? y, n, always: ")
		if err != nil {
			return false
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true
		case "a", "always":
			s.always[name] = true
			return true
		case "n", "no", "":
			return false
		}
	}
}

// converse answers the conversation, and runs the calls of the model until it answers
// without one. Calls and their results become part of the conversation. An answer that
// was not finished comes with the error.
func (t *talk) converse(ctx context.Context) (said *atenia.Answer, err error) {
	var ask func(string) (string, error)
	if t.lines.Terminal {
		ask = func(prompt string) (string, error) { return t.read(ctx, prompt) }
	}
	for round := 0; ; round++ {
		said, err = t.say(ctx)
		if err != nil || len(said.ToolCalls) == 0 || t.tools == nil {
			return said, err
		}
		if round == mostRounds {
			fmt.Fprintf(t.a.err, "atenia: no answer after %d rounds of calls\n", round)
			said.ToolCalls = nil // which nothing answers
			return said, nil
		}
		t.messages = append(t.messages, said.Message())
		for _, call := range said.ToolCalls {
			result := "error: interrupted"
			if ctx.Err() == nil {
				result = t.tools.use(ctx, call, ask)
			}
			t.messages = append(t.messages, atenia.Message{Role: "tool", ToolCallID: call.ID, Name: call.Name, Content: result})
		}
	}
}
