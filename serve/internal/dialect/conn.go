package dialect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"atenia"
	"atenia/internal/fault"
	"atenia/serve/internal/host"

	"github.com/coder/websocket"
)

// errNotText ends a connection whose client sends binary messages, or text that is not UTF-8.
var errNotText = errors.New("what the client sent is not text")

// A conn is one connection: a goroutine that reads, one that pings, and one for
// each request that runs.
type conn struct {
	h      *Handler
	id     string // "" = requests have ids of their own
	client string
	socket *websocket.Conn
	cancel context.CancelFunc // cuts the connection off
	group  fault.Group

	mu       sync.Mutex
	running  map[string]context.CancelFunc // requests by id
	serial   int                           // of the last request
	draining bool                          // no request begins any more
}

// read reads a message. One that is binary ends the connection.
func read(ctx context.Context, socket *websocket.Conn) ([]byte, error) {
	typ, b, err := readAny(ctx, socket)
	if err == nil && typ != websocket.MessageText {
		socket.Close(websocket.StatusUnsupportedData, "messages are JSON text")
		err = errNotText
	}
	return b, err
}

// readAny reads a message of either type. Text that is no UTF-8 ends the connection with
// the status of RFC 6455, section 8.1, at its first wrong byte.
func readAny(ctx context.Context, socket *websocket.Conn) (websocket.MessageType, []byte, error) {
	typ, b, err := socket.Read(ctx)
	if errors.Is(err, errNotText) {
		socket.Close(websocket.StatusInvalidFramePayloadData, "text is not UTF-8")
	}
	return typ, b, err
}

// serve reads messages until the connection ends, and waits for its requests.
func (c *conn) serve(ctx context.Context) {
	defer c.socket.CloseNow()
	ctx, stop := context.WithCancel(ctx)
	c.group.Go(func() { c.ping(ctx, stop) })
	for {
		b, err := read(ctx, c.socket)
		if err != nil {
			c.h.cfg.Logger.Debug("websocket ended", "error", err)
			break
		}
		if err := fault.Call(func() error { return c.take(ctx, b) }); err != nil {
			c.h.cfg.Logger.Error("websocket", "error", err)
			break
		}
	}
	stop() // cancels what still runs
	c.group.Wait()
}

// ping finds clients that are gone without a word.
func (c *conn) ping(ctx context.Context, stop func()) {
	tick := time.NewTicker(c.h.cfg.Ping)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		late, cancel := context.WithTimeout(ctx, c.h.cfg.Ping)
		err := c.socket.Ping(late)
		cancel()
		if err != nil {
			stop()
			return
		}
	}
}

// send writes a reply. A client that does not take it in time is cut off: its
// requests hold memory that others wait for.
func (c *conn) send(ctx context.Context, r *reply) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.h.cfg.Write)
	defer cancel()
	return c.socket.Write(ctx, websocket.MessageText, b)
}

// take answers a message or starts what it asks for. An error ends the connection.
func (c *conn) take(ctx context.Context, b []byte) error {
	r, err := parse(b)
	if err != nil {
		return c.send(ctx, failed(r.ID, codeBad, err.Error()))
	}
	switch r.Type {
	case "ping":
		return c.send(ctx, &reply{Type: "pong", ID: r.ID})
	case "cancel":
		c.mu.Lock()
		cancel := c.running[r.ID]
		c.mu.Unlock()
		if cancel == nil {
			return c.send(ctx, failed(r.ID, codeMissed, "no request of this id is running"))
		}
		cancel()
		return nil
	}
	mine, cancel := context.WithCancel(ctx)
	number, no := c.begin(r.ID, cancel)
	if no != nil {
		cancel()
		return c.send(ctx, no)
	}
	id := ""
	if c.id != "" {
		id = fmt.Sprintf("%s.%d", c.id, number)
	}
	q := c.h.cfg.Host.Begin(mine, id, c.client)
	c.group.Go(func() {
		defer cancel()
		last := c.run(ctx, q, r)
		last.Request = q.ID
		c.end(r.ID) // before the client may use the id again
		if c.send(ctx, last) != nil {
			c.cancel()
		}
		c.closeIfDrained()
	})
	return nil
}

