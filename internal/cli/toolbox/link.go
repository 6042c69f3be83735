package toolbox

// One server of a box: its session, which is made again after it ended, and its tools.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"atenia/internal/fault"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An toolError says that a server gave no result. What a tool says of its own failure is a
// result.
type toolError struct {
	Server string
	Tool   string // "" = the server was connected to, or asked for its tools
	Code   int64  // that the server answered with, as JSON-RPC has them; 0 = it did not answer, or broke the protocol
	Err    error
}

// Error implements error.
func (e *toolError) Error() string {
	if e.Tool == "" {
		return fmt.Sprintf("MCP server %q: %v", e.Server, e.Err)
	}
	return fmt.Sprintf("MCP server %q: tool %q: %v", e.Server, e.Tool, e.Err)
}

// Unwrap returns the cause.
func (e *toolError) Unwrap() error { return e.Err }

// RPCCode returns the code.
func (e *toolError) RPCCode() int64 { return e.Code }

func newError(server, tool string, err error) *toolError {
	e := &toolError{Server: server, Tool: tool, Err: err}
	if said, ok := errors.AsType[*jsonrpc.Error](err); ok && said.Code != rejected {
		e.Code = said.Code
	}
	return e
}

// rejected is what the library says of a request that did not reach the server, or that was
// answered with a status of HTTP.
const rejected = -32005

var errClosed = errors.New("the connections are closed")

// A link is a server.
type link struct {
	name   string
	server Server
	box    *Box
	turn   chan struct{} // whoever fills it may connect and list
	ending fault.Group   // waits for ends of sessions, and calls that nobody waits for
	notice fault.Group   // waits until servers know of calls that nobody waits for

	mu      sync.Mutex
	closed  bool
	session *sdk.ClientSession // nil = none, or it ended
	gate    *gate
	tools   []*sdk.Tool // as they were last listed
	listed  bool        // they are as the server has them
	late    bool        // a call got no result in time: the server may be stuck
}

// await runs f and returns its result, or the cause of ctx's end without waiting for
// f: the library blocks while a server does not read. What f returns after that goes to late.
func await[T any](ctx context.Context, l *link, f func() (T, error), late func(T)) (v T, err error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	var settled atomic.Bool // by f's end or by ctx's, whichever came first
	run := func() {
		var r result
		r.err = fault.Call(func() (err error) { r.v, err = f(); return err })
		if settled.CompareAndSwap(false, true) {
			done <- r
		} else if r.err == nil {
			late(r.v)
		}
	}
	if !l.start(run) {
		return v, errClosed
	}
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		if settled.CompareAndSwap(false, true) {
			return v, context.Cause(ctx)
		}
		r := <-done
		return r.v, r.err
	}
}

// start runs f in a goroutine that close waits for, unless the link is closed.
func (l *link) start(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.ending.Go(f)
	}
	return !l.closed
}

// ready returns the session with the tools that the server has now.
func (l *link) ready(ctx context.Context) (*sdk.ClientSession, []*sdk.Tool, error) {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	within, c := newClock(ctx, connectTime, fmt.Errorf("no answer within %v", connectTime))
	defer c.stop()
	for again := false; ; again = true {
		s, old, err := l.connect(within, c)
		if err != nil {
			return nil, nil, cmp.Or(context.Cause(within), err)
		}
		tools, err := l.list(within, s)
		if err == nil {
			err = l.alive(within, s)
		}
		if err == nil {
			return s, tools, nil
		}
		l.judge(ctx, s, err)
		if !old || again || within.Err() != nil || !isBroken(err) {
			return nil, nil, cmp.Or(context.Cause(within), err)
		}
	}
}

// connect returns the session, and whether it was there before.
func (l *link) connect(ctx context.Context, c *clock) (s *sdk.ClientSession, old bool, err error) {
	l.mu.Lock()
	s, closed, before := l.session, l.closed, l.gate
	l.mu.Unlock()
	switch {
	case closed:
		return nil, false, errClosed
	case s != nil:
		return s, true, nil
	}
	if before != nil {
		_ = before.close() // its listener is not used any more
	}
	var g *gate
	if _, own := l.server.Headers["Authorization"]; l.server.URL != "" && !own {
		g = newGate(l.name, l.server, l.box.o.Person, l.box.tokens, c.pause)
	}
	o := l.box.o.Person.options(l.name)
	o.ToolListChangedHandler = func(context.Context, *sdk.ToolListChangedRequest) { l.changed() }
	client := sdk.NewClient(&sdk.Implementation{Name: "atenia", Title: "Atenia", Version: l.box.o.Version}, o)
	s, err = await(ctx, l, func() (*sdk.ClientSession, error) {
		return client.Connect(ctx, l.server.transport(g, l.box.o.Err), nil)
	}, func(s *sdk.ClientSession) { s.Close() })
	if err != nil {
		if g != nil {
			err = errors.Join(err, g.close())
		}
		return nil, false, err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, false, errors.Join(errClosed, s.Close())
	}
	defer l.mu.Unlock()
	l.session, l.gate, l.listed, l.late = s, g, false, false
	l.ending.Go(func() {
		_ = s.Wait() // why it ended is told to those that wait for results
		l.drop(s)
	})
	return s, false, nil
}

