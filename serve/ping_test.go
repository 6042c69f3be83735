package serve

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"atenia"
	"atenia/internal/golden/await"
)

// streams are requests for a stream in each dialect, what stands for silence there, and what
// the time limit's error looks like in a stream that has begun.
var streams = []struct{ path, body, ping, fail string }{
	{"/v1/chat/completions", `{` + hello + `,"stream":true}`, ": ping\n\n", "data: {\"error\":{\"message\":\"the request took longer"},
	{"/v1/completions", `{"prompt":"Once","stream":true}`, ": ping\n\n", "data: {\"error\":{\"message\":\"the request took longer"},
	{"/v1/responses", `{"input":"Hello.","stream":true}`, ": ping\n\n", "event: response.failed\ndata: {"},
	{"/v1/messages", `{"model":"default",` + hello + `,"max_tokens":9,"stream":true}`, "event: ping\ndata: {\"type\": \"ping\"}\n\n", "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"timeout_error\""},
	{"/api/chat", `{"model":"default",` + hello + `}`, " ", "{\"error\":\"the request took longer"},
}

// busy serves the embedded model with one slot, and keeps that slot from requests until the
// test ends.
func busy(t *testing.T, c Config) string {
	t.Helper()
	_, url := busyServer(t, c)
	return url
}

func busyServer(t *testing.T, c Config) (*Server, string) {
	t.Helper()
	c.Open.Slots = 1
	s, web := newServer(t, c)
	l, err := s.pool.Borrow(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				for range l.Model.Generate(ctx, atenia.Prompt{Text: "Once", Options: atenia.Options{IgnoreEnd: true, Priority: 100}}) {
				}
			}
		})
	}
	t.Cleanup(func() {
		stop()
		all.Wait()
		l.Release()
	})
	await.Until(t, "the slot is taken", func() bool {
		list := l.Model.Requests()
		return len(list) > 1 && list[0].Phase == "decoding"
	})
	return s, web.URL
}

// TestPings: a stream that waits for its first token says so, in the dialect's form, and an
// error that comes then is the stream's end.
func TestPings(t *testing.T) {
	t.Parallel() // it waits for time limits
	for _, c := range streams {
		var text string
		for limit := range growing(t, 40*time.Millisecond) {
			t.Run("limit", func(t *testing.T) {
				var status int
				status, text = post(t, busy(t, Config{Ping: time.Millisecond, Timeout: limit})+c.path, c.body)
				if status != 200 && status != 504 {
					t.Errorf("%s: %d %s", c.path, status, text)
				}
			})
			if strings.HasPrefix(text, c.ping+c.ping) {
				break
			}
		}
		rest := strings.TrimLeft(text, " ")
		if c.ping != " " {
			rest = strings.ReplaceAll(text, c.ping, "")
		}
		if !strings.HasPrefix(rest, c.fail) && c.path != "/v1/responses" || strings.Contains(text, "[DONE]") {
			t.Errorf("%s: the stream ends with %q, want %q", c.path, rest, c.fail)
		}
		if c.path == "/v1/responses" { // which says first that it began
			if o := object(t, last(events(t, text))); at2(o, "response", "status") != "failed" || o["sequence_number"] != 2.0 {
				t.Errorf("the last event is %v", o)
			}
		}
	}
}

func last(list []string) string { return list[len(list)-1] }

// at2 follows two keys.
func at2(o map[string]any, a, b string) any {
	inner, _ := o[a].(map[string]any)
	return inner[b]
}

// TestNoPings: without silence there is none, and what is wrong with a request is told by a
// status however short the silence may be that is allowed.
func TestNoPings(t *testing.T) {
	t.Parallel() // it waits for time limits
	_, web := newServer(t, Config{Ping: -1})
	for _, c := range streams {
		_, text := post(t, web.URL+c.path, c.body)
		if strings.Contains(text, "ping") || strings.HasPrefix(text, " ") {
			t.Errorf("%s: %q", c.path, text)
		}
	}
	url := busy(t, Config{Ping: -1, Timeout: 40 * time.Millisecond})
	for _, c := range streams {
		if status, text := post(t, url+c.path, c.body); status != 504 || strings.Contains(text, "ping") {
			t.Errorf("%s: %d %s", c.path, status, text)
		}
	}
}

// TestPingFindsTheGone: a client that goes away while it waits for the first token does not
// keep its place in the queue.
func TestPingFindsTheGone(t *testing.T) {
	noLeaks(t)
	s, web := newServer(t, Config{Ping: time.Millisecond, Open: atenia.Config{Slots: 1}})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range 2 {
		q, _ := http.NewRequestWithContext(ctx, "POST", web.URL+"/v1/completions", strings.NewReader(`{"prompt":"Once","max_tokens":100000,"ignore_eos":true,"stream":true,"n":32}`))
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line == "" {
			t.Fatal(line, err)
		}
	}
	stop()
	await.Until(t, "both end", func() bool { return s.host.Running() == 0 })
}
