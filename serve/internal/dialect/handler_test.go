package dialect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"atenia"
	"atenia/internal/golden/await"
	"atenia/serve/internal/host"

	"github.com/coder/websocket"
)

// pool has the embedded model as "story", which the tests share.
var pool = sync.OnceValues(func() (*host.Pool, error) {
	return host.NewPool(host.PoolConfig{Sources: []host.Source{{Name: "story"}}, Idle: -1})
})

// models returns the pool.
func models(t testing.TB) *host.Pool {
	t.Helper()
	p, err := pool()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// story borrows the model until the test ends.
func story(t testing.TB) *host.Lease {
	t.Helper()
	l, err := models(t).Borrow(context.Background(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Release)
	return l
}

// unused waits until nobody holds the model.
func unused(t *testing.T) {
	t.Helper()
	await.Until(t, "the end of the request", func() bool { return models(t).List()[0].Users == 0 })
}

// testConfig offers the embedded model, one that panics as "broken", and one that is
// never loaded as "slow".
func testConfig(t *testing.T) Config {
	models := models(t)
	return Config{Host: host.New(host.Config{}), Use: func(ctx context.Context, name string) (*host.Lease, error) {
		switch name {
		case "slow":
			<-ctx.Done()
			return nil, ctx.Err()
		case "":
			return models.Borrow(ctx, "")
		case "broken":
			panic("planted")
		}
		return nil, &host.Problem{Status: http.StatusNotFound, Code: "model_not_found", Message: fmt.Sprintf("no model %q", name)}
	}}
}

// A peer is a client of a test.
type peer struct {
	t *testing.T
	c *websocket.Conn
}

func dial(t *testing.T, c Config) (*Handler, *peer) {
	t.Helper()
	h := New(c)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	s, _, err := websocket.Dial(t.Context(), web.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.CloseNow() })
	s.SetReadLimit(1 << 20)
	return h, &peer{t, s}
}

func (p *peer) send(text string) {
	p.t.Helper()
	if err := p.c.Write(p.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) next() reply {
	p.t.Helper()
	_, b, err := p.c.Read(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	var r reply
	if err := json.Unmarshal(b, &r); err != nil {
		p.t.Fatalf("%q: %v", b, err)
	}
	return r
}

// TestAnswers: answers that share a connection are those that each has alone.
func TestAnswers(t *testing.T) {
	_, p := dial(t, testConfig(t))
	m := story(t)
	want, got, ends := map[string]string{}, map[string]string{}, 0
	for i, prompt := range []string{"Once upon a time", "The dog", "A little girl", "One day"} {
		id := fmt.Sprint(i)
		o := atenia.Options{MaxTokens: 12, Sampling: m.Sampling()}
		o.Sampling.Seed = uint64(i)
		for tok, err := range m.Generate(t.Context(), atenia.Prompt{Text: prompt, Options: o}) {
			if err != nil {
				t.Fatal(err)
			}
			want[id] += tok.Text
		}
		p.send(fmt.Sprintf(`{"type":"generate","id":"%d","prompt":%q,"max_tokens":12,"seed":%d}`, i, prompt, i))
	}
	for ends < len(want) {
		switch r := p.next(); r.Type {
		case "token":
			got[r.ID] += r.Text
		case "end":
			ends++
			if r.Finish != "length" || *r.Tokens != 12 {
				t.Errorf("%s: %q after %d", r.ID, r.Finish, *r.Tokens)
			}
		default:
			t.Fatalf("%+v", r)
		}
	}
	for id := range want {
		if got[id] != want[id] || got[id] == "" {
			t.Errorf("%s: %q, want %q", id, got[id], want[id])
		}
	}
}

// TestChat: messages are answered by the chat template.
func TestChat(t *testing.T) {
	_, p := dial(t, testConfig(t))
	p.send(`{"type":"generate","id":"c","messages":[{"role":"user","content":"Tell a story"}],"max_tokens":4,"temperature":0}`)
	text := ""
	for {
		r := p.next()
		if r.Type == "end" {
			break
		}
		if r.Type != "token" {
			t.Fatalf("%+v", r)
		}
		text += r.Text
	}
	if text == "" {
		t.Error("no answer")
	}
}

// TestCancel: a canceled request ends with finish cancel, and others go on.
func TestCancel(t *testing.T) {
	_, p := dial(t, testConfig(t))
	p.send(`{"type":"generate","id":"long","prompt":"Once","model":"slow"}`)
	p.send(`{"type":"generate","id":"other","prompt":"Once","max_tokens":3}`)
	for r := p.next(); r.Type != "end"; r = p.next() {
		if r.Type != "token" || r.ID != "other" {
			t.Fatalf("%+v", r)
		}
	}
	p.send(`{"type":"generate","id":"long","prompt":"Once"}`)
	p.send(`{"type":"cancel","id":"long"}`)
	p.send(`{"type":"cancel","id":"none"}`)
	twice, ended, missed := false, false, false
	for !twice || !ended || !missed {
		switch r := p.next(); {
		case r.Type == "token":
		case r.Type == "error" && r.Code == codeBad && r.ID == "long":
			twice = true
		case r.Type == "end" && r.Finish == "cancel":
			ended = true
		case r.Type == "error" && r.Code == codeMissed && r.ID == "none":
			missed = true
		default:
			t.Fatalf("%+v", r)
		}
	}
	p.send(`{"type":"ping","id":"7"}`)
	if r := p.next(); r.Type != "pong" || r.ID != "7" {
		t.Errorf("%+v", r)
	}
}

// TestBadMessages: each is answered, and the connection goes on.
func TestBadMessages(t *testing.T) {
	c := testConfig(t)
	c.AtOnce = 1
	_, p := dial(t, c)
	for _, q := range [][3]string{
		{`{`, codeBad, "unexpected EOF"},
		{`[]`, codeBad, "cannot unmarshal"},
		{`{} {}`, codeBad, "follows"},
		{`{"type":"x"}`, codeBad, "want generate"},
		{`{"type":"generate","prompt":"a"}`, codeBad, "want an id"},
		{`{"type":"generate","id":"a"}`, codeBad, "either prompt or messages"},
		{`{"type":"generate","id":"a","prompt":"a","messages":[]}`, codeBad, "either"},
		{`{"type":"generate","id":"a","messages":[]}`, codeBad, "want 1 to"},
		{`{"type":"generate","id":"a","messages":[{"role":"boss"}]}`, codeBad, `role is "boss"`},
		{`{"type":"generate","id":"a","prompt":"a","maxtokens":1}`, codeBad, `unknown field`},
		{`{"type":"generate","id":"a","prompt":"a","max_tokens":-1}`, codeBad, "max_tokens"},
		{`{"type":"generate","id":"a","prompt":"a","temperature":-1}`, codeBad, "emperature"},
		{`{"type":"generate","id":"a","prompt":"a","model":"none"}`, codeModel, "no model"},
		{`{"type":"generate","id":"a","prompt":"a","model":"broken"}`, codeFault, "internal error"},
		{`{"type":"generate","id":"a","prompt":"` + strings.Repeat("long ", 9000) + `"}`, codeBad, "context"},
		{`{"type":"cancel"}`, codeBad, "want the id"},
	} {
		p.send(q[0])
		if r := p.next(); r.Type != "error" || r.Code != q[1] || !strings.Contains(r.Message, q[2]) || strings.Contains(r.Message, "planted") {
			t.Errorf("%.80s: %+v, want %s %q", q[0], r, q[1], q[2])
		}
	}
	p.send(`{"type":"generate","id":"a","prompt":"Once","model":"slow"}`)
	p.send(`{"type":"generate","id":"b","prompt":"Once"}`)
	if r := p.next(); r.ID != "b" || r.Code != codeBusy {
		t.Errorf("%+v", r)
	}
}

// closed reads until the connection ends, and returns its status.
func (p *peer) closed() websocket.StatusCode {
	for {
		if _, _, err := p.c.Read(p.t.Context()); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// TestClosed: what is no message of text ends the connection with its status.
func TestClosed(t *testing.T) {
	c := testConfig(t)
	c.Message = 1000
	for want, f := range map[websocket.StatusCode]func(*websocket.Conn) error{
		websocket.StatusMessageTooBig: func(s *websocket.Conn) error {
			return s.Write(t.Context(), websocket.MessageText, make([]byte, 2000))
		},
		websocket.StatusUnsupportedData: func(s *websocket.Conn) error {
			return s.Write(t.Context(), websocket.MessageBinary, []byte("{}"))
		},
		websocket.StatusInvalidFramePayloadData: func(s *websocket.Conn) error {
			return s.Write(t.Context(), websocket.MessageText, []byte("{\"type\":\"\xff\"}"))
		},
	} {
		_, p := dial(t, c)
		if err := f(p.c); err != nil {
			t.Fatal(err)
		}
		if got := p.closed(); got != want {
			t.Errorf("closed with %v, want %v", got, want)
		}
	}
}

// TestOrigin: a page of another host is refused, one that was allowed is not.
func TestOrigin(t *testing.T) {
	c := testConfig(t)
	c.Origins = []string{"https://app.example"}
	web := httptest.NewServer(New(c))
	defer web.Close()
	for origin, want := range map[string]int{
		"": http.StatusSwitchingProtocols, web.URL: http.StatusSwitchingProtocols,
		"https://app.example": http.StatusSwitchingProtocols, "https://evil.example": http.StatusForbidden, "http://app.example": http.StatusForbidden,
	} {
		s, res, err := websocket.Dial(t.Context(), web.URL, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		if err == nil {
			s.CloseNow()
		}
		if res.StatusCode != want {
			t.Errorf("%q: %d, want %d", origin, res.StatusCode, want)
		}
	}
	res, err := http.Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("without an upgrade: %d", res.StatusCode)
	}
}

// TestSlow: a client that reads nothing is cut off, and its model given back.
func TestSlow(t *testing.T) {
	c := testConfig(t)
	lent := make(chan struct{}, 64)
	use := c.Use
	c.Write, c.AtOnce = 200*time.Millisecond, cap(lent)
	c.Use = func(ctx context.Context, name string) (*host.Lease, error) {
		defer func() { lent <- struct{}{} }()
		return use(ctx, name)
	}
	h, p := dial(t, c)
	for i := range cap(lent) { // more than ends before the cut
		p.send(fmt.Sprintf(`{"type":"generate","id":"%d","prompt":"Once","max_tokens":100000}`, i))
	}
	await.Value(t, "an answer that has the model", lent)
	go func() { // answered while nothing is read, until the system's buffers are full
		for p.c.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ping","id":"`+strings.Repeat("x", mostID)+`"}`)) == nil {
		}
	}()
	gone(t, h)
	unused(t)
}

// TestSilent: a client that answers no ping is cut off.
func TestSilent(t *testing.T) {
	c := testConfig(t)
	c.Ping = 50 * time.Millisecond
	h, _ := dial(t, c) // which does not read, so that it answers no ping
	gone(t, h)
}

// gone waits until the server has no connection.
func gone(t *testing.T, h *Handler) {
	t.Helper()
	await.Until(t, "the end of the connection", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.conns) == 0
	})
}

// TestShutdown: answers end first, nothing begins, and the status says why.
func TestShutdown(t *testing.T) {
	h, p := dial(t, testConfig(t))
	p.send(`{"type":"generate","id":"a","prompt":"Once upon a time","max_tokens":40}`)
	p.next()
	done := make(chan error, 1)
	go func() { done <- h.Shutdown(t.Context()) }()
	for r := p.next(); r.Type != "end"; r = p.next() {
		if r.Type != "token" {
			t.Fatalf("%+v", r)
		}
	}
	if got := p.closed(); got != websocket.StatusGoingAway {
		t.Errorf("closed with %v", got)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("after shutdown: %d", w.Code)
	}
	h, p = dial(t, testConfig(t))
	p.send(`{"type":"generate","id":"a","prompt":"Once upon a time","model":"slow"}`)
	p.send(`{"type":"ping"}`)
	p.next()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := h.Shutdown(ctx); err == nil {
		t.Error("an answer that never comes has ended")
	}
}

// TestDraining: while the last answer of a connection goes on, requests that come are told
// that the server shuts down.
func TestDraining(t *testing.T) {
	h, p := dial(t, testConfig(t))
	p.send(`{"type":"generate","id":"a","prompt":"Once","model":"slow"}`)
	p.send(`{"type":"ping"}`)
	p.next()
	down := make(chan error, 1)
	go func() { down <- h.Shutdown(t.Context()) }()
	await.Until(t, "a connection that is told", func() bool {
		draining := 0
		h.mu.Lock()
		defer h.mu.Unlock()
		for c := range h.conns {
			c.mu.Lock()
			if c.draining {
				draining++
			}
			c.mu.Unlock()
		}
		return draining == 1
	})
	p.send(`{"type":"generate","id":"b","prompt":"Once","max_tokens":1}`)
	if r := p.next(); r.Type != "error" || r.ID != "b" || r.Code != codeClosed {
		t.Errorf("%+v", r)
	}
	p.send(`{"type":"cancel","id":"a"}`)
	if r := p.next(); r.ID != "a" || r.Finish != "cancel" {
		t.Errorf("%+v", r)
	}
	if got := p.closed(); got != websocket.StatusGoingAway {
		t.Errorf("closed with %v", got)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}

func FuzzMessage(f *testing.F) {
	for _, s := range []string{
		`{"type":"generate","id":"a","prompt":"Once","max_tokens":3,"stop":["x"],"temperature":0.5,"top_k":3,"seed":18446744073709551615}`,
		`{"type":"generate","id":"a","messages":[{"role":"user","content":"Hello"}],"min_p":1e39}`, `{"type":"cancel","id":"a"}`, `{"type":"ping"}`, `{}{}`,
	} {
		f.Add([]byte(s))
	}
	q, l := host.New(host.Config{}).Begin(f.Context(), "", "fuzz"), story(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parse(b)
		if err != nil {
			return
		}
		if len(r.ID) > mostID || len(r.Messages) > mostMessages {
			t.Errorf("beyond the limits: %+v", r)
		}
		if r.Type == "generate" {
			_, _ = r.answer(q, l)
		}
	})
}
