package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// lines passes on the lines of a client that are messages, and answers others with an
// error (JSON-RPC 2.0, section 5.1). The SDK would end the session: one wrong line would
// be the end of an agent's tools.
type lines struct {
	io.Closer
	in  *bufio.Reader
	out io.Writer
	buf []byte // what is left of a line
}

func newLines(r io.ReadCloser, w io.Writer) *lines {
	return &lines{Closer: r, in: bufio.NewReaderSize(r, 64<<10), out: w}
}

// Read implements [io.Reader].
func (l *lines) Read(p []byte) (int, error) {
	for len(l.buf) == 0 {
		line, err := l.line()
		if problem := check(line); problem != nil {
			if _, err := l.out.Write(problem); err != nil {
				return 0, err
			}
			line = nil
		}
		if len(line) > 0 {
			l.buf = append(line, '\n')
		} else if err != nil {
			return 0, err
		}
	}
	n := copy(p, l.buf)
	l.buf = l.buf[n:]
	return n, nil
}

// line reads a line without its end. Of one that is too long it returns as much as
// shows that.
func (l *lines) line() (line []byte, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part[:min(len(part), maxBody+2-min(len(line), maxBody+2))]...)
		if err != bufio.ErrBufferFull {
			return bytes.TrimSpace(line), err
		}
	}
}

// check returns the answer to a line that is no message, nil to others.
func check(line []byte) []byte {
	var code int
	var text string
	switch {
	case len(line) == 0:
		return nil
	case len(line) > maxBody:
		code, text = jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message may have %d bytes", maxBody)
	case !json.Valid(line):
		code, text = jsonrpc.CodeParseError, "a line that is no JSON"
	default:
		err := message(line)
		if err == nil {
			return nil
		}
		code, text = jsonrpc.CodeInvalidRequest, err.Error()
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text}})
	if err != nil {
		return nil
	}
	return append(b, '\n')
}

// message checks a message, or a batch of messages, which the SDK knows from old versions.
func message(line []byte) error {
	batch := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &batch); err != nil {
			return err
		}
		if len(batch) == 0 {
			return errors.New("a batch without messages")
		}
	}
	seen := map[any]bool{}
	for _, m := range batch {
		decoded, err := jsonrpc.DecodeMessage(m)
		if err != nil {
			return err
		}
		if r, ok := decoded.(*jsonrpc.Request); ok && r.ID.IsValid() {
			if seen[r.ID.Raw()] {
				return fmt.Errorf("two requests of a batch have the id %v", r.ID.Raw())
			}
			seen[r.ID.Raw()] = true
		}
	}
	return nil
}

// A shared writer takes whole messages of several goroutines.
type shared struct {
	io.WriteCloser
	mu sync.Mutex
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.WriteCloser.Write(b)
}
