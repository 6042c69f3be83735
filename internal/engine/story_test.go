package engine_test

import (
	"io"
	"net"
	"net/http"
	"regexp"
	"testing"

	"atenia/internal/engine"
	"atenia/internal/memory/pack"
	"atenia/internal/policy/observe"
)

// What memory pressure changes is told in order, with numbers.
func TestStoryOfPressure(t *testing.T) {
	o, err := observe.Open(t.Context(), observe.Config{Account: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := config()
	c.Pack, c.Budget.Reserve.Runtime, c.Context, c.Observer = pack.InMemory, 1<<16, 128, o
	steps, small, all := 0, int64(0), int64(0)
	decode(t, "parity/llama3", c, func(e *engine.Engine) int64 {
		if steps++; steps == 20 {
			small, all = e.Need()/2, max(e.Plan.Totals.Bytes, e.Packing().Bytes)
		}
		if steps >= 20 && steps < 50 {
			return small
		}
		return 1 << 40
	})
	ev := o.Tally().Events
	if len(ev) != 2 || ev[0].Kind != observe.Left || ev[1].Kind != observe.Back || o.Tally().More != 0 {
		t.Fatalf("%+v", ev)
	}
	for i, e := range ev {
		parts, bytes := e.Moved()
		if parts == 0 || bytes <= 0 || e.First == "" || e.Took <= 0 || e.Form == "" || e.Need <= 0 {
			t.Errorf("event %d: %+v", i, e)
		}
		if bytes > all {
			t.Errorf("event %d: %d bytes of weights moved, which have %d", i, bytes, all)
		}
	}
	if ev[0].Limit >= ev[0].Need || ev[1].Limit <= ev[1].Need || ev[1].Until < 49 || ev[0].Step >= ev[1].Step || ev[0].At >= ev[1].At {
		t.Errorf("%+v", ev)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

// metric returns the value of a metric that is served.
func metric(t *testing.T, addr net.Addr, name string) string {
	t.Helper()
	resp, err := http.Get("http://" + addr.String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (.*)$`).FindSubmatch(b)
	if m == nil {
		return ""
	}
	return string(m[1])
}
