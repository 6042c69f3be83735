package host

// Tools that the server itself calls: those of MCP servers.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"atenia"

	"go.opentelemetry.io/otel/attribute"
)

// ToolServers are servers with tools, by name.
type ToolServers interface {
	// Servers returns the names, sorted.
	Servers() []string
	// ToolsOf returns the tools that a server has now.
	ToolsOf(ctx context.Context, server string) ([]atenia.Tool, error)
	// CallTool calls one. Failed says that the text is what the tool says of its own
	// failure; an error means that there is no result.
	CallTool(ctx context.Context, server, tool string, args json.RawMessage) (text string, failed bool, err error)
}

// Tools say which tools requests may use, and what calls may take. A zero field is its
// default.
type Tools struct {
	Servers ToolServers   // nil = there are none
	Approve []string      // who approves of calls: one of the words below, or names; none = ByRequest
	Calls   int           // of one request. 0 = 32
	Time    time.Duration // for one call, or for a list. 0 = 1 minute
	Bytes   int           // of a result; more is cut. 0 = 64 KiB
}

// Words of [Tools].Approve.
const (
	ByRequest = "request" // a call runs as the request says, and one that says nothing is asked
	Always    = "always"  // the client is asked, whatever the request says
	Never     = "never"   // a call runs unless the request wants to be asked
)

func (t Tools) withDefaults() Tools {
	t.Calls, t.Time, t.Bytes = cmp.Or(t.Calls, 32), cmp.Or(t.Time, time.Minute), cmp.Or(t.Bytes, 64<<10)
	return t
}

// Check returns what is wrong with Approve: its words stand alone, and names are of servers.
func (t Tools) Check() error {
	for _, a := range t.Approve {
		if a == ByRequest || a == Always || a == Never {
			if len(t.Approve) > 1 {
				return &atenia.ConfigError{Field: "Tools.Approve", Got: a, Want: "it alone, or names"}
			}
			return nil
		}
		server, _, _ := strings.Cut(a, "/")
		if t.Servers != nil && !slices.Contains(t.Servers.Servers(), server) {
			return &atenia.ConfigError{Field: "Tools.Approve", Got: a, Want: "request, always, never, SERVER or SERVER/TOOL of " + strings.Join(t.Servers.Servers(), ", ")}
		}
	}
	return nil
}

// Asks reports whether the client must approve of a call, and by whose rule, "operator" or
// "client". Wants is what the request says: [Always], [Never], or "".
func (t Tools) Asks(server, tool, wants string) (asks bool, rule string) {
	mode := ByRequest
	if len(t.Approve) > 0 {
		if mode = t.Approve[0]; mode != ByRequest && mode != Always && mode != Never {
			mode = Always
			if slices.Contains(t.Approve, server) || slices.Contains(t.Approve, server+"/"+tool) {
				mode = ByRequest
			}
		}
	}
	switch {
	case mode == Always:
		return true, "operator"
	case mode == Never && wants == "":
		return false, "operator"
	}
	return wants != Never, "client"
}

// A ToolDecision is what was done about tools of a server, and why. It has nothing
// that clients, models or tools say.
type ToolDecision struct {
	Time    time.Time `json:"time"`
	Request string    `json:"request"`
	Server  string    `json:"server"`
	Tool    string    `json:"tool,omitempty"`
	// Action is "list" (the server was asked for its tools), "call" (the tool was called),
	// "ask" (the client was asked for approval), "refuse" (it did not approve) or "skip"
	// (the call was not made).
	Action string `json:"action"`
	// Rule is whose decision it was: "client", "operator" (the server's setting), "approval"
	// (the client's answer), or the limit of "calls".
	Rule    string  `json:"rule"`
	Result  string  `json:"result,omitempty"` // of a list or call: "ok", "error" (the tool's own), or "failed"
	Because string  `json:"because,omitempty"`
	Bytes   int     `json:"bytes,omitempty"` // of the result, before it was cut
	Seconds float64 `json:"seconds,omitempty"`
}

// keptDecisions is how many decisions about tools are kept.
const keptDecisions = 4096

// toolLog keeps the last decisions.
type toolLog struct {
	mu   sync.Mutex
	list []ToolDecision // a ring once it is full
	next int
}

func (l *toolLog) add(d ToolDecision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) < keptDecisions {
		l.list = append(l.list, d)
		return
	}
	l.list[l.next] = d
	l.next = (l.next + 1) % keptDecisions
}

// ToolDecisions returns what was decided about tools for a request, the oldest first.
func (h *Host) ToolDecisions(request string) (out []ToolDecision) {
	h.calls.mu.Lock()
	defer h.calls.mu.Unlock()
	for i := range h.calls.list {
		if d := &h.calls.list[(h.calls.next+i)%len(h.calls.list)]; d.Request == request {
			out = append(out, *d)
		}
	}
	return out
}

// Decided records and counts what was done about a tool.
func (r *Request) Decided(d ToolDecision) {
	d.Time, d.Request = time.Now(), r.ID
	r.host.calls.add(d)
	result := cmp.Or(d.Result, d.Action)
	r.host.Metrics.tool(d.Server, d.Action, result, d.Seconds)
	args := []any{"server", d.Server, "tool", d.Tool, "action", d.Action, "rule", d.Rule}
	if d.Result != "" {
		args = append(args, "result", d.Result, "bytes", d.Bytes, "took", time.Duration(d.Seconds*float64(time.Second)))
	}
	if d.Because != "" {
		args = append(args, "because", d.Because)
	}
	r.Log.Info("tool", args...)
}

