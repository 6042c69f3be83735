package serve

// Tools of MCP servers, which this server calls for its clients.

import (
	"context"
	"encoding/json"
	"time"

	"atenia"
	"atenia/serve/internal/host"
)

// ToolServers are servers with tools, by the names that clients have for them. They are
// used by many goroutines at the same time. A call ends when its context does.
type ToolServers interface {
	// Servers returns the names, sorted.
	Servers() []string
	// ToolsOf returns the tools that a server has now.
	ToolsOf(ctx context.Context, server string) ([]atenia.Tool, error)
	// CallTool calls one. Failed says that the text is what the tool says of its own
	// failure, which the model is told as a result is. An error means that there is no
	// result. One with a method RPCCode() int64 that is not 0 is what the server answered, and
	// its text is told to the client and the model; the text of any other is only logged.
	CallTool(ctx context.Context, server, tool string, args json.RawMessage) (text string, failed bool, err error)
}

// Tools are what a [Server] calls by itself while it answers a request of /v1/responses
// that has tools of the type "mcp". The zero value is none: such requests are refused.
//
// A tool may do anything, and what it returns may be meant to mislead the model. Whether a call
// waits for the client's approval is for Approve and the request to say; every call is in the
// log, in /metrics and in /why/{request}.
type Tools struct {
	// Servers are called by the names that requests have as server_label. nil = none.
	Servers ToolServers
	// Approve says who approves of calls: "request" (a call runs as the request's
	// require_approval says; one that says nothing is asked, as OpenAI does), "always" (the
	// client is asked, whatever the request says), "never" (a call runs unless the request
	// wants to be asked), or names, SERVER or SERVER/TOOL, of what may run as the request
	// says while all else is always asked. None = "request".
	Approve []string
	// Calls is the largest number of calls for one request. 0 = 32.
	Calls int
	// Time is the longest time for one call. 0 = 1 minute.
	Time time.Duration
	// Bytes is the length to which a result is cut, in bytes. 0 = 64 KiB.
	Bytes int
}

func (t *Tools) host() host.Tools {
	h := host.Tools{Approve: t.Approve, Calls: t.Calls, Time: t.Time, Bytes: t.Bytes}
	if t.Servers != nil {
		h.Servers = t.Servers
	}
	return h
}
