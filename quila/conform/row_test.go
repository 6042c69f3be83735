package conform

import (
	"context"
	"math"
	"testing"
	"time"
)

// TestStates: a figure of speed below its limit is short, one that was not
// measured is a fault, and a fault outweighs both.
func TestStates(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  State
		check func(t *report)
	}{
		{"fast enough", Pass, func(t *report) { t.Rate("tokens", 8, 8); t.Took("it", time.Second, time.Second) }},
		{"a low rate", Short, func(t *report) { t.Rate("tokens", 7, 8) }},
		{"a long time", Short, func(t *report) { t.Took("it", 2*time.Second, time.Second) }},
		{"no rate", Fail, func(t *report) { t.Rate("tokens", 0, 8) }},
		{"an endless rate", Fail, func(t *report) { t.Rate("tokens", math.Inf(1), 8) }},
		{"NaN", Fail, func(t *report) { t.Rate("tokens", math.NaN(), 8) }},
		{"slow and wrong", Fail, func(t *report) { t.Rate("tokens", 7, 8); t.Within("error", 2, 1) }},
		{"a panic", Fail, func(*report) { panic("bug") }},
	} {
		r := experiment{Check: c.check}
		res := r.Run(context.Background(), options{})
		if res.State != c.want || (res.State == Short) != (len(res.Short) > 0 && len(res.Faults) == 0) {
			t.Errorf("%s: %+v, want %s", c.name, res, c.want)
		}
	}
	for _, brief := range []bool{false, true} {
		r := experiment{Check: func(t *report) { t.Figure("%v", t.Brief()) }}
		if res := r.Run(context.Background(), options{Brief: brief}); (res.Figure == "true") != brief {
			t.Errorf("brief is %s, want %v", res.Figure, brief)
		}
	}
}
