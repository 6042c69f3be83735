package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"atenia"
	"atenia/internal/cli/toolbox"
	"atenia/internal/golden/await"
	"atenia/internal/machine/ledger"
	"atenia/place"
	"atenia/serve/internal/host"
)

// zeros is a body that never ends.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestLargeBodies: a body of 1 GB is refused, whether it says so or not, long before it
// is read.
func TestLargeBodies(t *testing.T) {
	t.Parallel() // package http waits before it closes such a connection
	_, web := newServer(t, Config{})
	for _, length := range []int64{1 << 30, -1} {
		q, _ := http.NewRequestWithContext(t.Context(), "POST", web.URL+"/v1/chat/completions", io.LimitReader(zeros{}, 1<<30))
		q.ContentLength = length
		q.Header.Set("Expect", "100-continue")
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 413 {
			t.Errorf("length %d: %d", length, resp.StatusCode)
		}
	}
}

// TestHostileBodies: bodies and schemas that are made to break a server are refused with a
// reason, in every dialect, and the server goes on.
func TestHostileBodies(t *testing.T) {
	_, web := newServer(t, Config{})
	deep := strings.Repeat(`{"type":"array","items":`, 5000) + `{}` + strings.Repeat("}", 5000)
	bomb := `{"type":"string","pattern":"^(((((a{1,60}){1,60}){1,60}){1,60}){1,60}){1,60}$"}`
	self := `{"type":"array","items":{"$ref":"#"},"minItems":1}` // no document is of it
	round := `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`
	dialects := []struct{ path, schema, plain string }{
		{"/v1/chat/completions", `{` + hello + `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":%s}}}`, `{` + hello + `}`},
		{"/v1/responses", `{"input":"a","text":{"format":{"type":"json_schema","name":"x","schema":%s}}}`, `{"input":"a"}`},
		{"/v1/messages", `{"model":"default","max_tokens":4,` + hello + `,"output_config":{"format":{"type":"json_schema","schema":%s}}}`, `{"model":"default","max_tokens":4,` + hello + `}`},
		{"/api/chat", `{"model":"default",` + hello + `,"format":%s}`, `{"model":"default",` + hello + `}`},
	}
	for _, d := range dialects {
		for name, schema := range map[string]string{"deep": deep, "bomb": bomb, "self": self, "round": round} {
			status, text := post(t, web.URL+d.path, fmt.Sprintf(d.schema, schema))
			if status != 400 || strings.Contains(text, "internal") || len(text) > 2000 {
				t.Errorf("%s: the schema %s: %d %.300s", d.path, name, status, text)
			}
		}
		for name, body := range map[string]string{
			"cut": d.plain[:len(d.plain)-1], "two": d.plain + d.plain, "not UTF-8": strings.Replace(d.plain, `"`, "\"\xff\":1,\"", 1), "deep": strings.Repeat("[", 1<<20),
			"list": "[]", "text": `"a"`, "nothing": "", "NUL": "\x00",
		} {
			if status, text := post(t, web.URL+d.path, body); status != 400 || strings.Contains(text, "internal") {
				t.Errorf("%s: a body that is %s: %d %.300s", d.path, name, status, text)
			}
		}
	}
	if status, text := post(t, web.URL+"/v1/completions", `{"prompt":"Once","max_tokens":1}`); status != 200 {
		t.Error(status, text)
	}
}

