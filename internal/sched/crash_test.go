package sched

import (
	"context"
	"errors"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/fault"
)

// TestCrash: a panic in a step ends the requests of its scheduler, those that wait and
// those to come, with the panic as their error; another scheduler goes on.
func TestCrash(t *testing.T) {
	m := open(t, "llama3")
	other := m.start(small, Config{})
	steps, submitted := 0, make(chan bool)
	s := m.start(small, Config{Slots: 1, Watch: func(StepInfo) {
		if steps++; steps == 3 {
			<-submitted
			panic("planted")
		}
	}})
	ctx := context.Background()
	var streams []*Stream
	for range 3 {
		st, err := s.Submit(ctx, Request{Prompt: m.tokens(1, 8), MaxTokens: 100})
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, st)
	}
	close(submitted)
	is := func(what string, err error) {
		t.Helper()
		if p, ok := errors.AsType[*fault.Panic](err); !ok || p.Value != "planted" {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, st := range streams {
		for _, ok := st.Next(); ok; _, ok = st.Next() {
		}
		is("a request", st.Err())
	}
	_, err := s.Submit(ctx, Request{Prompt: []int32{1}})
	is("a later one", err)
	is("a loan", s.Borrow(func(*exec.Executor) error { return nil }))
	s.Close()

	a := submit(t, other, Request{Prompt: m.tokens(2, 8), MaxTokens: 4})
	if n := len(a.collect().tokens); n != 4 {
		t.Errorf("the other scheduler gave %d tokens, want 4", n)
	}
}
