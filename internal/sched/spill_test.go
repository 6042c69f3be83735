package sched

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"atenia/internal/golden/await"
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
			f := pause.slot(id).spill.file.(*os.File)
			switch c.damage {
			case "restored":
				if err := pause.Restore(id, nil); err != nil {
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

// A sequence that was computed with an adapter is that adapter's when it comes back from
// a file, and not the model's.
func TestSpillAdapter(t *testing.T) {
	m := open(t, "llama3")
	low := m.lowRanks(1)[0]
	for _, back := range []bool{false, true} {
		s := m.still(small, Config{Slots: 2})
		r := Request{Prompt: m.tokens(1, 50), MaxTokens: 20, LowRank: low, Strength: 1, Adapter: "a"}
		first := submit(t, s, r)
		turns(t, s, nil, first)
		pause := &Pause{s: s}
		id := pause.Idle(nil)[0].Slot
		if err := pause.Spill(id, t.TempDir()); err != nil {
			t.Fatal(err)
		}
		if back {
			if err := pause.Restore(id, nil); err != nil {
				t.Fatal(err)
			}
		}
		r.Prompt, r.MaxTokens = join(r.Prompt, first.tokens, m.tokens(2, 7)), 10
		bare := r
		bare.LowRank, bare.Strength, bare.Adapter = nil, 0, ""
		for _, r := range []Request{r, bare} {
			want := m.alone(r)
			a := submit(t, s, r)
			turns(t, s, nil, a)
			same(t, r.Adapter, a, want)
			if got := a.st.Usage().Cached; (got > 0) != (r.LowRank != nil) {
				t.Errorf("restored %v: the request of adapter %q reuses %d tokens", back, r.Adapter, got)
			}
		}
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
	if err := pause.slot(0).spill.file.(*os.File).Truncate(1); err != nil {
		t.Fatal(err)
	}
	var said error
	if err := pause.Restore(0, func(_ time.Duration, err error) { said = err }); err != nil {
		t.Fatal(err)
	}
	<-s.admission.slots[0].spill.load.done
	s.turn()
	if !errors.Is(said, errSpilled) || s.admission.slots[0].spill != nil {
		t.Errorf("a file that was cut: %v", said)
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
	f := s.admission.slots[0].spill.file.(*os.File)
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

// A slowFile is a file whose pages come once its gate is open.
type slowFile struct {
	*os.File
	asked chan struct{} // closed at the first read
	once  sync.Once
	gate  chan struct{}
}

func (f *slowFile) ReadAt(b []byte, at int64) (int, error) {
	f.once.Do(func() { close(f.asked) })
	<-f.gate
	return f.File.ReadAt(b, at)
}

// TestSpillSlowly: while the pages of a sequence are read back, for a request, for a slot
// that is saved, or because there is room again, others are computed to their ends; then
// they are there.
func TestSpillSlowly(t *testing.T) {
	m := open(t, "llama3")
	prompt := m.tokens(1, 50)
	for _, why := range []string{"request", "save", "room", "left"} {
		s := m.start(small, Config{Slots: 3})
		first := submit(t, s, Request{Prompt: prompt, MaxTokens: 20}).collect()
		f := &slowFile{asked: make(chan struct{}), gate: make(chan struct{})}
		pause := &Pause{s: s}
		id, landed := 0, make(chan error, 1)
		s.call(func() {
			id = pause.Idle(nil)[0].Slot
			if err := pause.Spill(id, t.TempDir()); err != nil {
				t.Error(err)
			}
			sl := pause.slot(id)
			f.File = sl.spill.file.(*os.File)
			sl.spill.file = f
		})
		r := Request{Prompt: join(prompt, first.tokens, m.tokens(2, 7)), MaxTokens: 10}
		var second *answer
		saved := make(chan error, 1)
		switch why {
		case "request":
			second = submit(t, s, r)
		case "save":
			go func() {
				_, err := s.SaveSlot(t.Context(), id+1, filepath.Join(t.TempDir(), "slot"))
				saved <- err
			}()
		default:
			s.call(func() {
				if err := pause.Restore(id, func(_ time.Duration, err error) { landed <- err }); err != nil {
					t.Error(err)
				}
				if idle := pause.Idle(nil); len(idle) != 1 || idle[0].Spilled {
					t.Errorf("while it is read: %+v", idle)
				}
			})
		}
		<-f.asked
		other := Request{Prompt: m.tokens(3, 30), MaxTokens: 10}
		same(t, why+": beside", submit(t, s, other).collect(), m.alone(other))
		if why == "left" { // wanted again: it stays in its file
			s.call(func() {
				if err := pause.Spill(id, t.TempDir()); err != nil {
					t.Error(err)
				}
			})
		}
		close(f.gate)
		switch why {
		case "save":
			if err := <-saved; err != nil {
				t.Errorf("saving: %v", err)
			}
		case "room":
			if err := <-landed; err != nil {
				t.Errorf("reading back: %v", err)
			}
		}
		if second == nil {
			second = submit(t, s, r)
		}
		same(t, why, second.collect(), m.alone(r))
		if n := second.st.Usage().Cached; n != 69 {
			t.Errorf("%s: %d tokens were reused, want 69", why, n)
		}
		await.Until(t, "nothing is read", func() (none bool) {
			s.call(func() { none = len(s.kept.disk.moves) == 0 })
			return none
		})
		s.Close()
		checkEmpty(t, s)
	}
}
