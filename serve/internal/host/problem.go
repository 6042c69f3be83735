package host

// What goes wrong, as values that each dialect writes in its own form.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"atenia"
	"atenia/internal/spelling"
	"atenia/place"
)

// A Problem is an error with the status of its response.
type Problem struct {
	Status  int
	Code    string // such as "context_length_exceeded"; "" = none
	Param   string // the field of the request that is to blame; "" = none
	Message string
	Retry   time.Duration // when to try again; 0 = that is not known
	Err     error         // the cause, for the log; nil = none
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Err }

// Invalid returns the problem of a field whose value cannot be used.
func Invalid(param, format string, args ...any) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: "invalid_value", Param: param, Message: spelling.Sprintf(format, args...)}
}

// mostMessage is how many bytes a message may have, and with it a line of the log. What it
// quotes of a client is cut already; this bounds what a template or a library quotes.
const mostMessage = 2000

// Short returns what a message may have of a text.
func Short(message string) string { return spelling.Clip(message, mostMessage) }

func (p *Problem) short() *Problem {
	q := *p
	q.Message, q.Param = Short(p.Message), Short(p.Param)
	return &q
}

// Unsupported returns the problem of a request that the model cannot answer.
func Unsupported(param, format string, args ...any) *Problem {
	p := Invalid(param, format, args...)
	p.Code = "unsupported_value"
	return p
}

// problemOf is problemIn for what no field of a body is to blame for, or what the model reads.
func problemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	bad := func(code, param string) *Problem {
		return &Problem{Status: http.StatusBadRequest, Code: code, Param: param, Message: err.Error(), Err: err}
	}
	busy := func(code string) *Problem {
		return &Problem{Status: http.StatusServiceUnavailable, Code: code, Message: err.Error(), Retry: 5 * time.Second, Err: err}
	}
	if e, ok := errors.AsType[*atenia.ContextError](err); ok {
		p := bad("context_length_exceeded", "messages")
		least := ""
		if e.More {
			least = "at least "
		}
		p.Message = fmt.Sprintf("This model's maximum context length is %d tokens, and the prompt has %s%d tokens. Shorten it.", e.Context, least, e.Prompt)
		if e.Cache {
			p.Message = fmt.Sprintf("The cache of this server has memory for the keys and values of %d tokens, and the prompt has %s%d. Shorten it, or give the server a larger --cache-size.", e.Context, least, e.Prompt)
		}
		return p
	}
	if _, ok := errors.AsType[*atenia.TemplateError](err); ok {
		return bad("invalid_value", "messages")
	}
	if _, ok := errors.AsType[*atenia.TextLengthError](err); ok {
		return bad("context_length_exceeded", "messages")
	}
	if _, ok := errors.AsType[*place.FloorError](err); ok {
		return busy("out_of_memory")
	}
	switch {
	case errors.Is(err, atenia.ErrAdapter):
		return bad("adapter_not_found", "model")
	case errors.Is(err, atenia.ErrNoTokenizer), errors.Is(err, atenia.ErrNoTemplate), errors.Is(err, atenia.ErrNoImages), errors.Is(err, atenia.ErrNoSpeech), errors.Is(err, atenia.ErrNotEncoder):
		return bad("unsupported_value", "model")
	case errors.Is(err, atenia.ErrReceipt):
		return bad("invalid_receipt", "receipt")
	case errors.Is(err, atenia.ErrSlot):
		return &Problem{Status: http.StatusConflict, Code: "slot_unavailable", Message: err.Error(), Err: err}
	case errors.Is(err, atenia.ErrClosed):
		return busy("model_closed")
	case errors.Is(err, errTimeout):
		return &Problem{Status: http.StatusGatewayTimeout, Code: "timeout", Message: errTimeout.Error(), Err: err}
	case errors.Is(err, context.Canceled):
		return Gone(err)
	}
	return &Problem{Status: http.StatusInternalServerError, Code: "internal_error", Message: "internal error", Err: err}
}

// Gone returns the problem of a client that went away, as an error says that may be one of the
// network.
func Gone(err error) *Problem {
	const closedRequest = 499 // nginx's number
	return &Problem{Status: closedRequest, Code: "canceled", Message: "the request was canceled", Err: err}
}

var errTimeout = errors.New("the request took longer than the server allows")
