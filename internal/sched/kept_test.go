package sched

import (
	"errors"
	"testing"
)

// TestKeptConfig: what is kept of ended requests is bounded by the configuration, never
// by more than half of the memory for keys and values unless it says so.
func TestKeptConfig(t *testing.T) {
	for _, c := range []struct{ keep, cache, want int64 }{
		{0, 0, keepBytes},
		{0, 100, 50},
		{0, 4 * keepBytes, keepBytes},
		{70, 100, 70},
		{-1, 100, 0},
	} {
		k := newKept(&Config{KeepBytes: c.keep, CacheBytes: c.cache, Remembered: make([]Remembered, 3)}, 2)
		if k.memory.limit != c.want || len(k.memory.pages) != 2 || len(k.remembered) != 3 {
			t.Errorf("KeepBytes %d of %d: %d, want %d; pages of %d states, %d remembered", c.keep, c.cache, k.memory.limit, c.want, len(k.memory.pages), len(k.remembered))
		}
	}
}

// TestReusable: of what is in memory and what is remembered the longer counts, and
// neither takes away what a slot has.
func TestReusable(t *testing.T) {
	m := open(t, "llama3")
	prompt := m.tokens(1, 60)
	elsewhere := func(int, int, func(int, []byte) error) error { return errors.New("it is not there any more") }
	s := m.still(small, Config{Slots: 1, PromptRows: 24, Remembered: []Remembered{{Tokens: prompt[:40], Load: elsewhere}}})
	other := join(prompt[:20], m.tokens(2, 30))
	for _, p := range [][]int32{other, m.tokens(3, 20)} { // the second takes the slot of the first
		turns(t, s, nil, submit(t, s, Request{Prompt: p, MaxTokens: 1}))
	}
	for _, c := range []struct {
		prompt    []int32
		now, want int
	}{
		{prompt, 0, 40},  // remembered
		{other, 0, 49},   // in memory, but for the last token
		{other, 50, 50},  // in a slot
		{prompt, 45, 45}, // in a slot
	} {
		if got := s.reusable(&Request{Prompt: c.prompt}, c.now); got != c.want {
			t.Errorf("%d tokens of %d, want %d", got, len(c.prompt), c.want)
		}
	}
}
