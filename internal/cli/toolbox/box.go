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
	tools    map[string]remote // by the name that the model knows
}

// A remote is a tool of a server.
type remote struct {
	server  string
	session *sdk.ClientSession
	tool    *sdk.Tool
}

// Open starts or connects to all servers and asks for their tools. One that fails is an
// error. Servers that are started write their messages to errw.
func Open(ctx context.Context, servers map[string]Server, version string, errw io.Writer) (*Box, error) {
	b := &Box{tools: map[string]remote{}}
	client := sdk.NewClient(&sdk.Implementation{Name: "atenia", Title: "Atenia", Version: version}, nil)
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if err := b.connect(ctx, client, name, servers[name].transport(errw)); err != nil {
			return nil, errors.Join(fmt.Errorf("MCP server %q: %w", name, err), b.Close())
		}
	}
	return b, nil
}

// transport returns how a server is spoken to.
func (s Server) transport(errw io.Writer) sdk.Transport {
	if s.URL != "" {
		return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &http.Client{Transport: withHeaders{s.Headers, http.DefaultTransport}}}
	}
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env, cmd.Stderr = cmd.Environ(), errw
	for _, k := range slices.Sorted(maps.Keys(s.Env)) {
		cmd.Env = append(cmd.Env, k+"="+s.Env[k])
	}
	return &sdk.CommandTransport{Command: cmd}
}

// withHeaders adds headers to every request of a transport.
type withHeaders struct {
	headers map[string]string
	http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h.headers {
		r.Header.Set(k, v)
	}
	return h.RoundTripper.RoundTrip(r)
}

func (b *Box) connect(ctx context.Context, client *sdk.Client, name string, t sdk.Transport) error {
	within, cancel := context.WithTimeoutCause(ctx, connectTime, fmt.Errorf("no answer within %v", connectTime))
	defer cancel()
	s, err := client.Connect(within, t, nil)
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
	b.sessions = nil
	return errors.Join(errs...)
}
