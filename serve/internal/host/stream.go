package host

// Streams: server-sent events and lines of JSON.

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"
)

// A Manner is what a dialect sends in a stream besides data. The zero value is nothing.
type Manner struct {
	// Ping is sent when a stream has been silent for [Limits].Ping, from its beginning on:
	// proxies cut connections that say nothing while a model is loaded, a prompt waits
	// or is read. Clients of the dialect pass over it.
	Ping string
	// Fail sends the problem with which a stream ends that has begun. A stream that has
	// not is answered by [Route].Fail, with a status.
	Fail func(p *Problem) error
}

// A stream writes pieces of a response, each of which must be taken within a time.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	buf     bytes.Buffer
	manner  Manner
	silence time.Duration // after which there is a ping
	cancel  func()        // ends the request

	mu    sync.Mutex // of what follows and of writing: pings come from a timer
	timer *time.Timer
	ended bool
	err   error // of the first write that failed
}

func (r *Request) stream(contentType string, m Manner) *stream {
	h := r.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx would collect the stream
	s := &stream{w: r.w, control: http.NewResponseController(r.w), limit: r.host.limits.Write, manner: m, silence: r.host.limits.Ping, cancel: r.cancel}
	if m.Ping != "" && s.silence > 0 {
		s.mu.Lock() // a short silence may end before the timer has its name
		s.timer = time.AfterFunc(s.silence, s.ping)
		s.mu.Unlock()
	}
	return s
}

// flush sends what is in the buffer.
func (s *stream) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.write(s.buf.Bytes())
	s.buf.Reset()
	return err
}

// ping sends a sign of life. A client that is gone or does not read ends its request.
func (s *stream) ping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended && s.err == nil && s.write([]byte(s.manner.Ping)) != nil {
		s.cancel()
	}
}

// write sends bytes. The stream is locked.
func (s *stream) write(b []byte) error {
	if s.err != nil {
		return s.err
	}
	// A client that stops reading fills the kernel's buffers, then the deadline ends
	// the request. Recorders of tests have no deadlines.
	if s.err = s.control.SetWriteDeadline(time.Now().Add(s.limit)); errors.Is(s.err, http.ErrNotSupported) {
		s.err = nil
	}
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
	if s.err == nil {
		s.err = s.control.Flush()
	}
	if s.timer != nil {
		s.timer.Reset(s.silence)
	}
	return s.err
}

// end stops the pings: the handler has returned.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// json appends v as JSON and a line feed. Text is not escaped for HTML.
func (s *stream) json(v any) error {
	e := json.NewEncoder(&s.buf)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Events is a stream of server-sent events, text/event-stream. Its methods return an
// error when the client is gone or does not read; the request is over then.
type Events struct{ s *stream }

// Events begins a stream. The status is 200 with the first event or ping.
func (r *Request) Events(m Manner) *Events {
	r.out = r.stream("text/event-stream; charset=utf-8", m)
	return &Events{r.out}
}

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
type Lines struct{ s *stream }

// Lines begins a stream. The status is 200 with the first line or ping.
func (r *Request) Lines(m Manner) *Lines {
	r.out = r.stream("application/x-ndjson", m)
	return &Lines{r.out}
}

// Line sends v as a line.
func (l *Lines) Line(v any) error {
	if err := l.s.json(v); err != nil {
		return err
	}
	return l.s.flush()
}

// WriteJSON answers with v as a whole.
func (r *Request) WriteJSON(status int, v any) error {
	s := r.stream("application/json", Manner{})
	r.w.Header().Del("X-Accel-Buffering")
	if err := s.json(v); err != nil {
		return err
	}
	r.w.WriteHeader(status)
	return s.flush()
}
