package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A request is what is asked, and how its answer is read.
type request struct {
	prompt string
	seed   int
	cancel int // the connection is closed after so many events; 0 = never
	slow   bool
}

// An outcome is what came of a request.
type outcome struct {
	status    int
	err       error
	cancelled bool
	slow      bool
	tokens    int             // that the server says it wrote; events, if it was cancelled
	first     time.Duration   // from sending to the first event
	gaps      []time.Duration // between events
}

// A body is the request's. Servers ignore fields that they do not know.
type body struct {
	Model     string         `json:"model"`
	Prompt    string         `json:"prompt"`
	MaxTokens int            `json:"max_tokens"`
	Seed      int            `json:"seed"`
	Stream    bool           `json:"stream"`
	IgnoreEnd bool           `json:"ignore_eos"`
	Options   map[string]any `json:"stream_options"`
}

// An event is what is read of one.
type event struct {
	Choices []struct {
		Text   string  `json:"text"`
		Finish *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// longestEvent is the longest line of a stream in bytes.
const longestEvent = 1 << 20

// send sends a request and reads its answer.
func (l *load) send(ctx context.Context, q *request) (o outcome) {
	o.slow = q.slow
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	model := l.c.Model
	if model == "" {
		model = "default"
	}
	b, err := json.Marshal(body{model, q.prompt, l.c.Tokens, q.seed, true, true, map[string]any{"include_usage": true}})
	if err != nil {
		o.err = err
		return o
	}
	p, err := http.NewRequestWithContext(ctx, "POST", l.url, bytes.NewReader(b))
	if err != nil {
		o.err = err
		return o
	}
	p.Header.Set("Content-Type", "application/json")
	if l.c.Key != "" {
		p.Header.Set("Authorization", "Bearer "+l.c.Key)
	}
	c := l.fast
	if q.slow {
		c = l.slow
	}
	start := time.Now()
	resp, err := c.Do(p)
	if err != nil {
		o.err = err
		return o
	}
	defer resp.Body.Close()
	if o.status = resp.StatusCode; o.status != 200 {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // the status is the error
		o.err = fmt.Errorf("status %d: %s", o.status, bytes.TrimSpace(text))
		return o
	}
	o.err = l.read(resp.Body, q, start, &o)
	return o
}

// read reads the events of a stream, and returns early if the request is to be
// cancelled.
func (l *load) read(r io.Reader, q *request, start time.Time, o *outcome) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, longestEvent)
	events, counted := 0, -1
	last := start
	for sc.Scan() {
		data, ok := bytes.CutPrefix(sc.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			if counted < 0 {
				return errors.New("the stream has no usage")
			}
			o.tokens = counted
			return nil
		}
		now := time.Now()
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("event %d: %w", events, err)
		}
		if e.Error != nil {
			return fmt.Errorf("event %d: %s", events, e.Error)
		}
		if e.Usage != nil {
			counted = e.Usage.Completion
		}
		if len(e.Choices) == 0 || e.Choices[0].Text == "" && e.Choices[0].Finish != nil {
			continue // no token is in it
		}
		if events++; events == 1 {
			o.first = now.Sub(start)
		} else {
			o.gaps = append(o.gaps, now.Sub(last))
		}
		last = now
		if events == q.cancel {
			o.cancelled, o.tokens = true, events
			return nil
		}
		if q.slow {
			time.Sleep(l.c.Pause)
		}
	}
	if err := sc.Err(); err != nil {
		return err
	}
	return fmt.Errorf("the stream ends after %d events without [DONE]", events)
}
