package sched

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// copied is a sequence with copies of its pages.
func copied(s *Scheduler) (out []Remembered) {
	for _, sl := range slices.Backward(s.admission.slots) {
		c, ok := sl.computed()
		if !ok {
			continue
		}
		pages := make([][][]byte, len(c.Pages))
		for i, of := range c.Pages {
			for _, p := range of {
				pages[i] = append(pages[i], slices.Clone(p))
			}
		}
		out = append(out, Remembered{Class: c.Class, Tokens: slices.Clone(c.Tokens), Load: func(state, end int, put func(int, []byte) error) error {
			for p := range min(end, len(pages[state])) {
				if pages[state][p] == nil {
					continue
				}
				if err := put(p, pages[state][p]); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return out
}

// A scheduler continues what another one computed, with the same bits and
// without computing it, also where windows have slid, and where the prompt
// leaves what is remembered within a page.
func TestRemembered(t *testing.T) {
	for _, name := range kinds {
		for _, n := range []int{16, 47, 48, 90} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				m := open(t, name)
				prompt := m.tokens(1, n)
				first := m.still(small, Config{Slots: 2})
				turns(t, first, nil, submit(t, first, Request{Prompt: prompt, MaxTokens: 1}))
				known := copied(first)
				if len(known) != 1 {
					t.Fatalf("%d sequences of %d tokens are kept, want 1", len(known), n)
				}
				have := known[0].Tokens
				for what, r := range map[string]Request{
					"continued": {Prompt: join(have, m.tokens(2, 9)), MaxTokens: 7},
					"left":      {Prompt: join(have[:len(have)-3], m.tokens(3, 9)), MaxTokens: 7},
				} {
					want := m.alone(r)
					s := m.still(small, Config{Slots: 2, Remembered: known})
					a := submit(t, s, r)
					rows := turns(t, s, nil, a)
					same(t, what, a, want)
					if most := 9 + 6; what == "continued" && rows != most {
						t.Errorf("%s: %d rows were computed, want %d", what, rows, most)
					}
				}
			})
		}
	}
}

// A sequence whose pages cannot be loaded is computed.
func TestRememberedLost(t *testing.T) {
	m := open(t, "gemma3")
	first := m.still(small, Config{})
	turns(t, first, nil, submit(t, first, Request{Prompt: m.tokens(1, 60), MaxTokens: 1}))
	good := copied(first)[0]
	r := Request{Prompt: join(good.Tokens, m.tokens(2, 5)), MaxTokens: 5}
	want := m.alone(r)
	for what, load := range map[string]func(state, end int, put func(int, []byte) error) error{
		"nothing": func(int, int, func(int, []byte) error) error { return nil },
		"fails":   func(int, int, func(int, []byte) error) error { return errors.New("gone") },
		"short": func(state, end int, put func(int, []byte) error) error {
			return good.Load(state, end, func(p int, b []byte) error { return put(p, b[:len(b)-1]) })
		},
		"beyond": func(state, end int, put func(int, []byte) error) error {
			return good.Load(state, end, func(p int, b []byte) error { return put(p+end, b) })
		},
		"half": func(state, end int, put func(int, []byte) error) error {
			return good.Load(state, end, func(p int, b []byte) error {
				if p > 1 {
					return errors.New("gone")
				}
				return put(p, b)
			})
		},
	} {
		bad := good
		bad.Load = load
		s := m.still(small, Config{Slots: 2, Remembered: []Remembered{bad}})
		a := submit(t, s, r)
		turns(t, s, nil, a)
		same(t, what, a, want)
	}
}
