package main

import (
	"context"
	"errors"
	"testing"

	"atenia"
)

func TestRun(t *testing.T) {
	t.Parallel()
	steps := 0
	r, err := runSteps(t.Context(), config{Size: "1M", Rows: 2, Length: 8, Steps: 1, Threads: 2, Progress: func(int, int) { steps++ }})
	if err != nil {
		t.Fatal(err)
	}
	if r.Parameters != 922752 || r.Step <= 0 || r.Forward <= 0 || r.Update <= 0 || r.Share <= 0 || !(r.Loss > 5 && r.Loss < 8) || steps != 3 {
		t.Errorf("%+v after %d steps", r, steps)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []config{{Size: "7B"}, {Rows: -1}, {Length: 1 << 20}, {Steps: -1}, {Threads: -1}} {
		var e *atenia.ConfigError
		if _, err := runSteps(t.Context(), c); !errors.As(err, &e) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runSteps(ctx, config{Size: "1M", Rows: 1, Length: 2}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
