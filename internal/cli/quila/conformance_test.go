package quila

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/quila/conform"
)

// checked runs "atenia quila conformance" over results and returns what it
// printed, and its error.
func checked(results []conform.Result, args ...string) (string, error) {
	var out bytes.Buffer
	run := func(_ context.Context, o conform.Suite) []conform.Result {
		for _, r := range results {
			if o.Each != nil {
				o.Each(r)
			}
		}
		return results
	}
	c := conformance(&command.Env{Out: &out, Err: &out, Progress: io.Discard, JSON: new(bool)}, run)
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(context.Background())
	return out.String(), err
}

// TestConformanceExit: rows that fail and figures that fall short exit with 3,
// which is the code of [command.ErrVerify], and are shown with their reasons;
// all other states are no failure.
func TestConformanceExit(t *testing.T) {
	good := []conform.Result{{ID: "A", State: "pass"}, {ID: "B", State: "not-yet"}, {ID: "C", State: "needs-device"}, {ID: "D", State: "skipped"}}
	for _, c := range []struct {
		name  string
		more  []conform.Result
		wants []string
		bad   bool
	}{
		{"good", nil, []string{"1 pass, 0 fail, 0 short, 1 not-yet, 1 needs-device, 1 skipped"}, false},
		{"short", []conform.Result{{ID: "PERF", State: "short", Figure: "7 tokens/s", Short: []string{"7 tokens/s, the limit is 8"}}},
			[]string{"PERF           short        7 tokens/s\n    7 tokens/s, the limit is 8\n", "1 pass, 0 fail, 1 short,"}, true},
		{"fail", []conform.Result{{ID: "BAD", State: "fail", Faults: []string{"bits differ"}}},
			[]string{"BAD            fail         \n    bits differ\n", "1 pass, 1 fail, 0 short,"}, true},
	} {
		text, err := checked(append(good, c.more...))
		if errors.Is(err, command.ErrVerify) != c.bad || !c.bad && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, want := range c.wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q lacks %q", c.name, text, want)
			}
		}
	}
	if _, err := checked(nil, "NONE"); !isUsage(err) {
		t.Errorf("an id of no row: %v", err)
	}
}

func isUsage(err error) bool {
	_, ok := errors.AsType[*command.UsageError](err)
	return ok
}
