// Package toolbox has the tools of MCP servers that a configuration names, for a
// model to call (modelcontextprotocol.io).
//
//	{"mcpServers": {
//	  "files":  {"command": "mcp-files", "args": ["/home/me/notes"], "env": {"LOG": "off"}},
//	  "search": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer KEY"}}
//	}}
//
// This is the form that other clients read. A server with a command is started and
// spoken to over its standard input and output; one with a url is connected to over
// streamable HTTP. [Open] does it for all, and a [Box] calls their tools by name until it
// is closed, which ends the servers that it started. A server that ends by itself, or whose
// connection breaks, is started or connected to again when one of its tools is wanted next.
//
// Servers are not trusted: their messages are bounded, what they answer that is no result is
// an [toolError], and no call waits for one longer than its context says.
//
// Whether a call may run is for whoever holds the box to ask: a tool may do anything.
package toolbox