// list returns the tools, and asks for them if they may have changed.
func (l *link) list(ctx context.Context, s *sdk.ClientSession) ([]*sdk.Tool, error) {
	l.mu.Lock()
	tools, listed := l.tools, l.listed
	l.listed = true // unless the server says otherwise from now on
	l.mu.Unlock()
	if listed {
		return tools, nil
	}
	tools, err := await(ctx, l, func() (tools []*sdk.Tool, err error) {
		for tool, err := range s.Tools(ctx, nil) {
			if err != nil {
				return nil, err
			}
			if len(tools) == mostTools {
				return nil, fmt.Errorf("more than %d tools", mostTools)
			}
			if why := unusable(tool); why != "" {
				fmt.Fprintf(l.box.o.Err, "atenia: warning: MCP server %q: tool %q is left out: %s\n", l.name, cut(tool.Name), why)
				continue
			}
			tools = append(tools, tool)
		}
		return tools, nil
	}, func([]*sdk.Tool) {})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.listed = false
		return nil, err
	}
	l.tools = tools
	return tools, nil
}

// errStuck is of the connection: a server that is stuck is started again.
var errStuck = fmt.Errorf("no answer to a ping within %v", pingTime)

// alive asks a server that was late whether it still answers.
func (l *link) alive(ctx context.Context, s *sdk.ClientSession) error {
	l.mu.Lock()
	late := l.late
	l.late = false
	l.mu.Unlock()
	if !late {
		return nil
	}
	within, cancel := context.WithTimeoutCause(ctx, pingTime, errStuck)
	defer cancel()
	_, err := await(within, l, func() (struct{}, error) { return struct{}{}, s.Ping(within, nil) }, func(struct{}) {})
	if _, said := errors.AsType[*jsonrpc.Error](err); said { // if only that it knows no pings
		return nil
	}
	if err != nil && ctx.Err() == nil {
		return cmp.Or(context.Cause(within), err)
	}
	return err
}

// unusable says why a model cannot be told of a tool, "" if it can.
func unusable(t *sdk.Tool) string {
	schema, err := json.Marshal(t.InputSchema)
	switch {
	case t.Name == "" || len(t.Name) > mostName || !utf8.ValidString(t.Name):
		return fmt.Sprintf("want a name of 1 to %d bytes of UTF-8", mostName)
	case err != nil:
		return err.Error()
	case len(schema)+len(t.Description) > mostAbout:
		return fmt.Sprintf("its description and parameters have %d bytes, more than %d", len(schema)+len(t.Description), mostAbout)
	}
	return ""
}

func (l *link) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listed = false
}

// isBroken reports whether an error is of the connection, and not of what was asked.
func isBroken(err error) bool {
	_, said := errors.AsType[*jsonrpc.Error](err)
	return err != nil && !said && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// judge ends a session whose connection is broken, so that the next request makes another.
// One whose caller's context ended is not: others may wait for its results.
func (l *link) judge(ctx context.Context, s *sdk.ClientSession, err error) {
	if ctx.Err() == nil && isBroken(err) {
		l.drop(s)
	}
}

// drop forgets a session and ends it.
func (l *link) drop(s *sdk.ClientSession) {
	l.mu.Lock()
	mine := l.session == s
	if mine {
		l.session, l.listed = nil, false
	}
	l.mu.Unlock()
	if mine {
		l.start(func() { _ = s.Close() }) // which waits for a process to end
	}
}

// call calls a tool. It is sent again only if the server says that it did not run it,
// because it forgot the session.
func (l *link) call(ctx context.Context, tool string, args json.RawMessage) (*sdk.CallToolResult, error) {
	for again := false; ; again = true {
		s, tools, err := l.ready(ctx)
		if err != nil {
			return nil, newError(l.name, "", err)
		}
		if !slices.ContainsFunc(tools, func(t *sdk.Tool) bool { return t.Name == tool }) {
			return nil, &toolError{l.name, tool, jsonrpc.CodeInvalidParams, errors.New("the server has no such tool")}
		}
		n := newNotice()
		res, err := await(ctx, l, func() (*sdk.CallToolResult, error) {
			res, err := s.CallTool(n.within(ctx), &sdk.CallToolParams{Name: tool, Arguments: args})
			if err == nil || !errors.Is(err, ctx.Err()) {
				n.end() // there is nothing to tell
			}
			return res, err
		}, func(*sdk.CallToolResult) {})
		if err == nil {
			return res, nil
		}
		if ctx.Err() != nil && l.server.URL != "" {
			l.tell(n)
		}
		l.judge(ctx, s, err)
		if ctx.Err() == context.DeadlineExceeded {
			l.mu.Lock()
			l.late = true
			l.mu.Unlock()
		}
		if again || ctx.Err() != nil || !errors.Is(err, sdk.ErrSessionMissing) {
			return nil, newError(l.name, tool, cmp.Or(context.Cause(ctx), err))
		}
	}
}

// tell makes close wait until the server was told that a call is cancelled. The library
// tells it in a goroutine of its own, and no more once its session is being closed; many
// servers then let the end of the session wait for that call, for as long as it takes.
func (l *link) tell(n *notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.notice.Go(n.wait)
	}
}

// close ends the session and waits for all that the link started.
func (l *link) close() error {
	l.mu.Lock()
	s, g := l.session, l.gate
	l.closed, l.session, l.gate = true, nil, nil
	l.mu.Unlock()
	l.notice.Wait()
	var err error
	if s != nil {
		err = s.Close()
	}
	if g != nil {
		err = errors.Join(err, g.close())
	}
	l.ending.Wait()
	return err
}
