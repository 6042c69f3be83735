package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"atenia"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a box.
const (
	connectTime = 30 * time.Second // to start a server or reach it, and to be told its tools
	callTime    = 5 * time.Minute
	pingTime    = time.Second // for a server that did not answer before
	mostTools   = 512
	mostName    = 128      // bytes of a tool's name
	mostAbout   = 64 << 10 // bytes of its description and parameters
	mostResult  = 16 << 10 // bytes of a result: some 4,000 tokens, which have to fit the context
	mostMessage = 16 << 20 // bytes of a message of a server
)

// A Box is connections to servers and the tools that they have. Its methods may be called
// at the same time.
type Box struct {
	o      Options
	tokens *tokenFile
	links  []*link           // by name
	tools  map[string]remote // by the name that the model knows, as they were when the box was opened
}

// Options are what a box needs besides servers. The zero value asks nobody, and keeps no
// tokens.
type Options struct {
	Version string    // of this program
	Err     io.Writer // for messages of servers that are started, and warnings; nil = none
	Tokens  string    // a file that keeps tokens of OAuth; "" = they are forgotten in the end
	Person  Person
	// Lazy connects to a server when one of its tools is wanted first, for programs that must
	// run whether or not it answers. [Box.Tools] and [Box.Call] then know of no tools.
	Lazy bool
}

// A remote is a tool of a server.
type remote struct {
	link *link
	tool *sdk.Tool
}

// Open starts or connects to all servers and asks for their tools. One that fails is an
// error. A server that ends later is started or connected to again when it is wanted.
func Open(ctx context.Context, servers map[string]Server, o Options) (*Box, error) {
	if o.Err == nil {
		o.Err = io.Discard
	}
	b := &Box{o: o, tools: map[string]remote{}, tokens: &tokenFile{path: o.Tokens, warn: o.Err}}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		l := &link{name: name, server: servers[name], box: b, turn: make(chan struct{}, 1)}
		b.links = append(b.links, l)
		if o.Lazy {
			continue
		}
		if err := b.know(ctx, l); err != nil {
			return nil, errors.Join(newError(name, "", err), b.Close())
		}
	}
	return b, nil
}

// know names the tools of a server.
func (b *Box) know(ctx context.Context, l *link) error {
	_, tools, err := l.ready(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if len(b.tools) == mostTools {
			return fmt.Errorf("more than %d tools with those of other servers", mostTools)
		}
		known := tool.Name
		if _, taken := b.tools[known]; taken {
			known = l.name + "__" + tool.Name
		}
		b.tools[known] = remote{l, tool}
	}
	return nil
}

// Servers returns the names of all servers, sorted.
func (b *Box) Servers() []string {
	var names []string
	for _, l := range b.links {
		names = append(names, l.name)
	}
	return names
}

// ToolsOf returns the tools that a server has now, in its order and by its names.
// Its errors are of type *[toolError], or ctx's.
func (b *Box) ToolsOf(ctx context.Context, server string) ([]atenia.Tool, error) {
	l, err := b.link(server)
	if err != nil {
		return nil, err
	}
	_, tools, err := l.ready(ctx)
	if err != nil {
		return nil, newError(server, "", err)
	}
	var out []atenia.Tool
	for _, t := range tools {
		out = append(out, described(t.Name, t))
	}
	return out, nil
}

// CallTool calls a tool of a server and returns its result as text, of whatever length.
// Failed says that the text is what the tool says of its own failure. An error, of type
// *[toolError], means that there is no result. How long it may take is for ctx to say.
func (b *Box) CallTool(ctx context.Context, server, tool string, args json.RawMessage) (text string, failed bool, err error) {
	l, err := b.link(server)
	if err != nil {
		return "", false, err
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	res, err := l.call(ctx, tool, args)
	if err != nil {
		return "", false, err
	}
	return textOf(res), res.IsError, nil
}

func (b *Box) link(server string) (*link, error) {
	for _, l := range b.links {
		if l.name == server {
			return l, nil
		}
	}
	return nil, &toolError{Server: server, Err: errors.New("there is no such server")}
}

func described(name string, t *sdk.Tool) atenia.Tool {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || string(schema) == "null" {
		schema = nil
	}
	return atenia.Tool{Name: name, Description: strings.ToValidUTF8(t.Description, "\uFFFD"), Parameters: schema}
}

// Tools returns all tools in the order of their names. A name that several servers
// have is that of the first, and SERVER__NAME of the others.
func (b *Box) Tools() []atenia.Tool {
	out := []atenia.Tool{}
	for _, name := range slices.Sorted(maps.Keys(b.tools)) {
		out = append(out, described(name, b.tools[name].tool))
	}
	return out
}

// Server returns the name of the server that a tool is of, "" if there is no such tool.
func (b *Box) Server(tool string) string {
	if r, ok := b.tools[tool]; ok {
		return r.link.name
	}
	return ""
}

// Call calls a tool and returns its result as text for the model, cut at 16 KiB. What the
// tool says of its own failure is a result; an error means that there is none.
func (b *Box) Call(ctx context.Context, name string, args json.RawMessage) (string, error) {
	r, ok := b.tools[name]
	if !ok {
		return "", fmt.Errorf("there is no tool %q", name)
	}
	within, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no result within %v", callTime))
	defer cancel()
	text, failed, err := b.CallTool(within, r.link.name, r.tool.Name, args)
	if err != nil {
		return "", err
	}
	if failed {
		text = "error: " + text
	}
	if len(text) > mostResult {
		return fmt.Sprintf("%s\n[cut: %d of %d bytes]", strings.ToValidUTF8(text[:mostResult], ""), mostResult, len(text)), nil
	}
	return text, nil
}

// textOf returns a result as text. Other content is named, since a model that reads text
// cannot see it.
func textOf(res *sdk.CallToolResult) string {
	var s strings.Builder
	for i, c := range res.Content {
		if i > 0 {
			s.WriteString("\n")
		}
		switch c := c.(type) {
		case *sdk.TextContent:
			s.WriteString(c.Text)
		case *sdk.ImageContent:
			fmt.Fprintf(&s, "[image, %s, %d bytes]", c.MIMEType, len(c.Data))
		case *sdk.AudioContent:
			fmt.Fprintf(&s, "[sound, %s, %d bytes]", c.MIMEType, len(c.Data))
		case *sdk.ResourceLink:
			fmt.Fprintf(&s, "[%s: %s]", c.Name, c.URI)
		case *sdk.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				s.WriteString(c.Resource.Text)
			} else if c.Resource != nil {
				fmt.Fprintf(&s, "[%s, %d bytes]", c.Resource.URI, len(c.Resource.Blob))
			}
		}
	}
	return strings.ToValidUTF8(s.String(), "\uFFFD")
}

// Close ends all sessions, and the servers that were started.
func (b *Box) Close() error {
	var errs []error
	for _, l := range b.links {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}
