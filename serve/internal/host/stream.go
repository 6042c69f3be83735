package host

// Streams: server-sent events and lines of JSON.

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// A stream writes pieces of a response, each of which must be taken within a time.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	buf     bytes.Buffer
}

func (r *Request) stream(contentType string) stream {
	h := r.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx would collect the stream
	return stream{w: r.w, control: http.NewResponseController(r.w), limit: r.host.limits.Write}
}

// flush sends what is in the buffer.
func (s *stream) flush() error {
	// A client that stops reading fills the kernel's buffers, then the deadline ends
	// the request. Recorders of tests have no deadlines.
	if err := s.control.SetWriteDeadline(time.Now().Add(s.limit)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_, err := s.w.Write(s.buf.Bytes())
	s.buf.Reset()
	if err != nil {
		return err
	}
	return s.control.Flush()
}

// json appends v as JSON and a line feed. Text is not escaped for HTML.
func (s *stream) json(v any) error {
	e := json.NewEncoder(&s.buf)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Events is a stream of server-sent events, text/event-stream. Its methods return an
// error when the client is gone or does not read; the request is over then.
type Events struct{ s stream }

// Events begins a stream. The status is 200 with the first event.
func (r *Request) Events() *Events { return &Events{r.stream("text/event-stream; charset=utf-8")} }

// Data sends v as an event without a name.
func (e *Events) Data(v any) error { return e.Event("", v) }

// Event sends v as an event with a name; "" = none.
func (e *Events) Event(name string, v any) error {
	if name != "" {
		e.s.buf.WriteString("event: " + name + "\n")
	}
	e.s.buf.WriteString("data: ")
	if err := e.s.json(v); err != nil {
		return err
	}
	e.s.buf.WriteByte('\n')
	return e.s.flush()
}

// Text sends one line as it is, such as OpenAI's [DONE].
func (e *Events) Text(line string) error {
	e.s.buf.WriteString("data: " + line + "\n\n")
	return e.s.flush()
}

// Lines is a stream of JSON lines, application/x-ndjson. Errors are those of [Events].
type Lines struct{ s stream }

// Lines begins a stream. The status is 200 with the first line.
func (r *Request) Lines() *Lines { return &Lines{r.stream("application/x-ndjson")} }

// Line sends v as a line.
func (l *Lines) Line(v any) error {
	if err := l.s.json(v); err != nil {
		return err
	}
	return l.s.flush()
}

// WriteJSON answers with v as a whole.
func (r *Request) WriteJSON(status int, v any) error {
	s := r.stream("application/json")
	r.w.Header().Del("X-Accel-Buffering")
	if err := s.json(v); err != nil {
		return err
	}
	r.w.WriteHeader(status)
	return s.flush()
}
