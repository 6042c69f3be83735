package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"atenia/internal/fault"
	"atenia/serve/internal/host"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool is a function with its arguments and its result as Go values. The SDK
// has the same with schemas inferred from types, but it reads arguments through
// maps, which loses the order of a schema's properties: the order in which they
// are generated.
type tool[In, Out any] struct {
	name, about   string
	input, output string // JSON Schemas
	call          func(*call, *In) (Out, string, error)
}

// addTool adds a tool. Its result is given twice, as the protocol suggests: as text
// for models, and as structured content for programs.
func addTool[In, Out any](s *Server, t tool[In, Out]) {
	readOnly := &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}
	def := &sdk.Tool{Name: t.name, Description: t.about, InputSchema: json.RawMessage(t.input), OutputSchema: json.RawMessage(t.output), Annotations: readOnly}
	s.sdk.AddTool(def, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res := &sdk.CallToolResult{}
		r := s.begin(ctx, req)
		err := fault.Call(func() error {
			var in In
			if err := readArguments(req.Params.Arguments, &in); err != nil {
				return err
			}
			out, text, err := t.call(&call{Request: r, mcp: req}, &in)
			if err != nil {
				return err
			}
			b, err := json.Marshal(out)
			if err != nil {
				return err
			}
			res.StructuredContent = json.RawMessage(b)
			res.Content = []sdk.Content{&sdk.TextContent{Text: text}}
			return nil
		})
		r.End("/mcp "+t.name, err)
		if err != nil {
			res = &sdk.CallToolResult{}
			res.SetError(s.tell(t.name, err))
		}
		res.Meta = sdk.Meta{}
		res.Meta[requestKey] = r.ID
		return res, nil
	})
}

// requestKey is where a result says its request, whose decisions GET /why/{request} tells.
const requestKey = "atenia/request"

// A call is a call of a tool, which is a request of the host too.
type call struct {
	*host.Request
	mcp *sdk.CallToolRequest
}

// begin makes a request of a call. Over HTTP it has the id of the HTTP request and its
// client; over standard input and output it is the only client.
func (s *Server) begin(ctx context.Context, req *sdk.CallToolRequest) *host.Request {
	id, client := "", "stdio"
	if req.Extra != nil && req.Extra.Header.Get(idHeader) != "" {
		id, client = req.Extra.Header.Get(idHeader), req.Extra.Header.Get(clientHeader)
	}
	return s.cfg.Host.Begin(ctx, id, client)
}

// tell logs a panic, and returns what a client is told of an error.
func (s *Server) tell(tool string, err error) error {
	p, ok := errors.AsType[*fault.Panic](err)
	if !ok {
		s.cfg.Logger.Debug("tool failed", "tool", tool, "error", host.Short(err.Error()))
		return errors.New(host.Short(err.Error()))
	}
	s.cfg.Logger.Error("panic", "tool", tool, "error", p.Error(), "stack", string(p.Stack))
	return fmt.Errorf("%s: internal error, which is not the fault of the call; the server's log has the details", tool)
}

// readArguments reads the arguments of a call. What a tool does not know is an error:
// a model that misspells an argument should learn it.
func readArguments(b json.RawMessage, to any) error {
	if len(b) == 0 {
		b = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("arguments: something follows the object")
	}
	return nil
}