// TestBusy: more requests than the limit are told to come again.
func TestBusy(t *testing.T) {
	s, web := newServer(t, Config{MaxRequests: 1})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	q, _ := http.NewRequestWithContext(ctx, "POST", web.URL+"/v1/completions", strings.NewReader(`{"prompt":"Once","max_tokens":100000,"ignore_eos":true,"stream":true,"n":8}`))
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	slow, _ := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
	defer slow.Close()
	fmt.Fprintf(slow, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n")
	await.Until(t, "the slow request holds its place", func() bool { return s.host.Running() >= 1 })
	status, text := post(t, web.URL+"/v1/completions", `{"prompt":"Once"}`)
	if status != 429 || !strings.Contains(text, "server's limit") {
		t.Error(status, text)
	}
	if status, _ := get(t, web.URL+"/health"); status != 200 {
		t.Errorf("health is %d", status)
	}
}

// TestAsManyAsTheLimit: exactly as many requests as the limit are under way at a time, and
// an ended one makes room.
func TestAsManyAsTheLimit(t *testing.T) {
	s, web := newServer(t, Config{MaxRequests: 3, MaxBody: 1 << 10})
	held, hold := make(chan bool), make(chan bool)
	s.host.Mount(s.mux, []host.Route{{Pattern: "GET /hold", Serve: func(_ http.ResponseWriter, r *host.Request) error {
		held <- true
		<-hold
		return r.WriteJSON(200, "done")
	}}})
	for range 4 { // rounds: nothing stays counted
		answered := make(chan int, 3)
		for range 3 {
			go func() {
				status, _ := get(t, web.URL+"/hold")
				answered <- status
			}()
		}
		for range 3 {
			<-held
		}
		if status, _ := get(t, web.URL+"/v1/models"); status != 429 {
			t.Errorf("a fourth request: %d", status)
		}
		for range 3 {
			hold <- true
		}
		for range 3 {
			if status := <-answered; status != 200 {
				t.Errorf("one of three: %d", status)
			}
		}
		await.Until(t, "they end", func() bool { return s.host.Running() == 0 })
	}
	for range 6 { // more bytes than unfinished bodies of three requests may have
		if status, text := post(t, web.URL+"/v1/completions", `{"prompt":"Once","max_tokens":1`+strings.Repeat(" ", 900)+`}`); status != 200 {
			t.Fatal(status, text)
		}
	}
}

// TestBodiesCounted: bytes of a body that is still coming are in the process's account,
// and leave it with the client.
func TestBodiesCounted(t *testing.T) {
	_, web := newServer(t, Config{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const most = 3 << 20
	fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", most+1, strings.Repeat(" ", most))
	counted := func() bool { return ledger.Process.Of(ledger.Bodies) >= most }
	await.Until(t, "the body is counted", counted)
	conn.Close()
	await.Until(t, "it is no more", func() bool { return !counted() })
}

// TestPanic: a panic in a handler is a 500 with an id, and the rest goes on.
func TestPanic(t *testing.T) {
	s, web := newServer(t, Config{})
	s.host.Mount(s.mux, []host.Route{{Pattern: "GET /panic", Serve: func(http.ResponseWriter, *host.Request) error { panic("planted") }}})
	status, text := get(t, web.URL+"/panic")
	if status != 500 || !strings.Contains(text, "internal error (request req-") || strings.Contains(text, "planted") {
		t.Error(status, text)
	}
	if status, text := post(t, web.URL+"/v1/completions", `{"prompt":"Once","max_tokens":1}`); status != 200 {
		t.Error(status, text)
	}
	if n := s.host.Running(); n != 0 {
		t.Errorf("%d requests are counted", n)
	}
}

// TestDrain: requests that run finish, new ones are refused, and readiness ends.
func TestDrain(t *testing.T) {
	s, web := newServer(t, Config{})
	hold, held := make(chan bool), make(chan bool)
	s.host.Mount(s.mux, []host.Route{{Pattern: "GET /hold", Serve: func(_ http.ResponseWriter, r *host.Request) error {
		close(held)
		<-hold
		return r.WriteJSON(200, "done")
	}}})
	answered := make(chan string)
	go func() {
		_, text := get(t, web.URL+"/hold")
		answered <- text
	}()
	<-held
	drained := make(chan error)
	go func() { drained <- s.Drain(t.Context()) }()
	await.Until(t, "readiness ends", func() bool {
		status, _ := get(t, web.URL+"/health/ready")
		return status == 503
	})
	if status, _ := get(t, web.URL+"/health/live"); status != 200 {
		t.Errorf("liveness is %d", status)
	}
	if status, text := post(t, web.URL+"/v1/completions", `{"prompt":"Once"}`); status != 503 || !strings.Contains(text, "shutting down") {
		t.Error(status, text)
	}
	select {
	case err := <-drained:
		t.Fatalf("drained while a request ran: %v", err)
	default:
	}
	close(hold)
	if text := <-answered; !strings.Contains(text, "done") {
		t.Error(text)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
	if err := s.Drain(t.Context()); err != nil {
		t.Errorf("nothing ran: %v", err)
	}
}

// TestDisconnect: clients that go away at any byte of a stream leave nothing behind.
func TestDisconnect(t *testing.T) {
	noLeaks(t)
	s, web := newServer(t, Config{})
	rng := rand.New(rand.NewPCG(1, 2))
	address := strings.TrimPrefix(web.URL, "http://")
	body := `{` + hello + `,"max_tokens":200,"ignore_eos":true,"stream":true,"n":2}`
	request := fmt.Sprintf("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	for range 60 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if n := rng.IntN(2 * len(request)); n < len(request) {
			io.WriteString(c, request[:n])
		} else {
			io.WriteString(c, request)
			io.CopyN(io.Discard, c, int64(rng.IntN(5000)))
		}
		c.Close()
	}
	await.Until(t, "all requests end", func() bool { return s.host.Running() == 0 })
	if l := s.pool.List()[0]; l.Users != 0 {
		t.Errorf("%d leases are left", l.Users)
	}
}

// TestSlowReader: a client that does not read its stream is cut off, and others do not
// notice.
func TestSlowReader(t *testing.T) {
	noLeaks(t)
	s, web := newServer(t, Config{WriteTimeout: 200 * time.Millisecond})
	begun := make(chan struct{})
	s.host.Mount(s.mux, []host.Route{{Pattern: "GET /flood", Serve: func(_ http.ResponseWriter, r *host.Request) error {
		close(begun)
		e := r.Events(host.Manner{})
		for {
			if err := e.Data(strings.Repeat("x", 1<<16)); err != nil {
				return err
			}
		}
	}}})
	c, err := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n")
	await.Value(t, "the flood", begun)
	if status, text := post(t, web.URL+"/v1/completions", `{"prompt":"Once","max_tokens":1}`); status != 200 {
		t.Error(status, text)
	}
	await.Until(t, "the slow client is cut off", func() bool { return s.host.Running() == 0 })
}

// TestHalfBodies: requests whose body is still coming lock out nobody, and those that are
// refused, or need no body, end without it. Servers of tools that misbehave are tried beside
// them, since both mostly wait, and no other test may run where goroutines are counted.
func TestHalfBodies(t *testing.T) {
	noLeaks(t)
	t.Run("Clients", testHalfBodies)
	t.Run("Misbehaving", testMisbehaving)
}

func testHalfBodies(t *testing.T) {
	t.Parallel()
	refused := halfBodies(t) // while the others have as long to send the rest
	halfBodiesOfOthers(t)
	if line := await.Value(t, "a refusal of 2,700 bytes of bodies, more than 2 of 1,024", refused); !strings.Contains(line, "429") {
		t.Errorf("the answer begins with %q", line)
	}
}

// halfBodies checks that requests whose body is still coming lock out nobody, however many,
// and that their bytes have a limit: it returns what the one that passes it is told.
func halfBodies(t *testing.T) <-chan string {
	s, web := newServer(t, Config{MaxRequests: 2, MaxBody: 1 << 10})
	var all []net.Conn
	t.Cleanup(func() {
		for _, c := range all {
			c.Close()
		}
		await.Until(t, "unfinished requests end with their connections", func() bool { return s.host.Running() == 0 })
	})
	half := func(bytes int) {
		c, err := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
		fmt.Fprintf(c, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{%s", strings.Repeat(" ", bytes))
	}
	for range 20 {
		half(0)
	}
	await.Until(t, "20 requests begin", func() bool { return s.host.Running() == 20 })
	if status, text := post(t, web.URL+"/v1/completions", `{"prompt":"Once","max_tokens":1}`); status != 200 {
		t.Error(status, text)
	}
	refused := make(chan string, 3) // which of them is the one too many is not known
	for range 3 {
		half(900) // more than two bodies of 1 KiB
		c := all[len(all)-1]
		go func() {
			line, _ := bufio.NewReader(c).ReadString('\n')
			refused <- line
		}()
	}
	return refused
}

// halfBodiesOfOthers checks that a request that is refused, or that needs no body, does not
// wait for the rest of one.
func halfBodiesOfOthers(t *testing.T) {
	s, web := newServer(t, Config{MaxRequests: 3, Keys: []string{"the-right-key"}})
	var all []net.Conn
	for i := range 12 {
		c, err := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
		what := []string{"POST /v1/completions", "GET /v1/models", "POST /nowhere", "GET /health"}[i%4]
		fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{", what)
	}
	await.Until(t, "the requests begin", func() bool { return s.host.Running() >= 4 })
	if status, text := post(t, web.URL+"/v1/completions", `{"prompt":"Once","max_tokens":1}`, "Authorization", "Bearer the-right-key"); status != 200 {
		t.Error(status, text)
	}
	await.Until(t, "those without the key are answered", func() bool { return s.host.Running() == 0 })
	for i, c := range all[:2] {
		if line, err := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "401") {
			t.Error(i, line, err)
		}
	}
}

// TestPromptsAreNotLogged: nothing that clients or models say is in the log, unless it is
// asked for.
func TestPromptsAreNotLogged(t *testing.T) {
	for _, asked := range []bool{false, true} {
		var mu sync.Mutex
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(b)
		}), &slog.HandlerOptions{Level: slog.LevelDebug}))
		_, web := newServer(t, Config{Logger: logger, LogPrompts: asked})
		post(t, web.URL+"/v1/chat/completions", `{"messages":[{"role":"user","content":"secret-word"}],"max_tokens":4,"colour":1}`)
		post(t, web.URL+"/v1/completions", `{"prompt":"secret-word","max_tokens":4}`)
		post(t, web.URL+"/v1/completions", `{"prompt":"secret-word"`)
		mu.Lock()
		text := log.String()
		mu.Unlock()
		if strings.Contains(text, "secret-word") != asked {
			t.Errorf("asked is %v, the log is\n%s", asked, text)
		}
		if !strings.Contains(text, "unknown field is ignored") || !strings.Contains(text, "field=colour") {
			t.Errorf("the unknown field is not in\n%s", text)
		}
	}
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestMetrics: what was asked and answered is counted.
func TestMetrics(t *testing.T) {
	_, web := newServer(t, Config{})
	post(t, web.URL+"/v1/completions", `{"prompt":"Once upon a time","max_tokens":5,"ignore_eos":true}`)
	post(t, web.URL+"/v1/completions", `{"prompt":"Once upon a time","max_tokens":1,"ignore_eos":true}`)
	post(t, web.URL+"/v1/completions", `{`)
	_, text := get(t, web.URL+"/metrics")
	for _, line := range []string{
		`atenia_requests_total{route="/v1/completions",status="200"} 2`, `atenia_requests_total{route="/v1/completions",status="400"} 1`,
		`atenia_tokens_total{kind="answer",model="atenia-story"} 6`, `atenia_first_token_seconds_count{model="atenia-story"} 2`,
		`atenia_between_tokens_seconds_count{model="atenia-story"} 4`, `atenia_model_loads_total{model="atenia-story",result="ok"} 1`, "atenia_models_loaded 1",
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
}

// TestMetricsOfDrafts: drafted and accepted tokens are counted as the usage of answers
// says.
func TestMetricsOfDrafts(t *testing.T) {
	_, web := newServer(t, Config{})
	var drafted, accepted int
	for range 4 {
		_, text := post(t, web.URL+"/v1/completions", `{"prompt":"Once upon a time there was a little dog. Once upon a time there was a little dog. Once upon a time","max_tokens":60,"temperature":0,"ignore_eos":true}`)
		var a struct {
			Usage struct {
				Details struct {
					Accepted int `json:"accepted_prediction_tokens"`
					Rejected int `json:"rejected_prediction_tokens"`
				} `json:"completion_tokens_details"`
			} `json:"usage"`
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatal(err)
		}
		accepted += a.Usage.Details.Accepted
		drafted += a.Usage.Details.Accepted + a.Usage.Details.Rejected
	}
	_, text := get(t, web.URL+"/metrics")
	for line, n := range map[string]int{"draft": drafted, "accepted": accepted} {
		if want := fmt.Sprintf("atenia_spec_decode_num_%s_tokens_total{model=\"atenia-story\"} %d\n", line, n); n > 0 && !strings.Contains(text, want) {
			t.Errorf("no line %sin\n%s", want, text)
		}
	}
}

// TestMetricsOfDraftModel: a model is served with its draft model; what that drafted is
// counted apart.
func TestMetricsOfDraftModel(t *testing.T) {
	for _, draft := range []string{"atenia-story", "early:1"} {
		_, web := newServer(t, Config{Models: []Model{{Draft: draft}}})
		for range 3 {
			post(t, web.URL+"/v1/completions", `{"prompt":"Once","max_tokens":40,"temperature":0,"ignore_eos":true,"speculate":"draft"}`)
		}
		_, text := get(t, web.URL+"/metrics")
		count := func(name string) (n int) {
			_, after, ok := strings.Cut(text, "\natenia_spec_decode_num_"+name+"_tokens_total{model=\"atenia-story\"} ")
			if _, err := fmt.Sscan(after, &n); !ok || err != nil {
				t.Errorf("%s: no count %s", draft, name)
			}
			return n
		}
		if n, of := count("model_draft"), count("draft"); n == 0 || n != of || count("model_accepted") != count("accepted") {
			t.Errorf("%s: %d of %d drafted tokens are the draft model's", draft, n, of)
		}
	}
	if _, err := New(Config{Models: []Model{{Draft: "no-such.gguf"}}}); err == nil || !strings.Contains(err.Error(), "draft model: ") {
		t.Errorf("%v", err)
	}
}

// TestManyModels: models are loaded when they are wanted and unloaded when idle.
func TestManyModels(t *testing.T) {
	noLeaks(t)
	s, web := newServer(t, Config{Models: []Model{{Name: "a"}, {Name: "b"}}, Idle: 50 * time.Millisecond})
	if l := s.pool.List(); !l[0].Loaded || l[1].Loaded {
		t.Errorf("at first: %+v", l)
	}
	if status, text := post(t, web.URL+"/v1/completions", `{"model":"b","prompt":"Once","max_tokens":1}`); status != 200 {
		t.Fatal(status, text)
	}
	await.Until(t, "b is unloaded", func() bool { return !s.pool.List()[1].Loaded })
	if !s.pool.List()[0].Loaded {
		t.Error("the first model was unloaded, too")
	}
	if status, text := post(t, web.URL+"/v1/completions", `{"model":"b","prompt":"Once","max_tokens":1}`); status != 200 {
		t.Fatal(status, text)
	}
}

// TestBudget: a model that has no room is loaded when another one that is idle leaves its
// own, and is refused with the numbers while that is in use.
func TestBudget(t *testing.T) {
	pl := func() int64 {
		p, err := atenia.OpenPlan("", &atenia.Config{Threads: 1, Budget: place.Budget{RAM: 1 << 30}})
		if err != nil {
			t.Fatal(err)
		}
		placed, err := p.Place()
		if err != nil {
			t.Fatal(err)
		}
		return placed.RAM()
	}()
	c := Config{Models: []Model{{Name: "a"}, {Name: "b"}}}
	c.Open.Budget.RAM = pl * 3 / 2
	s, web := newServer(t, c)
	if l := s.pool.List()[0]; l.Share == 0 || l.Share > c.Open.Budget.RAM {
		t.Errorf("a has %d of %d", l.Share, c.Open.Budget.RAM)
	}
	lease, err := s.pool.Borrow(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	status, text := post(t, web.URL+"/v1/completions", `{"model":"b","prompt":"Once","max_tokens":1}`)
	if status != 503 || !strings.Contains(text, "needs at least") || !strings.Contains(text, `1 request`) {
		t.Error(status, text)
	}
	lease.Release()
	if status, text := post(t, web.URL+"/v1/completions", `{"model":"b","prompt":"Once","max_tokens":1}`); status != 200 {
		t.Error(status, text)
	}
	if s.pool.List()[0].Loaded {
		t.Error("both are loaded")
	}
}

// TestClosed: requests after Close are refused.
func TestClosed(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost/v1/completions", strings.NewReader(`{"prompt":"a"}`)))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if err := s.Ready(t.Context()); err != nil && !errors.Is(err, atenia.ErrClosed) && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzBody: no body makes an endpoint panic, or answer with a fault of its own.
func FuzzBody(f *testing.F) {
	box := openBox(f, map[string]toolbox.Server{"x": {Command: "no-such-program-here"}})
	s, err := New(Config{MaxBody: 1 << 16, Open: atenia.Config{Threads: 1, Context: 64}, Tools: Tools{Servers: box}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	paths := []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/rerank", "/tokenize", "/detokenize", "/v1/conversations", "/v1/responses/compact", "/v1/responses/input_tokens", "/v1/verify", "/completion", "/apply-template", "/v1/messages"}
	for i, body := range []string{
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}],"max_tokens":1}`,
		`{"prompt":["a",1],"n":2,"max_tokens":1}`, `{"input":[{"type":"function_call","call_id":"a","name":"b","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"c"}],"max_output_tokens":1}`,
		`{"input":[[1,2],[3]],"encoding_format":"base64"}`, `{"query":"a","documents":["b",{"text":"c"}]}`, `{"content":"\ud800"}`, `{"tokens":[1,-1]}`,
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"[1]"}}]}],"stream":true,"max_tokens":1,"tools":[{"type":"function","function":{"name":"f"}}]}`,
	} {
		f.Add(uint8(i%7), body)
	}
	for i, body := range []string{
		`{"items":[{"role":"user","content":"a"},{"type":"function_call","id":5,"call_id":"a"}],"metadata":{"a":"b"}}`,
		`{"input":[{"role":"system","content":"a"},{"role":"user","content":[{"type":"input_text","text":"b"}]},{"type":"reasoning","summary":[]}]}`,
		`{"input":[{"type":"item_reference","id":"msg_1_0"}],"conversation":{"id":"conv_1"},"metadata":{"a":null}}`,
	} {
		f.Add(uint8(7+i), body)
	}
	const verify = 10 // of paths
	for _, body := range []string{
		`{"receipt":{"version":1,"arithmetic":1,"files":{},"prompt":[1,2],"prompt_tokens":2,"answer":[3]}}`, `{"receipt":{"version":1},"request":{"messages":[]},"endpoint":"/v1/messages"}`,
		`{"receipt":{"version":1},"request":{"input":"a","tools":[{"type":"namespace","name":"n","tools":[{"type":"custom","name":"c","format":{"type":"grammar","syntax":"regex","definition":"["}}]}]},"endpoint":"/v1/responses"}`,
	} {
		f.Add(uint8(verify), body)
	}
	const responses = 2 // of paths
	for _, body := range []string{
		`{"input":[{"type":"mcp_approval_request","id":"a","server_label":"x","name":"f","arguments":"{}"},{"type":"mcp_approval_response","approval_request_id":"a","approve":false,"reason":"no"}],"tools":[{"type":"mcp","server_label":"x","allowed_tools":{"tool_names":["f"]},"require_approval":{"never":{"tool_names":["f"]}}}],"max_output_tokens":1}`,
		`{"input":[{"type":"mcp_list_tools","server_label":"x"},{"type":"mcp_call","id":"c","server_label":"x","name":"f","arguments":"{}","output":null,"error":{"code":1}},{"role":"user","content":"b"}],"include":["message.output_text.logprobs"],"top_logprobs":2,"max_output_tokens":1,"stream":true}`,
	} {
		f.Add(uint8(responses), body)
	}
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		w := httptest.NewRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "http://localhost"+paths[int(which)%len(paths)], strings.NewReader(body)))
		if w.Code == 500 {
			t.Errorf("%q: %s", body, w.Body)
		}
		sc := bufio.NewScanner(w.Body)
		for sc.Scan() {
			if strings.Contains(sc.Text(), "internal_error") {
				t.Errorf("%q: %s", body, sc.Text())
			}
		}
	})
}
