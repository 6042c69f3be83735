package serve

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"atenia/internal/golden/await"
)

// newServer serves the embedded model over HTTP.
func newServer(t testing.TB, c Config) (*Server, *httptest.Server) {
	t.Helper()
	c.Open.Threads = 1
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, web
}

// post sends a body and returns status and response.
func post(t testing.TB, url, body string, header ...string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	return do(t, q, header...)
}

func get(t testing.TB, url string, header ...string) (int, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, q, header...)
}

func do(t testing.TB, q *http.Request, header ...string) (int, string) {
	t.Helper()
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			q.Host = header[i+1]
		}
		q.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// object reads JSON.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// at follows a path of keys and indices.
func at(t testing.TB, v any, path ...any) any {
	t.Helper()
	for _, p := range path {
		switch p := p.(type) {
		case string:
			o, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("%v: %v is no object", path, v)
			}
			v = o[p]
		case int:
			l, ok := v.([]any)
			if !ok || p >= len(l) {
				t.Fatalf("%v: %v has no element %d", path, v, p)
			}
			v = l[p]
		}
	}
	return v
}

// events returns the data of a stream of events.
func events(t testing.TB, text string) (out []string) {
	t.Helper()
	sc := bufio.NewScanner(strings.NewReader(text))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}

// growing yields time limits, each twice as long as the one before, for a test that must see
// something before a limit ends and the limit all the same: the machine may be busy.
func growing(t *testing.T, limit time.Duration) iter.Seq[time.Duration] {
	end, ends := t.Deadline()
	return func(yield func(time.Duration) bool) {
		for ; !ends || 4*limit < time.Until(end); limit *= 2 {
			if !yield(limit) {
				return
			}
		}
		t.Fatalf("not even within %v", limit/2)
	}
}

// noLeaks checks that a test leaves no goroutines. Call it before all else.
func noLeaks(t *testing.T) {
	t.Helper()
	gone := await.Goroutines(t)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		gone()
	})
}
