package toolbox

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"atenia"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Limits of a box.
const (
	connectTime = 30 * time.Second
	callTime    = 5 * time.Minute
	mostTools   = 512
	mostResult  = 16 << 10 // bytes of a result: some 4,000 tokens, which have to fit the context
)

// A Box is connections to servers and the tools that they have.
type Box struct {
	sessions []*sdk.ClientSession
	gates    []*gate
	tools    map[string]remote // by the name that the model knows
}

// Options are what a box needs besides servers. The zero value asks nobody, and keeps no
// tokens.
type Options struct {
	Version string    // of this program
	Err     io.Writer // for messages of servers that are started, and warnings; nil = none
	Tokens  string    // a file that keeps tokens of OAuth; "" = they are forgotten in the end
	Person  Person
}

// A remote is a tool of a server.
type remote struct {
	server  string
	session *sdk.ClientSession
	tool    *sdk.Tool
}

// Open starts or connects to all servers and asks for their tools. One that fails is an
// error.
func Open(ctx context.Context, servers map[string]Server, o Options) (*Box, error) {
	if o.Err == nil {
		o.Err = io.Discard
	}
	b := &Box{tools: map[string]remote{}}
	tokens := &tokenFile{path: o.Tokens, warn: o.Err}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if err := b.connect(ctx, name, servers[name], tokens, &o); err != nil {
			return nil, errors.Join(fmt.Errorf("MCP server %q: %w", name, err), b.Close())
		}
	}
	return b, nil
}

// transport returns how a server is spoken to. G may be nil.
func (s Server) transport(g *gate, errw io.Writer) sdk.Transport {
	if s.URL != "" {
		t := &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &http.Client{Transport: newWithHeaders(s)}}
		if g != nil {
			t.OAuthHandler = g
		}
		return t
	}
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env, cmd.Stderr = cmd.Environ(), errw
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		cmd.Env = append(cmd.Env, k+"="+s.Env[k])
	}
	return &sdk.CommandTransport{Command: cmd}
}

// withHeaders adds headers to the requests of a transport to one host: what is redirected
// elsewhere must not take the keys along.
type withHeaders struct {
	headers map[string]string
	host    string
	http.RoundTripper
}

func newWithHeaders(s Server) withHeaders {
	u, _ := url.Parse(s.URL) // which was checked
	return withHeaders{s.Headers, u.Host, http.DefaultTransport}
}

// RoundTrip implements [http.RoundTripper].
func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == h.host {
		r = r.Clone(r.Context())
		for k, v := range h.headers {
			r.Header.Set(k, v)
		}
	}
	return h.RoundTripper.RoundTrip(r)
}

func (b *Box) connect(ctx context.Context, name string, server Server, tokens *tokenFile, o *Options) error {
	within, c := newClock(ctx, connectTime, fmt.Errorf("no answer within %v", connectTime))
	defer c.stop()
	var g *gate
	if _, own := server.Headers["Authorization"]; server.URL != "" && !own {
		g = newGate(name, server, o.Person, tokens, c.pause)
		b.gates = append(b.gates, g)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "atenia", Title: "Atenia", Version: o.Version}, o.Person.options(name))
	s, err := client.Connect(within, server.transport(g, o.Err), nil)
	if err != nil {
		return cmp.Or(context.Cause(within), err)
	}
	b.sessions = append(b.sessions, s)
	for tool, err := range s.Tools(within, nil) {
		if err != nil {
			return cmp.Or(context.Cause(within), err)
		}
		if len(b.tools) == mostTools {
			return fmt.Errorf("more than %d tools with those of other servers", mostTools)
		}
		known := tool.Name
		if _, taken := b.tools[known]; taken {
			known = name + "__" + tool.Name
		}
		b.tools[known] = remote{name, s, tool}
	}
	return nil
}

// Tools returns all tools in the order of their names. A name that several servers
// have is that of the first, and SERVER__NAME of the others.
func (b *Box) Tools() []atenia.Tool {
	out := []atenia.Tool{}
	for _, name := range slices.Sorted(maps.Keys(b.tools)) {
		r := b.tools[name]
		schema, err := json.Marshal(r.tool.InputSchema)
		if err != nil || string(schema) == "null" {
			schema = nil
		}
		out = append(out, atenia.Tool{Name: name, Description: r.tool.Description, Parameters: schema})
	}
	return out
}

// Server returns the name of the server that a tool is of, "" if there is no such tool.
func (b *Box) Server(tool string) string { return b.tools[tool].server }

// Call calls a tool and returns its result as text for the model. What the tool says of
// its own failure is a result; an error means that there is none.
func (b *Box) Call(ctx context.Context, name string, args json.RawMessage) (string, error) {
	r, ok := b.tools[name]
	if !ok {
		return "", fmt.Errorf("there is no tool %q", name)
	}
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	within, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("no result within %v", callTime))
	defer cancel()
	res, err := r.session.CallTool(within, &sdk.CallToolParams{Name: r.tool.Name, Arguments: args})
	if err != nil {
		return "", fmt.Errorf("MCP server %q: %w", r.server, cmp.Or(context.Cause(within), err))
	}
	return textOf(res), nil
}

// textOf returns a result as text. Other content is named, since a model that reads text
// cannot see it.
func textOf(res *sdk.CallToolResult) string {
	var s strings.Builder
	if res.IsError {
		s.WriteString("error: ")
	}
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
	text := strings.ToValidUTF8(s.String(), "\uFFFD")
	if len(text) > mostResult {
		return fmt.Sprintf("%s\n[cut: %d of %d bytes]", strings.ToValidUTF8(text[:mostResult], ""), mostResult, len(text))
	}
	return text
}

// Close ends all sessions, and the servers that were started.
func (b *Box) Close() error {
	var errs []error
	for _, s := range b.sessions {
		errs = append(errs, s.Close())
	}
	for _, g := range b.gates {
		errs = append(errs, g.close())
	}
	b.sessions, b.gates = nil, nil
	return errors.Join(errs...)
}
