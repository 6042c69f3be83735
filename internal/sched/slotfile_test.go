package sched

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/store/faultfs"
	"atenia/internal/store/sequence"
)

// TestSlotFile: a sequence that is saved in one scheduler and restored in another goes on
// with the bits that it would have had, for every kind of state, also when it leaves the
// saved one at a snapshot, and without computing what was saved.
func TestSlotFile(t *testing.T) {
	for _, name := range allKinds {
		for _, n := range []int{5, 48, 131} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				m := open(t, name)
				prompt := m.tokens(1, n)
				path := filepath.Join(t.TempDir(), "slot.kv")
				cfg := Config{SnapshotTokens: 16}
				first := m.start(small, cfg)
				a := submit(t, first, Request{Prompt: prompt, MaxTokens: 4}).collect()
				saved, err := first.SaveSlot(t.Context(), 0, path)
				if err != nil {
					t.Fatal(err)
				}
				if st, err := os.Stat(path); err != nil || saved.Tokens != n+3 || saved.Bytes != st.Size() || st.Mode().Perm() != 0o600 {
					t.Fatalf("saved %+v, %v, %v", saved, st, err)
				}
				for what, p := range map[string][]int32{"continued": join(prompt, a.tokens, m.tokens(2, 9)), "left": join(prompt, m.tokens(3, 9))} {
					r := Request{Prompt: p, MaxTokens: 6}
					s := m.start(small, cfg)
					submit(t, s, Request{Prompt: m.tokens(8, 40), MaxTokens: 1}).collect()
					f, err := s.RestoreSlot(t.Context(), 1, path)
					if err != nil || f.Slot != 1 || f.Tokens != n+3 || f.Bytes != saved.Bytes {
						t.Fatalf("restored %+v: %v", f, err)
					}
					b := submit(t, s, r).collect()
					same(t, what, b, m.alone(r))
					if b.st.cached < n-1 && what == "continued" || b.st.cached == 0 && n > 17 && name != "mistral_window" {
						t.Errorf("%s: %d tokens were reused", what, b.st.cached)
					}
					if k, err := s.EraseSlot(1); err != nil {
						t.Errorf("%d erased: %v", k, err)
					}
					s.Close()
					checkEmpty(t, s)
				}
			})
		}
	}
}

// badFiles is how many files of a kind of damage TestSlotFileBad tries.
func badFiles() int {
	if await.Long() {
		return 500
	}
	return 100
}

