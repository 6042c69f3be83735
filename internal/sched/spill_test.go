package sched

import (
	"errors"
	"os"
	"testing"
)

// A sequence whose pages were written to a file is continued with the same
// tokens: from the pages when a request wants them or they are called back, and
// computed again when the file is damaged.
func TestSpill(t *testing.T) {
	for _, c := range []struct {
		name, damage string
		rows         int // of the second turn
	}{
		{"llama3", "", 1 + 7 + 9},
		{"llama3", "restored", 1 + 7 + 9},
		{"llama3", "cut", 50 + 20 + 7 + 9},
		{"llama3", "changed", 50 + 20 + 7 + 9},
	} {
		t.Run(c.name+" "+c.damage, func(t *testing.T) {
			m := open(t, c.name)
			s := m.still(small, Config{Slots: 2})
			prompt := m.tokens(1, 50)
			first := submit(t, s, Request{Prompt: prompt, MaxTokens: 20})
			turns(t, s, nil, first)
			before := s.CacheBytes()
			pause := &Pause{s: s}
			idle := pause.Idle(nil)
			if len(idle) != 1 || idle[0].Spilled || idle[0].Bytes == 0 {
				t.Fatalf("idle sequences: %+v", idle)
			}
			id := idle[0].Slot
			if err := pause.Spill(id, t.TempDir()); err != nil {
				t.Fatal(err)
			}
			if held := s.CacheBytes(); held != 0 || before == 0 {
				t.Errorf("%d bytes are held, %d before", held, before)
			}
			if err := pause.Spill(id, t.TempDir()); err == nil {
				t.Error("a sequence was written twice")
			}
			if idle = pause.Idle(idle[:0]); len(idle) != 1 || !idle[0].Spilled {
				t.Fatalf("idle sequences: %+v", idle)
			}
			f := pause.slot(id).spill.file
			switch c.damage {
			case "restored":
				if err := pause.Restore(id); err != nil {
					t.Fatal(err)
				}
			case "cut":
				if err := f.Truncate(idle[0].Bytes / 2); err != nil {
					t.Fatal(err)
				}
			case "changed":
				if _, err := f.WriteAt([]byte{1, 2, 3}, idle[0].Bytes/3); err != nil {
					t.Fatal(err)
				}
			}
			r := Request{Prompt: join(prompt, first.tokens, m.tokens(2, 7)), MaxTokens: 10}
			want := m.alone(r)
			second := submit(t, s, r)
			if n := turns(t, s, nil, second); n != c.rows {
				t.Errorf("the second turn computed %d rows, want %d", n, c.rows)
			}
			same(t, "second turn", second, want)
		})
	}
}

// A sequence that lost pages to a window stays in memory, and a file that
// cannot be made leaves a sequence as it was.
func TestSpillRefused(t *testing.T) {
	m := open(t, "mistral_window")
	s := m.still(small, Config{Slots: 1})
	turns(t, s, nil, submit(t, s, Request{Prompt: m.tokens(1, 80), MaxTokens: 5}))
	pause := &Pause{s: s}
	if idle := pause.Idle(nil); len(idle) > 0 {
		t.Errorf("idle sequences: %+v", idle)
	}
	m = open(t, "llama3")
	s = m.still(small, Config{Slots: 1})
	turns(t, s, nil, submit(t, s, Request{Prompt: m.tokens(1, 30), MaxTokens: 5}))
	pause = &Pause{s: s}
	if err := pause.Spill(0, t.TempDir()+"/absent"); err == nil {
		t.Error("a file was made in a folder that does not exist")
	}
	if idle := pause.Idle(nil); len(idle) != 1 || idle[0].Spilled {
		t.Errorf("idle sequences: %+v", idle)
	}
	if err := pause.Spill(0, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if err := pause.slot(0).spill.file.Truncate(1); err != nil {
		t.Fatal(err)
	}
	if err := pause.Restore(0); !errors.Is(err, errSpilled) {
		t.Errorf("a file that was cut: %v", err)
	}
}

// TestSpillForgotten: the file of a spilled sequence is closed when its slot is given to
// another.
func TestSpillForgotten(t *testing.T) {
	m := open(t, "llama3")
	s := m.still(small, Config{Slots: 1})
	turns(t, s, nil, submit(t, s, Request{Prompt: m.tokens(1, 50), MaxTokens: 4}))
	pause := &Pause{s: s}
	if err := pause.Spill(0, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	f := s.slots[0].spill.file
	turns(t, s, nil, submit(t, s, Request{Prompt: m.tokens(2, 30), MaxTokens: 4}))
	if idle := pause.Idle(nil); len(idle) != 1 || idle[0].Spilled {
		t.Errorf("idle sequences: %+v", idle)
	}
	if _, err := f.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the file is open: %v", err)
	}
}

// TestSpillStays: a spilled sequence that can be continued at its end alone stays in its
// file when a prompt leaves it before.
func TestSpillStays(t *testing.T) {
	m := open(t, "granite_hybrid")
	s := m.still(small, Config{Slots: 2})
	turns(t, s, nil, submit(t, s, Request{Prompt: m.tokens(1, 50), MaxTokens: 4}))
	pause := &Pause{s: s}
	idle := pause.Idle(nil)
	if err := pause.Spill(idle[0].Slot, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	r := Request{Prompt: join(m.tokens(1, 30), m.tokens(2, 5)), MaxTokens: 4}
	a := submit(t, s, r)
	turns(t, s, nil, a)
	same(t, "answer", a, m.alone(r))
	spilled := 0
	for _, i := range pause.Idle(nil) {
		if i.Spilled {
			spilled++
		}
	}
	if spilled != 1 || a.st.Usage().Cached != 0 {
		t.Errorf("%d sequences are in files, want 1; %d tokens were reused", spilled, a.st.Usage().Cached)
	}
}
