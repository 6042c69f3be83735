package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"atenia"
	"atenia/serve/internal/host"
)

// Limits of a message, beside its size.
const (
	mostID       = 128 // bytes
	mostMessages = 4096
)

// A request is a message of a client. One that generates has a prompt, or what the body of
// /v1/chat/completions has: messages, tools, response_format and what shapes an answer.
type request struct {
	Type string `json:"type"` // generate, cancel or ping
	ID   string `json:"id"`

	Prompt *string `json:"prompt"` // instead of messages
	Chat
}

// Codes of errors.
const (
	codeBad    = "bad_request"   // the message is wrong; the same one will fail again
	codeMissed = "unknown_id"    // cancel: no request of that id is running
	codeModel  = "unknown_model" // or it cannot be loaded
	codeBusy   = "too_many_requests"
	codeClosed = "shutting_down"
	codeFault  = "internal_error"
)

// A reply is a message of the server.
type reply struct {
	Type    string `json:"type"` // token, end, error or pong
	ID      string `json:"id,omitempty"`
	Text    string `json:"text,omitempty"`
	Thought string `json:"reasoning,omitempty"`
	Call    *part  `json:"call,omitempty"`
	Finish  string `json:"finish,omitempty"`  // stop, tool_calls, length or cancel
	Tokens  *int   `json:"tokens,omitempty"`  // of the answer
	Prompt  *int   `json:"prompt,omitempty"`  // tokens of the prompt
	Cached  *int   `json:"cached,omitempty"`  // of those, tokens that were not computed again
	Request string `json:"request,omitempty"` // by which GET /why/{request} tells what was decided
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// A part is a piece of a call of a tool: the first one of a call has its id and name.
type part struct {
	Index     int    `json:"index"` // of the call in the answer, from 0
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
	Broken    bool   `json:"broken,omitempty"` // the call is none: it follows as text
}

func failed(id, code, text string) *reply {
	return &reply{Type: "error", ID: id, Code: code, Message: host.Short(text)}
}

// parse reads and checks a message. With an error the request has the ID if that
// could be read.
func parse(b []byte) (*request, error) {
	r := &request{}
	if err := host.Survey(b); err != nil {
		return r, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return r, err
	}
	if _, err := d.Token(); err != io.EOF {
		return r, errors.New("something follows the object")
	}
	if err := host.Refuse(r); err != nil {
		return r, err
	}
	if len(r.ID) > mostID {
		r.ID = ""
		return r, fmt.Errorf("id: want at most %d bytes", mostID)
	}
	switch r.Type {
	case "ping":
		return r, nil
	case "cancel":
		if r.ID == "" {
			return r, errors.New("cancel: want the id of a request")
		}
		return r, nil
	case "generate":
		return r, r.check()
	}
	return r, fmt.Errorf("type: want generate, cancel or ping, got %q", r.Type)
}

func (r *request) check() error {
	switch {
	case r.ID == "":
		return errors.New("generate: want an id, which the replies will have")
	case (r.Prompt == nil) == (r.Messages == nil):
		return errors.New("generate: want either prompt or messages")
	case r.Messages != nil && (len(r.Messages) == 0 || len(r.Messages) > mostMessages):
		return fmt.Errorf("messages: want 1 to %d, got %d", mostMessages, len(r.Messages))
	}
	return r.Bound()
}

// answer begins to generate.
func (r *request) answer(q *host.Request, l *host.Lease) (iter.Seq2[atenia.Token, error], error) {
	if r.Prompt != nil {
		p, err := r.Chat.Prompt(l, *r.Prompt)
		return q.Generate(l, p), err
	}
	c, err := r.Conversation(l)
	return q.Chat(l, c), err
}