// TestSlotFileBad: files that are cut, changed, of another model or with other runs are
// refused with an error of their kind, and change nothing.
func TestSlotFileBad(t *testing.T) {
	m := open(t, "lfm2")
	dir := t.TempDir()
	path := filepath.Join(dir, "good.kv")
	first := m.start(small, Config{SnapshotTokens: 16})
	r := Request{Prompt: m.tokens(1, 50), MaxTokens: 4}
	a := submit(t, first, r).collect()
	if _, err := first.SaveSlot(t.Context(), 0, path); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := m.start(small, Config{Slots: 1})
	refused := func(what string, kind error, b []byte) {
		t.Helper()
		bad := filepath.Join(dir, "bad.kv")
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RestoreSlot(t.Context(), 0, bad); !errors.Is(err, kind) {
			t.Fatalf("%s: %v, want %v", what, err, kind)
		}
	}
	rng := rand.New(rand.NewPCG(2, 3))
	for range badFiles() {
		b := append([]byte{}, good...)
		at := rng.IntN(len(b))
		b[at] ^= 1 << rng.IntN(8)
		refused(fmt.Sprint("a bit at ", at), sequence.ErrDamaged, b)
		refused("cut", sequence.ErrDamaged, good[:rng.IntN(len(good))])
	}
	other := m.start(small, Config{Key: func() sequence.Key { return testKey }})
	if _, err := other.RestoreSlot(t.Context(), 0, path); !errors.Is(err, sequence.ErrOther) {
		t.Errorf("another key: %v", err)
	}
	// Whole files whose runs are not what the tokens need.
	p, err := sequence.NewReader(bytesAt(good), int64(len(good)), path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * badFiles() {
		h := p.Header
		h.Runs = append([]sequence.Run{}, h.Runs...)
		k := rng.IntN(len(h.Runs))
		x := &h.Runs[k]
		switch rng.IntN(6) {
		case 0:
			if len(h.Runs) == 1 || x.At < len(h.Tokens) { // without a snapshot it may be good
				continue
			}
			h.Runs = append(h.Runs[:k], h.Runs[k+1:]...)
		case 1:
			x.First += 1 + rng.IntN(3)
		case 2:
			x.Pages += 1 + rng.IntN(3)
		case 3:
			x.State += 1 + rng.IntN(9)
		case 4:
			x.Bytes += 1 + rng.IntN(64)
		case 5:
			h.Tokens = h.Tokens[:rng.IntN(len(h.Tokens)-20)+1]
			for i := range h.Runs {
				h.Runs[i].At = min(h.Runs[i].At, len(h.Tokens))
			}
		}
		var pages [][]byte
		for _, x := range h.Runs {
			for range x.Pages {
				pages = append(pages, make([]byte, x.Bytes))
			}
		}
		bad := filepath.Join(dir, "runs.kv")
		if err := sequence.Write(nil, bad, &h, pages); err != nil {
			t.Fatal(err)
		}
		if f, err := s.RestoreSlot(t.Context(), 0, bad); !errors.Is(err, sequence.ErrDamaged) {
			t.Fatalf("%d: runs %+v of %d tokens: %+v, %v", i, h.Runs, len(h.Tokens), f, err)
		} else if e, _ := errors.AsType[*sequence.Error](err); e.Offset < h.RunOffset(0) || e.Offset >= h.RunOffset(len(h.Runs)) {
			t.Errorf("%d: byte %d is none of the runs: %v", i, e.Offset, err)
		}
	}
	h := p.Header
	h.Tokens = slices.Clone(h.Tokens)
	k := rng.IntN(len(h.Tokens))
	h.Tokens[k] = int32(m.Config.Vocab)
	var pages [][]byte
	for _, x := range h.Runs {
		for range x.Pages {
			pages = append(pages, make([]byte, x.Bytes))
		}
	}
	bad := filepath.Join(dir, "tokens.kv")
	if err := sequence.Write(nil, bad, &h, pages); err != nil {
		t.Fatal(err)
	}
	_, err = s.RestoreSlot(t.Context(), 0, bad)
	if e, ok := errors.AsType[*sequence.Error](err); !ok || e.Offset != h.TokenOffset(k) {
		t.Errorf("token %d is none: %v", k, err)
	}
	for _, slot := range []int{-1, 2, 99} {
		if _, err := s.SaveSlot(t.Context(), slot, path); !errors.Is(err, ErrSlot) {
			t.Errorf("slot %d: %v", slot, err)
		}
	}
	if _, err := s.SaveSlot(t.Context(), 1, path); !errors.Is(err, ErrSlot) {
		t.Errorf("an empty slot: %v", err)
	}
	next := Request{Prompt: join(r.Prompt, a.tokens), MaxTokens: 3}
	same(t, "afterwards", submit(t, s, next).collect(), m.alone(next))
	s.Close()
	checkEmpty(t, s)
	if _, err := s.SaveSlot(t.Context(), 1, path); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestSlotFileBusy saves a slot between the steps of its request, again and again: every
// file continues with the right bits, and the request is not disturbed.
func TestSlotFileBusy(t *testing.T) {
	for _, name := range []string{"llama3", "granite_hybrid", "gemma3"} {
		t.Run(name, func(t *testing.T) {
			m := open(t, name)
			path := filepath.Join(t.TempDir(), "slot.kv")
			s := m.start(small, Config{Slots: 2})
			r := Request{Prompt: m.tokens(1, 100), MaxTokens: 100}
			want := m.alone(r)
			a := submit(t, s, r)
			tokens := append([]int32{}, r.Prompt...)
			saves := 0
			for {
				tok, ok := a.st.Next()
				if !ok {
					break
				}
				a.tokens = append(a.tokens, tok.ID)
				if tokens = append(tokens, tok.ID); len(tokens)%20 != 0 {
					continue
				}
				f, err := s.SaveSlot(t.Context(), 0, path)
				if err != nil {
					t.Fatal(err)
				}
				saves++
				other := m.start(small, Config{})
				if _, err := other.RestoreSlot(t.Context(), 0, path); err != nil {
					t.Fatal(err)
				}
				next := Request{Prompt: join(tokens, m.tokens(5, 3)), MaxTokens: 3}
				b := submit(t, other, next).collect()
				other.Close()
				same(t, fmt.Sprint("saved after ", f.Tokens), b, m.alone(next))
			}
			same(t, "the request", a, want)
			if saves == 0 {
				t.Error("nothing was saved")
			}
		})
	}
}

// A leaving context ends once it was looked at so many times.
type leaving struct {
	context.Context
	looks int
}

func (l *leaving) Err() error {
	if l.looks--; l.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestSlotFileLeft: a client that leaves while a file is read ends that, and its slot is as
// it was.
func TestSlotFileLeft(t *testing.T) {
	m := open(t, "llama3")
	path := filepath.Join(t.TempDir(), "slot.kv")
	s := m.start(small, Config{Slots: 1})
	r := Request{Prompt: m.tokens(1, 50), MaxTokens: 4}
	submit(t, s, r).collect()
	saved, err := s.SaveSlot(t.Context(), 0, path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.EraseSlot(1); err != nil {
		t.Fatal(err)
	}
	for looks := range 3 { // before, and at the first two pages
		if f, err := s.RestoreSlot(&leaving{t.Context(), looks}, 0, path); err != context.Canceled {
			t.Errorf("left after %d looks: %+v, %v", looks, f, err)
		}
	}
	s.call(func() {
		if n := usedBytes(s); n != 0 || len(s.kept.disk.moves) != 0 {
			t.Errorf("%d bytes and %d transfers are left", n, len(s.kept.disk.moves))
		}
	})
	if f, err := s.RestoreSlot(t.Context(), 0, path); err != nil || f != saved {
		t.Errorf("who stays: %+v, %v, want %+v", f, err, saved)
	}
}

// TestSlotFileSlow: while the file of a slot is written, others are computed to their ends.
func TestSlotFileSlow(t *testing.T) {
	m := open(t, "llama3")
	s := m.start(small, Config{Slots: 2})
	asked, gate := make(chan struct{}), make(chan struct{})
	write := sync.OnceFunc(func() { close(gate) })
	t.Cleanup(write) // before the scheduler waits for it
	submit(t, s, Request{Prompt: m.tokens(1, 50), MaxTokens: 4}).collect()
	s.call(func() {
		s.kept.disk.write = func(path string, h *sequence.Header, pages [][]byte) error {
			close(asked)
			<-gate
			return sequence.Write(faultfs.NoSync(), path, h, pages)
		}
	})
	path, saved := filepath.Join(t.TempDir(), "slot.kv"), make(chan error, 1)
	go func() {
		_, err := s.SaveSlot(t.Context(), 1, path)
		saved <- err
	}()
	await.Value(t, "a file being written", asked)
	other := Request{Prompt: m.tokens(3, 30), MaxTokens: 10}
	beside := make(chan *answer, 1)
	go func(a *answer) { beside <- a.collect() }(submit(t, s, other))
	same(t, "beside", await.Value(t, "the answer beside it", beside), m.alone(other))
	write()
	if err := await.Value(t, "the file", saved); err != nil {
		t.Error(err)
	}
	if _, err := s.RestoreSlot(t.Context(), 0, path); err != nil {
		t.Error(err)
	}
}

// bytesAt reads bytes.
type bytesAt []byte

func (b bytesAt) ReadAt(p []byte, at int64) (int, error) { return copy(p, b[at:]), nil }
