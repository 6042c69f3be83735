package otlp

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"atenia"
	"atenia/internal/golden/await"
	"atenia/serve"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// A received is a span as a collector reads it from OTLP's JSON.
type received struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Flags                               uint32
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []attr
	Events                              []struct {
		TimeUnixNano, Name string
		Attributes         []attr
	}
	Status struct {
		Code    int
		Message string
	}
}

type attr struct {
	Key   string
	Value struct {
		StringValue *string
		IntValue    *string
		DoubleValue *float64
		BoolValue   *bool
		ArrayValue  *struct {
			Values []struct{ StringValue, IntValue *string }
		}
	}
}

// get returns an attribute as text, "" if there is none.
func get(list []attr, key string) string {
	for _, a := range list {
		if a.Key != key {
			continue
		}
		switch v := a.Value; {
		case v.StringValue != nil:
			return *v.StringValue
		case v.IntValue != nil:
			return *v.IntValue
		case v.DoubleValue != nil:
			return strconv.FormatFloat(*v.DoubleValue, 'g', -1, 64)
		case v.BoolValue != nil:
			return strconv.FormatBool(*v.BoolValue)
		case v.ArrayValue != nil:
			var all []string
			for _, e := range v.ArrayValue.Values {
				if e.StringValue != nil {
					all = append(all, *e.StringValue)
				}
			}
			return strings.Join(all, ",")
		}
	}
	return ""
}

// A collector is a server that takes spans.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	resource []attr
	spans    []received
	posts    int
	wrong    []string
	answer   func(post int) int // status of each post; nil = 200
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.posts++
	if c.answer != nil {
		if status := c.answer(c.posts); status != 200 {
			w.WriteHeader(status)
			return
		}
	}
	var body io.Reader = q.Body
	if q.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(body)
		if err != nil {
			c.wrong = append(c.wrong, err.Error())
			return
		}
		body = z
	}
	if q.Method != "POST" || q.URL.Path != "/v1/traces" || q.Header.Get("Content-Type") != "application/json" || q.Header.Get("X-Key") != "a b" {
		c.wrong = append(c.wrong, fmt.Sprint(q.Method, q.URL, q.Header))
	}
	var in struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes []attr }
			ScopeSpans []struct {
				Scope struct{ Name, Version string }
				Spans []received
			}
		}
	}
	if err := json.NewDecoder(body).Decode(&in); err != nil {
		c.wrong = append(c.wrong, err.Error())
	}
	for _, r := range in.ResourceSpans {
		c.resource = r.Resource.Attributes
		for _, s := range r.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	_, _ = w.Write([]byte("{}"))
}

// named returns the spans of a name, in the order in which they began.
func (c *collector) named(name string) (out []received) {
	for _, s := range c.spans {
		if s.Name == name {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b received) int { return strings.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano) })
	return out
}

func env(vars ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(vars); i += 2 {
			if vars[i] == name {
				return vars[i+1]
			}
		}
		return ""
	}
}

