package sched

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestWhy reads the decisions about requests in two slots: one that waits for a slot
// and continues another's sequence, one that loses its memory, one that is given up.
func TestWhy(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 2, PromptRows: 24, CacheBytes: m.budget(11)})
	a := submit(t, s, Request{ID: "a", Prompt: m.tokens(1, 20), MaxTokens: 150})
	b := submit(t, s, Request{ID: "b", Prompt: m.tokens(2, 62), MaxTokens: 80})
	s.turn()
	c := submit(t, s, Request{ID: "c", Prompt: m.tokens(2, 40), MaxTokens: 2})
	d := submit(t, s, Request{Prompt: m.tokens(3, 40), MaxTokens: 2})
	s.turn()
	d.st.Close()
	turns(t, s, nil, a, b, c, d)
	page := m.budget(1)
	for id, want := range map[string][]string{
		"a": {
			"a: admit slot 1 by rule arrival: first after 0 steps",
			"a: finish slot 1 by rule length: 150 of at most 150 tokens of an answer",
		},
		"b": {
			"b: admit slot 2 by rule arrival: first after 0 steps",
			fmt.Sprintf("b: preempt slot 2 by rule memory: %d bytes of keys and values needed, 0 available, for a", page),
			fmt.Sprintf("b: resume slot 2 by rule memory: %d bytes of keys and values needed, %d available", page, 11*page),
			"b: finish slot 2 by rule length: 80 of at most 80 tokens of an answer",
		},
		"r1": {
			"r1: wait by rule slots: 2 of 2 slots run requests",
			"r1: cancel by rule caller: 0 of at most 2 tokens of an answer",
		},
	} {
		var got []string
		for _, d := range s.Why(id) {
			got = append(got, d.String())
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", id, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	all := s.Why("")
	for i := range all[1:] {
		if all[i+1].Step < all[i].Step || all[i+1].Time.Before(all[i].Time) {
			t.Errorf("decision %d comes before the last one", i+1)
		}
	}
	reused := false
	for _, d := range s.Why("c") {
		reused = reused || d.Action == actionReuse && d.Other != "" && d.Observed == int64(c.st.cached)
	}
	if reused != (c.st.cached > 0) {
		t.Errorf("c reused %d tokens, and its decisions are %v", c.st.cached, s.Why("c"))
	}
}

// TestDecisionsAreBounded keeps the last decisions only, in order.
func TestDecisionsAreBounded(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{})
	for i := range decisionsKept + 100 {
		s.record(Decision{Request: "x", Observed: int64(i)})
	}
	got := s.Why("x")
	if len(got) != decisionsKept || got[0].Observed != 100 || got[len(got)-1].Observed != decisionsKept+99 {
		t.Errorf("%d decisions, from %d to %d", len(got), got[0].Observed, got[len(got)-1].Observed)
	}
	if got := s.Why("y"); got != nil {
		t.Errorf("%d decisions about a request that was not made", len(got))
	}
}

// TestStatus follows a request through its phases.
func TestStatus(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 1, PromptRows: 24})
	a := submit(t, s, Request{ID: "a", Prompt: m.tokens(1, 30), MaxTokens: 5})
	b := submit(t, s, Request{ID: "b", Prompt: m.tokens(2, 3), MaxTokens: 1, Priority: 7})
	var seen []string
	turns(t, s, func() {
		line := ""
		for _, v := range s.Status() {
			line += fmt.Sprintf("%s %s %d+%d of %d; ", v.Request, v.Phase, v.Computed, v.Answer, v.Prompt)
		}
		if len(seen) == 0 || seen[len(seen)-1] != line {
			seen = append(seen, line)
		}
	}, a, b)
	want := []string{
		"b ended 3+0 of 0; a waiting 0+0 of 30; ", "a reading 24+0 of 30; ", "a decoding 30+1 of 30; ",
		"a decoding 31+2 of 30; ", "a decoding 32+3 of 30; ", "a decoding 33+4 of 30; ", "a ended 34+0 of 0; ",
	}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("seen\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

func TestPriorityRange(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{})
	for _, p := range []int{-101, 101} {
		if _, err := s.Submit(context.Background(), Request{Prompt: m.tokens(1, 3), Priority: p}); err == nil {
			t.Errorf("a priority of %d is accepted", p)
		}
	}
}