// begin enters a request and numbers it, or says why not.
func (c *conn) begin(id string, cancel context.CancelFunc) (number int, no *reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.draining:
		return 0, failed(id, codeClosed, "the server is shutting down")
	case c.running[id] != nil:
		return 0, failed(id, codeBad, "a request of this id is running")
	case len(c.running) >= c.h.cfg.AtOnce:
		return 0, failed(id, codeBusy, fmt.Sprintf("%d requests of this connection are running: wait until one has ended", len(c.running)))
	}
	c.running[id] = cancel
	c.serial++
	return c.serial, nil
}

func (c *conn) end(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, id)
}

// drain lets no request begin, and closes the connection if none is running.
func (c *conn) drain() {
	c.mu.Lock()
	c.draining = true
	c.mu.Unlock()
	c.closeIfDrained()
}

func (c *conn) closeIfDrained() {
	c.mu.Lock()
	done := c.draining && len(c.running) == 0
	c.mu.Unlock()
	if done {
		c.socket.Close(websocket.StatusGoingAway, "shutting down")
		c.cancel()
	}
}

// run runs a request and returns its last reply. Ctx is the connection's: a write whose
// context ends breaks off a frame, and with it the connection. The context of q is the
// request's.
func (c *conn) run(ctx context.Context, q *host.Request, r *request) *reply {
	var said atenia.Answer
	tokens := 0
	last := &reply{Type: "end", ID: r.ID, Tokens: &tokens}
	q.Said = r
	err := fault.Call(func() error {
		l, err := c.h.cfg.Use(q.Context(), r.Model)
		if err != nil {
			return err
		}
		defer l.Release()
		answer, err := r.answer(q, l)
		if err != nil {
			return err
		}
		for t, err := range answer {
			if err != nil {
				return err
			}
			if t.Finish == "" {
				tokens++
			} else if last.Finish = t.Finish; t.Usage != nil {
				last.Prompt, last.Cached = &t.Usage.Prompt, &t.Usage.Cached
			}
			out := &reply{Type: "token", ID: r.ID, Text: t.Text, Thought: t.Reasoning}
			if t.Call != nil {
				out.Call = (*part)(t.Call)
				said.Add(atenia.Token{Call: t.Call})
			}
			if out.Text == "" && out.Thought == "" && out.Call == nil {
				continue
			}
			if err := c.send(ctx, out); err != nil {
				c.cancel() // too slow, or gone
				return err
			}
		}
		return nil
	})
	if err == nil && last.Finish == "stop" && len(said.ToolCalls) > 0 {
		last.Finish = "tool_calls"
	}
	if err != nil {
		last = c.ending(q, last, err)
	}
	q.End("/ws generate", err)
	return last
}

// ending is the last reply of a request that failed, or was canceled.
func (c *conn) ending(q *host.Request, last *reply, err error) *reply {
	p := q.Problem(err)
	panicked, ok := errors.AsType[*fault.Panic](err)
	switch {
	case ok:
		c.h.cfg.Logger.Error("panic", "error", panicked.Error(), "stack", string(panicked.Stack))
	case errors.Is(q.Context().Err(), context.Canceled):
		last.Finish = "cancel"
		return last
	case errors.Is(err, atenia.ErrClosed):
		return failed(last.ID, codeClosed, p.Message)
	case p.Code == "model_not_found":
		return failed(last.ID, codeModel, p.Message)
	case p.Status < http.StatusInternalServerError:
		return failed(last.ID, codeBad, p.Message)
	case p.Status != http.StatusInternalServerError: // too late, or no memory
		return failed(last.ID, p.Code, p.Message)
	}
	return failed(last.ID, codeFault, "internal error, which is not the fault of the request; the server's log has the details")
}
