package ws

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"atenia"
)

// Limits of a message, beside its size.
const (
	mostID       = 128 // bytes
	mostStops    = 16
	mostMessages = 4096
)

// A request is a message of a client. Fields that are not given are nil or zero,
// and then the model's makers decide.
type request struct {
	Type string `json:"type"` // generate, cancel or ping
	ID   string `json:"id"`

	Model    string    `json:"model"`
	Prompt   *string   `json:"prompt"`
	Messages []message `json:"messages"` // instead of a prompt

	MaxTokens        int      `json:"max_tokens"`
	Stop             []string `json:"stop"`
	Seed             uint64   `json:"seed"`
	Temperature      *float32 `json:"temperature"`
	TopP             *float32 `json:"top_p"`
	TopK             *int     `json:"top_k"`
	MinP             *float32 `json:"min_p"`
	RepeatPenalty    *float32 `json:"repeat_penalty"`
	FrequencyPenalty *float32 `json:"frequency_penalty"`
	PresencePenalty  *float32 `json:"presence_penalty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
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
	Finish  string `json:"finish,omitempty"` // stop, length or cancel
	Tokens  *int   `json:"tokens,omitempty"` // of the answer
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

func failed(id, code, text string) *reply {
	return &reply{Type: "error", ID: id, Code: code, Message: text}
}

// parse reads and checks a message. With an error the request has the ID if that
// could be read.
func parse(b []byte) (*request, error) {
	r := &request{}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return r, err
	}
	if _, err := d.Token(); err != io.EOF {
		return r, errors.New("something follows the object")
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
	case r.MaxTokens < 0:
		return fmt.Errorf("max_tokens: want 0, which is up to the context, or more; got %d", r.MaxTokens)
	case len(r.Stop) > mostStops:
		return fmt.Errorf("stop: want at most %d texts, got %d", mostStops, len(r.Stop))
	}
	for i, m := range r.Messages {
		switch m.Role {
		case "system", "user", "assistant", "tool":
		default:
			return fmt.Errorf("messages: role %q of message %d: want system, user, assistant or tool", m.Role, i)
		}
	}
	return nil
}

// options returns the options of a request over the recommendations of a model.
func (r *request) options(s atenia.Sampling) (atenia.Options, error) {
	s.Seed = r.Seed
	for _, f := range []struct{ from, to *float32 }{
		{r.Temperature, &s.Temperature}, {r.TopP, &s.TopP}, {r.MinP, &s.MinP}, {r.RepeatPenalty, &s.RepeatPenalty},
		{r.FrequencyPenalty, &s.FrequencyPenalty}, {r.PresencePenalty, &s.PresencePenalty},
	} {
		if f.from != nil {
			if math.IsInf(float64(*f.from), 0) {
				return atenia.Options{}, errors.New("a number is too large")
			}
			*f.to = *f.from
		}
	}
	if r.TopK != nil {
		s.TopK = *r.TopK
	}
	return atenia.Options{MaxTokens: r.MaxTokens, Stop: r.Stop, Sampling: s}, s.Validate()
}

// conversation returns the messages as package atenia takes them.
func (r *request) conversation(o atenia.Options) atenia.Conversation {
	c := atenia.Conversation{Options: o}
	for _, m := range r.Messages {
		c.Messages = append(c.Messages, atenia.Message{Role: m.Role, Content: m.Content})
	}
	return c
}
