package dialect

// Responses with background: true, which are computed without their client, and what follows
// their events.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"atenia/internal/fault"
	"atenia/serve/internal/host"
)

// A run is a response that is computed in the background, and its events. The store's mutex guards it.
type run struct {
	events  []toldEvent // the sequence number is the index
	bytes   int64       // of them
	ended   bool        // there are no further ones
	begun   bool        // its record is in the store
	changed chan struct{}
	cancel  context.CancelCauseFunc
}

// A toldEvent is one that was sent, or could have been.
type toldEvent struct {
	name string
	data json.RawMessage
}

// eventCost is what an event takes besides its bytes.
const eventCost = 64

var errCancelled = errors.New("the response was cancelled")

// computing reports whether a record is of a response that has not ended.
func (s *Store) computing(c *record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.run != nil && !c.run.ended
}

// kept reports whether the record of a run may be in the store: it is new, or still there.
func (s *Store) kept(id string, n *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.records[id]
	first := !n.begun
	n.begun = true
	return first || e != nil && e.Value.(*record).run == n
}

// tell adds an event to a run.
func (s *Store) tell(n *run, id string, e event) error {
	e["sequence_number"] = len(n.events) // nobody else adds
	var b bytes.Buffer
	j := json.NewEncoder(&b)
	j.SetEscapeHTML(false) // as in a stream
	if err := j.Encode(e); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int64(eventCost + b.Len())
	n.events = append(n.events, toldEvent{fmt.Sprint(e["type"]), bytes.TrimSuffix(b.Bytes(), []byte("\n"))})
	n.bytes += size
	if at := s.records[id]; at != nil && at.Value.(*record).run == n {
		at.Value.(*record).size += size
		s.bytes += size
		s.shrink()
	}
	n.wake()
	return nil
}

// end says that a run has no further events.
func (s *Store) end(n *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.ended = true
	n.wake()
}

// wake tells those who wait for a run. The caller has the mutex.
func (n *run) wake() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// after returns the events from a number on, whether the run has ended, and what is closed when
// either changes.
func (s *Store) after(n *run, from int) (list []toldEvent, ended bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n.events[min(from, len(n.events)):], n.ended, n.changed
}

// background answers at once, or follows the events, while the response is computed.
func (s *Store) background(r *host.Request, in *respondRequest, o *output) error {
	i, err := r.Pool().Lookup(in.Model)
	if err != nil {
		return err
	}
	o.response.Model = i.Name
	n := &run{changed: make(chan struct{}), cancel: func(error) {}}
	o.send = func(e event) error { return s.tell(n, o.response.ID, e) }
	o.started, o.response.Status = true, "queued"
	if err = o.sendAll(event{"type": "response.created", "response": o.response}, event{"type": "response.queued", "response": o.response}); err != nil {
		return err
	}
	s.keep(r, in, o, n)
	queued := o.response
	begin := make(chan struct{}) // what is computed may be cancelled from its beginning on
	cancel, err := r.Detach("/v1/responses background", func(q *host.Request) error {
		<-begin
		defer s.end(n)
		return s.compute(q, in, o, n)
	})
	if err != nil {
		s.end(n)
		return errors.Join(err, s.remove(&record{id: o.response.ID}))
	}
	s.mu.Lock()
	n.cancel = cancel
	s.mu.Unlock()
	close(begin)
	if in.Stream {
		return s.follow(r, n, 0)
	}
	return r.WriteJSON(http.StatusOK, queued)
}

// compute answers without the client. Its error was told by then, and is for the log.
func (s *Store) compute(q *host.Request, in *respondRequest, o *output, n *run) error {
	o.keep = func() { s.keep(q, in, o, n) }
	if o.hosted != nil {
		o.hosted.r = q
	}
	o.response.Status = "in_progress"
	o.keep()
	err := o.send(event{"type": "response.in_progress", "response": o.response})
	if err == nil {
		err = fault.Call(func() error { return in.answer(q, o) })
	}
	if err == nil {
		return nil
	}
	if cause := context.Cause(q.Context()); cause != nil {
		err = cause
	}
	if errors.Is(err, errCancelled) {
		o.response.Status = "cancelled"
		o.keep()
		return o.send(event{"type": "response.cancelled", "response": o.response})
	}
	return errors.Join(err, o.fail(q.Problem(err)))
}

// follow sends the events of a run from a number on, and those that come, to its end.
func (s *Store) follow(r *host.Request, n *run, from int) error {
	events := r.Events(host.Manner{Ping: openaiPing})
	for {
		list, ended, changed := s.after(n, from)
		for _, e := range list {
			if err := events.Event(e.name, e.data); err != nil {
				return err
			}
		}
		if from += len(list); ended {
			return nil
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return context.Cause(r.Context())
		}
	}
}

// replay is GET /v1/responses/{id}?stream=true.
func (s *Store) replay(r *host.Request, c *record) error {
	from := 0
	if after := r.URL.Query().Get("starting_after"); after != "" {
		n, err := strconv.Atoi(after)
		if err != nil || n < 0 {
			return host.Invalid("starting_after", "starting_after is %q, want the sequence number of an event", after)
		}
		from = n + 1
	}
	if c.run == nil {
		return host.Unsupported("stream", "the events of %s are not kept: it was not made with background: true, or the server was started since. GET it without stream", c.id)
	}
	return s.follow(r, c.run, from)
}

// cancel is POST /v1/responses/{id}/cancel.
func (s *Store) cancel(_ http.ResponseWriter, r *host.Request) error {
	c, err := s.want(r, "response", r.PathValue("id"))
	if err != nil {
		return err
	}
	for cancelled := false; c.run != nil; {
		s.mu.Lock()
		ended, changed, cancel := c.run.ended, c.run.changed, c.run.cancel
		s.mu.Unlock()
		if ended {
			break
		}
		if !cancelled {
			cancel(errCancelled)
			cancelled = true
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return context.Cause(r.Context())
		}
	}
	if c, err = s.want(r, "response", c.id); err != nil {
		return err
	}
	var said struct {
		Status     string `json:"status"`
		Background bool   `json:"background"`
	}
	if err := json.Unmarshal(c.head, &said); err != nil {
		return err
	}
	if !said.Background {
		return host.Invalid("id", "%s was not made with background: true; its client cancels it by going away", c.id)
	}
	if said.Status != "cancelled" {
		return host.Invalid("id", "%s is %s, and cannot be cancelled any more", c.id, said.Status)
	}
	return s.write(r, c)
}
