package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"atenia/internal/golden/await"
)

// TestReport: the times of events, seen through a fake clock, are those that the
// server kept, and readers that are slow do not count.
func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		l := &load{c: LoadConfig{Pause: time.Hour}}
		var s samples
		var want []time.Duration
		tokens := 0
		for range 50 {
			gaps := make([]time.Duration, 1+r.IntN(40))
			for i := range gaps {
				gaps[i] = time.Duration(1+r.IntN(1e6)) * time.Microsecond
			}
			pr, pw := io.Pipe()
			go func() {
				for i, g := range gaps {
					time.Sleep(g)
					fmt.Fprintf(pw, "data: {\"choices\":[{\"text\":\"t%d\",\"finish_reason\":null}]}\n\n", i)
				}
				fmt.Fprintf(pw, "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"completion_tokens\":%d}}\n\ndata: [DONE]\n\n", len(gaps))
				pw.Close()
			}()
			q := request{slow: r.IntN(4) == 0}
			o := outcome{status: 200, slow: q.slow}
			o.err = l.read(pr, &q, time.Now(), &o)
			if o.first != gaps[0] {
				t.Fatalf("the first token after %v, want %v", o.first, gaps[0])
			}
			if tokens += len(gaps); !q.slow {
				want = append(want, gaps[1:]...)
			}
			if !s.add(o) {
				t.Fatal(o.err)
			}
		}
		got := report(&LoadConfig{Streams: 1}, 10*time.Second, []samples{s})
		slices.Sort(want)
		if b := got.Between; b.Samples != len(want) || b.Median != want[(len(want)-1)/2].Seconds() || b.Max != want[len(want)-1].Seconds() || b.P99 < b.Median || b.P99 > b.Max {
			t.Errorf("between tokens %+v, want the median %v and the longest %v of %d", b, want[(len(want)-1)/2], want[len(want)-1], len(want))
		}
		if got.Tokens != tokens || got.Speed != float64(tokens)/10 || got.Completed != 50 || got.Requests != 50 {
			t.Errorf("%+v, want %d tokens of 50 requests", got, tokens)
		}
	})
}

// TestStreams: a server sees no more than so many requests at once, all that were
// asked for, and each kind of outcome is counted as what it is.
func TestStreams(t *testing.T) {
	var mu sync.Mutex
	running, most, asked := 0, 0, 0
	prompts := map[string]bool{}
	all, once := make(chan struct{}), sync.Once{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		b, _ := io.ReadAll(q.Body)
		mu.Lock()
		running, asked = running+1, asked+1
		n := asked
		if most = max(most, running); running == 4 {
			once.Do(func() { close(all) })
		}
		prompts[string(b)] = true
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		select {
		case <-all:
		case <-q.Context().Done(): // fewer streams than were asked for
			return
		}
		switch n % 5 {
		case 0:
			http.Error(w, "busy", http.StatusTooManyRequests)
			return
		case 1:
			http.Error(w, "no", http.StatusBadRequest)
			return
		case 2:
			io.WriteString(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\n") // and no end
			return
		case 3:
			io.WriteString(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"error\":{\"message\":\"broke\"}}\n\n")
			return
		}
		io.WriteString(w, "data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"completion_tokens\":7}}\n\ndata: [DONE]\n\n")
	}))
	defer web.Close()
	var r *LoadReport
	done := make(chan error, 1)
	go func() {
		var err error
		r, err = Load(t.Context(), LoadConfig{URL: web.URL, Streams: 4, Requests: 10, Seed: 5})
		done <- err
	}()
	if err := await.Value(t, "four requests at once", done); err != nil {
		t.Fatal(err)
	}
	if r.Requests != 40 || r.Refused != 8 || r.Failed != 24 || r.Completed != 8 || r.Tokens != 8*7 || most != 4 {
		t.Errorf("%+v, %d at once", r, most)
	}
	if len(r.Errors) == 0 || len(prompts) != 40 {
		t.Errorf("%d errors; %d different requests, want 40", len(r.Errors), len(prompts))
	}
}

// TestRunIsCancelled: the end of the context ends a run with its error.
func TestRunIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.NewResponseController(w).Flush()
		cancel()
		<-q.Context().Done()
	}))
	defer web.Close()
	if _, err := Load(ctx, LoadConfig{URL: web.URL, Duration: time.Hour}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestConfig: all that is wrong is said at once.
func TestConfig(t *testing.T) {
	_, err := Load(t.Context(), LoadConfig{URL: "localhost:1", Streams: -1, Cancel: 2, Slow: -1, Pause: -1})
	for _, want := range []string{`"localhost:1" is no URL`, "streams is -1", "cancel is 2", "slow is -1", "pause is -1ns"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

// FuzzEvents: whatever a server sends, a stream without its last line is an error, and
// there are fewer gaps than events.
func FuzzEvents(f *testing.F) {
	f.Add("data: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"completion_tokens\":7}}\n\ndata: [DONE]\n\n")
	f.Add("data: {\"error\":1}\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		l, q, o := &load{}, request{}, outcome{}
		err := l.read(strings.NewReader(text), &q, time.Now(), &o)
		if err == nil && !strings.Contains(text, "[DONE]") {
			t.Errorf("%q is a whole stream", text)
		}
		if events := strings.Count(text, "data:"); len(o.gaps) >= max(1, events) {
			t.Errorf("%d gaps of at most %d events", len(o.gaps), events)
		}
	})
}