// TestServer: requests of a server arrive at a collector as spans, with the client's trace,
// the parts of each answer, and no word of what was said unless that is asked for.
func TestServer(t *testing.T) {
	t.Setenv("OTEL_SERVICE_NAME", "box-7")
	for _, prompts := range []bool{false, true} {
		c := newCollector(t)
		config, err := FromEnv(env("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL+"/", "OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b", "OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"))
		if err != nil {
			t.Fatal(err)
		}
		p := config.Provider("v1.2.3", slog.New(slog.DiscardHandler))
		s, err := serve.New(serve.Config{Tracer: p, LogPrompts: prompts, Open: atenia.Config{Threads: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(s)
		post := func(path, body string) {
			q, _ := http.NewRequestWithContext(t.Context(), "POST", web.URL+path, strings.NewReader(body))
			q.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
			resp, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			_, _ = io.Copy(io.Discard, resp.Body)
		}
		post("/v1/chat/completions", `{"messages":[{"role":"user","content":"secret-word"}],"max_tokens":5,"ignore_eos":true,"seed":9,"temperature":0.5,"n":2}`)
		post("/v1/completions", `{"prompt":"secret-word","temperature":-1}`)
		post("/v1/embeddings", `{"input":"secret-word"}`)
		http.Get(web.URL + "/health") // has none
		web.Close()
		if err := errors.Join(s.Close(), p.Shutdown(t.Context())); err != nil {
			t.Fatal(err)
		}
		if len(c.wrong) > 0 || get(c.resource, "service.name") != "box-7" || get(c.resource, "service.version") != "v1.2.3" {
			t.Fatalf("%v %+v", c.wrong, c.resource)
		}
		ids := map[string]received{}
		for _, s := range c.spans {
			from, err1 := strconv.ParseInt(s.StartTimeUnixNano, 10, 64)
			to, err2 := strconv.ParseInt(s.EndTimeUnixNano, 10, 64)
			if id, err := hex.DecodeString(s.SpanID); err != nil || len(id) != 8 || s.TraceID != "0af7651916cd43dd8448eb211c80319c" || err1 != nil || err2 != nil || from > to || time.Since(time.Unix(0, from)).Abs() > time.Hour {
				t.Errorf("%+v", s)
			}
			ids[s.SpanID] = s
		}
		roots := c.named("POST /v1/chat/completions")
		if len(roots) != 1 || roots[0].ParentSpanID != "b7ad6b7169203331" || roots[0].Kind != int(trace.SpanKindServer) || roots[0].Flags != 0x301 ||
			get(roots[0].Attributes, "http.response.status_code") != "200" || get(roots[0].Attributes, "http.route") != "/v1/chat/completions" {
			t.Fatalf("%+v", roots)
		}
		answers := c.named("chat atenia-story")
		if len(answers) != 2 {
			t.Fatalf("%d answers in %+v", len(answers), c.spans)
		}
		for _, a := range answers {
			for key, want := range map[string]string{
				"gen_ai.operation.name": "chat", "gen_ai.request.model": "atenia-story", "gen_ai.request.max_tokens": "5", "gen_ai.request.temperature": "0.5",
				"gen_ai.response.finish_reasons": "length", "gen_ai.usage.output_tokens": "5",
			} {
				if got := get(a.Attributes, key); got != want {
					t.Errorf("%s is %q, want %q", key, got, want)
				}
			}
			if n, _ := strconv.Atoi(get(a.Attributes, "gen_ai.usage.input_tokens")); n < 3 || a.ParentSpanID != roots[0].SpanID || len(a.Events) < 2 {
				t.Errorf("%+v", a)
			}
			at := a.StartTimeUnixNano
			for _, name := range []string{"queue", "prompt", "decode"} {
				found := 0
				for _, part := range c.named(name) {
					if part.ParentSpanID == a.SpanID {
						found++
						if part.StartTimeUnixNano != at {
							t.Errorf("%s begins at %s, want %s", name, part.StartTimeUnixNano, at)
						}
						at = part.EndTimeUnixNano
					}
				}
				if found != 1 {
					t.Errorf("%d spans %s of an answer", found, name)
				}
			}
			if said := get(a.Attributes, "gen_ai.input.messages"); prompts && said != `[{"role":"user","parts":[{"type":"text","content":"secret-word"}]}]` ||
				prompts != strings.Contains(get(a.Attributes, "gen_ai.output.messages"), `"role":"assistant"`) {
				t.Errorf("prompts %v: %q", prompts, said)
			}
		}
		if failed := c.named("POST /v1/completions"); len(failed) != 1 || get(failed[0].Attributes, "error.type") != "invalid_value" || get(failed[0].Attributes, "http.response.status_code") != "400" || failed[0].Status.Code != 0 {
			t.Errorf("%+v", failed)
		}
		if e := c.named("embeddings atenia-story"); len(e) != 1 || get(e[0].Attributes, "gen_ai.operation.name") != "embeddings" {
			t.Errorf("%+v", e)
		}
		if whole, _ := json.Marshal(c.spans); strings.Contains(string(whole), "secret-word") != prompts {
			t.Errorf("prompts %v: %s", prompts, whole)
		}
	}
}

// TestEncode: every type of a value arrives as it was, and an error is OTLP's number 2.
func TestEncode(t *testing.T) {
	c := newCollector(t)
	p := (&Config{URL: c.URL + "/v1/traces", Header: http.Header{"X-Key": {"a b"}}}).Provider("v", slog.New(slog.DiscardHandler))
	_, s := p.Tracer("t").Start(t.Context(), "x", trace.WithAttributes(
		attribute.Bool("b", true), attribute.Int64("i", math.MinInt64), attribute.Float64("f", 1e-300), attribute.String("s", "é\"\n"), attribute.StringSlice("l", []string{"1", "2"}),
	))
	s.SetStatus(codes.Error, "why")
	s.End()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.spans) != 1 || c.spans[0].Status.Code != 2 || c.spans[0].Status.Message != "why" || c.spans[0].ParentSpanID != "" || c.spans[0].Flags != 0x101 {
		t.Fatalf("%+v %v", c.spans, c.wrong)
	}
	for key, want := range map[string]string{"b": "true", "i": "-9223372036854775808", "f": "1e-300", "s": "é\"\n", "l": "1,2"} {
		if got := get(c.spans[0].Attributes, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

// TestRetries: a collector that is busy is asked again, one that refuses is not, and one that
// does not answer holds up nobody: what finds the queue full is dropped.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		statuses []int
		posts    int
		spans    int
	}{{[]int{503, 429, 200}, 3, 1}, {[]int{400}, 1, 0}, {[]int{401}, 1, 0}, {[]int{302}, 1, 0}, {[]int{200}, 1, 1}} {
		to := newCollector(t)
		to.answer = func(post int) int { return c.statuses[min(post, len(c.statuses))-1] }
		p := (&Config{URL: to.URL + "/v1/traces", Header: http.Header{"X-Key": {"a b"}}, Timeout: time.Minute}).Provider("v", slog.New(slog.DiscardHandler))
		_, s := p.Tracer("t").Start(t.Context(), "x")
		s.End()
		_ = p.Shutdown(t.Context()) // says what the collector refused
		if to.posts != c.posts || len(to.spans) != c.spans {
			t.Errorf("%v: %d posts, %d spans", c.statuses, to.posts, len(to.spans))
		}
	}
	asked, stop := make(chan struct{}, 1), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body)
		select {
		case asked <- struct{}{}:
		default:
		}
		<-stop
	}))
	defer silent.Close()
	defer close(stop)
	p := (&Config{URL: silent.URL, Timeout: time.Hour}).Provider("v", slog.New(slog.DiscardHandler))
	for range 10000 {
		_, s := p.Tracer("t").Start(t.Context(), "x")
		s.End()
	}
	await.Value(t, "a post", asked)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the end of a provider whose collector does not answer: %v", err)
	}
}