// Tools returns what requests may use.
func (r *Request) Tools() *Tools { return &r.host.tools }

// unsupportedTools is the header of a response that names the tools which were left out.
const unsupportedTools = "X-Unsupported-Tools"

const (
	mostLeftOut = 32 // names in the header
	longestTool = 64 // bytes
)

// LeaveOut leaves a tool out of a request, which only the service has that the client was made
// for: the response names it in a header, so it must not have begun. A strict server refuses it. Of
// nil, a request that was answered before, nobody is told.
func (r *Request) LeaveOut(at, tool string) error {
	if r == nil {
		return nil
	}
	if r.host.strict {
		return Unsupported(at, "%s is %q, which this server does not have, and it takes no request that offers it (--strict-fields): leave it out", at, tool)
	}
	plain := strings.Map(func(c rune) rune {
		if c <= ' ' || c > '~' || strings.ContainsRune(",;\"", c) {
			return '_'
		}
		return c
	}, tool[:min(len(tool), longestTool)])
	names := r.w.Header().Get(unsupportedTools)
	list := strings.Split(names, ", ")
	switch {
	case names == "":
		names = plain
	case slices.Contains(list, plain) || len(list) >= mostLeftOut:
	default:
		names += ", " + plain
	}
	r.w.Header().Set(unsupportedTools, names)
	r.Log.Info("tool left out", "at", at, "tool", plain)
	return nil
}

// A ToolError says that a tool gave no result. Its text may be told to clients and models.
type ToolError struct {
	Code    int64 // of JSON-RPC
	Message string
	Err     error
}

// Error implements error.
func (e *ToolError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *ToolError) Unwrap() error { return e.Err }

// internalError is JSON-RPC's code for what went wrong within a server.
const internalError = -32603

var errToolTime = errors.New("it took longer than the server allows")

// toolError says what went wrong with a server without what only the operator may know: its
// address or command. The log has that.
func (r *Request) toolError(server string, err error) *ToolError {
	e := &ToolError{Code: internalError, Err: err}
	var said interface{ RPCCode() int64 }
	switch {
	case errors.As(err, &said) && said.RPCCode() != 0:
		e.Code, e.Message = said.RPCCode(), strings.ToValidUTF8(err.Error(), "\uFFFD")
		if len(e.Message) > r.host.tools.Bytes {
			e.Message = strings.ToValidUTF8(e.Message[:r.host.tools.Bytes], "")
		}
	case errors.Is(err, errToolTime):
		e.Message = fmt.Sprintf("MCP server %q gave no result within %v", server, r.host.tools.Time)
	default:
		e.Message = fmt.Sprintf("MCP server %q cannot be reached, or ended or broke the protocol", server)
	}
	return e
}

// ListTools returns the tools that a server has. Its errors are of type *[ToolError], or
// the request's own end.
func (r *Request) ListTools(server string) (list []atenia.Tool, err error) {
	err = r.timed(ToolDecision{Server: server, Action: "list", Rule: "client"}, func(ctx context.Context, d *ToolDecision) (err error) {
		list, err = r.host.tools.Servers.ToolsOf(ctx, server)
		d.Because = fmt.Sprintf("%d tools", len(list))
		return err
	})
	return list, err
}

// CallTool calls a tool and returns its result, cut to the host's limit. Rule is whose decision
// the call is. Its errors are of type *[ToolError], or the request's own end.
func (r *Request) CallTool(server, tool, rule string, args json.RawMessage) (text string, failed bool, err error) {
	err = r.timed(ToolDecision{Server: server, Tool: tool, Action: "call", Rule: rule}, func(ctx context.Context, d *ToolDecision) (err error) {
		text, failed, err = r.host.tools.Servers.CallTool(ctx, server, tool, args)
		d.Bytes = len(text)
		if failed {
			d.Result = "error"
		}
		return err
	})
	if most := r.host.tools.Bytes; len(text) > most {
		text = fmt.Sprintf("%s\n[cut: %d of %d bytes]", strings.ToValidUTF8(text[:most], ""), most, len(text))
	}
	return text, failed, err
}

// timed does something with a server within the time that one call may take, in a span, and
// records it.
func (r *Request) timed(d ToolDecision, f func(context.Context, *ToolDecision) error) error {
	begun := time.Now()
	name := "list_tools " + d.Server
	about := []attribute.KeyValue{attribute.String("mcp.server", d.Server)}
	if d.Action == "call" {
		name = "execute_tool " + d.Tool
		about = append(about, attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", d.Tool), attribute.String("gen_ai.tool.type", "extension"))
	}
	_, err := spanned(r, name, func() (struct{}, error) {
		ctx, cancel := context.WithTimeoutCause(r.Context(), r.host.tools.Time, errToolTime)
		defer cancel()
		err := f(ctx, &d)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return struct{}{}, err
	}, about...)
	d.Seconds, d.Result = time.Since(begun).Seconds(), cmp.Or(d.Result, "ok")
	var told *ToolError
	if err != nil {
		told = r.toolError(d.Server, err)
		d.Result, d.Because = "failed", fmt.Sprintf("code %d", told.Code)
		switch {
		case r.Context().Err() != nil:
			d.Because = "the request ended"
		case errors.Is(err, errToolTime):
			d.Because = "time"
		}
		if told.Code == internalError { // what else a server says may quote the arguments
			r.Log.Warn("MCP server", "server", d.Server, "tool", d.Tool, "err", err)
		}
	}
	r.Decided(d)
	switch {
	case err == nil:
		return nil
	case r.Context().Err() != nil:
		return context.Cause(r.Context())
	}
	return told
}
