package dialect

// The endpoints, and how they fail.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"

	"atenia"
	"atenia/serve/internal/host"
)

// anthropicRoutes returns the endpoints.
func anthropicRoutes() []host.Route {
	return []host.Route{
		{Pattern: "POST /v1/messages", Serve: anthropicMessages, Fail: failAnthropic},
		{Pattern: "POST /v1/messages/count_tokens", Serve: countTokens, Fail: failAnthropic},
	}
}

// readAnthropic reads a request, calls then with it if that is not nil, and borrows the model that
// it names.
func readAnthropic(r *host.Request, then func(*anthropicRequest)) (*anthropicRequest, *host.Lease, atenia.Conversation, error) {
	var c atenia.Conversation
	in := &anthropicRequest{}
	if err := r.ReadJSON(in); err != nil {
		return nil, nil, c, err
	}
	if err := in.check(); err != nil {
		return nil, nil, c, err
	}
	if err := in.leaveOut(r); err != nil {
		return nil, nil, c, err
	}
	if then != nil {
		then(in)
	}
	l, err := r.Borrow(in.Model)
	if err != nil {
		return nil, nil, c, err
	}
	sampling := l.Sampling()
	sampling.Seed = rand.Uint64() // the API has no field for it
	if c, err = in.conversation(sampling); err != nil {
		l.Release()
		return nil, nil, c, err
	}
	if err := in.extras.into(&c.Options, l.Model, ""); err != nil {
		l.Release()
		return nil, nil, c, err
	}
	c.Messages = l.Settle(c.Messages)
	return in, l, c, nil
}

func countTokens(w http.ResponseWriter, r *host.Request) error {
	_, l, c, err := readAnthropic(r, nil)
	if err != nil {
		return err
	}
	defer l.Release()
	n, err := r.CountTokens(l, c)
	if err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, map[string]int{"input_tokens": n})
}

func anthropicMessages(w http.ResponseWriter, r *host.Request) error {
	var events *host.Events
	in, l, c, err := readAnthropic(r, func(in *anthropicRequest) {
		if in.Stream {
			events = r.Events(host.Manner{Ping: anthropicPing, Fail: func(p *host.Problem) error {
				_, body := anthropicProblem(r.ID, p)
				return events.Event("error", body)
			}})
		}
	})
	if err != nil {
		return err
	}
	defer l.Release()
	if in.MaxTokens == nil {
		return host.Invalid("max_tokens", "max_tokens: field required")
	}
	a := newAnthropicAnswer("msg_"+strings.TrimPrefix(r.ID, "req-"), in.Model, in)
	input := 0
	if in.Stream { // wanted before the last token says it
		if input, err = r.CountTokens(l, c); err != nil {
			return err
		}
	}
	if events != nil {
		a.emit = events.Event
		return a.run(r, l, c, input)
	}
	if err := a.run(r, l, c, input); err != nil {
		return err
	}
	return r.WriteJSON(http.StatusOK, &a.anthropicReply)
}

// anthropicPing is the event that Anthropic sends while there is nothing to say.
const anthropicPing = "event: ping\ndata: {\"type\": \"ping\"}\n\n"

// run answers a conversation. Nothing is emitted before the first token, so that what is
// wrong with a request is an error with a status.
func (a *anthropicAnswer) run(r *host.Request, l *host.Lease, c atenia.Conversation, input int) error {
	begun := false
	for t, err := range r.Chat(l, c) {
		if err != nil {
			return err
		}
		if !begun {
			begun = true
			if err := a.start(input); err != nil {
				return err
			}
		}
		if err := a.add(&t); err != nil {
			return err
		}
		if t.Finish != "" {
			return a.finish(&t)
		}
	}
	return errors.New("the answer has no end")
}

// An anthropicFailure is the body of an error.
type anthropicFailure struct {
	Type      string         `json:"type"` // error
	Error     anthropicCause `json:"error"`
	RequestID string         `json:"request_id"`
}

type anthropicCause struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// anthropicKinds are Anthropic's names of errors, by the status of the response.
var anthropicKinds = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusGatewayTimeout:        "timeout_error",
	statusOverloaded:                 "overloaded_error",
}

const statusOverloaded = 529

// anthropicProblem returns the status and the body of an error.
func anthropicProblem(id string, p *host.Problem) (int, anthropicFailure) {
	status := p.Status
	if status == http.StatusServiceUnavailable {
		status = statusOverloaded
	}
	kind := anthropicKinds[status]
	switch {
	case kind != "":
	case status < http.StatusInternalServerError:
		kind = "invalid_request_error"
	default:
		kind = "api_error"
	}
	message := p.Message
	if e, ok := errors.AsType[*atenia.ContextError](p.Err); ok {
		// Agents recognize these words, and then shorten the conversation.
		message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", e.Prompt, e.Context)
	}
	return status, anthropicFailure{"error", anthropicCause{kind, message}, id}
}

func failAnthropic(r *host.Request, p *host.Problem) {
	status, body := anthropicProblem(r.ID, p)
	_ = r.WriteJSON(status, body) // the client is gone if it fails
}
