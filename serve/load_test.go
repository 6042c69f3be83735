package serve

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"atenia"
	"atenia/internal/bench"
	"atenia/internal/golden/await"
)

// TestLoad: 64 streams with cancels and slow readers leave nothing behind: no request,
// lease, goroutine or descriptor, and no more pages than one answer after another.
func TestLoad(t *testing.T) {
	noLeaks(t)
	// Slots alone keep what they computed, so that pages which nobody frees are seen.
	s, web := newServer(t, Config{Open: atenia.Config{Slots: 8, KeepBytes: -1}})
	c := bench.LoadConfig{URL: web.URL, Streams: 64, Requests: 2, Tokens: 24, Cancel: 0.4, Slow: 0.2, Pause: 2 * time.Millisecond, Seed: 7}
	run := func() *bench.LoadReport {
		t.Helper()
		r, err := bench.Load(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		await.Until(t, "all requests end", func() bool { return s.host.Running() == 0 })
		return r
	}
	c.Cancel = 0 // whole answers take the most pages that there will be
	run()
	c.Cancel = 0.4
	held := cacheBytes(t, web.URL)
	goroutines, descriptors := settled(t), open(t)
	rounds := 1 // each leaves as much, if any does
	if await.Long() {
		rounds = 3
	}
	for range rounds {
		c.Seed++
		r := run()
		if r.Requests != 128 || r.Failed > 0 || r.Refused > 0 || r.Cancelled == 0 || r.Slow == 0 || r.Completed == 0 {
			t.Errorf("%+v", r)
		}
	}
	await.Until(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
	await.Until(t, "descriptors are closed", func() bool { return open(t) <= descriptors })
	if l := s.pool.List()[0]; l.Users != 0 {
		t.Errorf("%d leases are left", l.Users)
	}
	if now := cacheBytes(t, web.URL); now > held {
		t.Errorf("the cache holds %d bytes, %d before", now, held)
	}
	if _, text := get(t, web.URL+"/slots"); strings.Count(text, `"phase":"ended"`) != 8 {
		t.Errorf("a slot still has a request: %s", text)
	}
}

// settled returns how many goroutines there are when their number stays.
func settled(t *testing.T) int {
	t.Helper()
	last, same := -1, 0
	await.Until(t, "the number of goroutines stays", func() bool {
		if n := runtime.NumGoroutine(); n == last {
			same++
		} else {
			last, same = n, 0
		}
		return same == 20
	})
	return last
}

// open returns how many descriptors the process has, 0 where that is not known.
func open(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(all)
}

// cacheBytes returns the value of the metric.
func cacheBytes(t *testing.T, url string) int {
	t.Helper()
	_, text := get(t, url+"/metrics")
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "atenia_cache_bytes "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(f)
		}
	}
	t.Fatalf("no atenia_cache_bytes in\n%s", text)
	return 0
}