// TestFromEnv: the variables, those for traces first.
func TestFromEnv(t *testing.T) {
	const e, te = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	for _, c := range []struct {
		vars []string
		url  string // "" = off
		err  string
	}{
		{nil, "", ""},
		{[]string{e, "http://a:4318"}, "http://a:4318/v1/traces", ""},
		{[]string{e, "https://a/otlp/"}, "https://a/otlp/v1/traces", ""},
		{[]string{e, "http://a", te, "http://b/x"}, "http://b/x", ""},
		{[]string{e, "http://a", "OTEL_SDK_DISABLED", "TRUE"}, "", ""},
		{[]string{e, "http://a", "OTEL_TRACES_EXPORTER", "none"}, "", ""},
		{[]string{e, "http://a", "OTEL_TRACES_EXPORTER", "zipkin"}, "", "OTEL_TRACES_EXPORTER"},
		{[]string{e, "a:4318"}, "", "want a URL"},
		{[]string{e, "ftp://a"}, "", "want a URL"},
		{[]string{e, "http://a", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}, "", "PROTOCOL"},
		{[]string{e, "http://a", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf"}, "http://a/v1/traces", ""},
		{[]string{e, "http://a", "OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"}, "", "COMPRESSION"},
		{[]string{e, "http://a", "OTEL_EXPORTER_OTLP_TIMEOUT", "0"}, "", "TIMEOUT"},
		{[]string{e, "http://a", "OTEL_EXPORTER_OTLP_HEADERS", "secret"}, "", "HEADERS"},
		{[]string{e, "http://a", "OTEL_EXPORTER_OTLP_HEADERS", "a=%0d%0ab: c"}, "", "HEADERS"},
	} {
		got, err := FromEnv(env(c.vars...))
		if (err != nil) != (c.err != "") || err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%v: %v", c.vars, err)
		} else if err == nil && (got != nil) != (c.url != "") || got != nil && err == nil && got.URL != c.url {
			t.Errorf("%v: %+v", c.vars, got)
		}
	}
	got, err := FromEnv(env(te, "http://a", "OTEL_EXPORTER_OTLP_TIMEOUT", "1500", "OTEL_EXPORTER_OTLP_HEADERS", " api-key = k%3D , b=2"))
	if err != nil || got.Timeout != 1500*time.Millisecond || got.Header.Get("Api-Key") != "k=" || got.Header.Get("B") != "2" {
		t.Errorf("%+v %v", got, err)
	}
}
