package conform

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/machine/ledger"
	"atenia/quila/internal/sxlm"
)

// A spy is a codec that notes calls.
type spy struct {
	sxlm.Codec
	started  atomic.Int32
	together chan struct{}   // closed when all seven blocks have begun; nil does not wait
	late     <-chan struct{} // closed when they are waited for no more
	mu       sync.Mutex
	levels   [8]int
}

func (s *spy) Decoder(block int, frame io.Reader) (io.ReadCloser, error) {
	if s.started.Add(1) == 7 && s.together != nil {
		close(s.together)
	}
	if s.together != nil {
		select {
		case <-s.together:
		case <-s.late:
			return nil, errors.New("the other blocks have not begun")
		}
	}
	return s.Codec.Decoder(block, frame)
}

func (s *spy) Encoder(block, level int, frame io.Writer, raw int64) (io.WriteCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.levels[block] = level
	return s.Codec.Encoder(block, level, frame, raw)
}

func encoderLevels(t *report) {
	s := &spy{Codec: sxlm.Zstd}
	file := written(t, nano(t), sxlm.Options{Codec: s})
	want := []int{19, 19, 19, 19, 3, 19, 19}
	if !slices.Equal(s.levels[1:], want) {
		t.Errorf("the encoder got the levels %v, want %v", s.levels[1:], want)
	}
	info, err := sxlm.Header(bytes.NewReader(file), int64(len(file)), sxlm.Options{})
	t.Must(err)
	for k, d := range info.Blocks {
		if int(d.Level) != want[k] {
			t.Errorf("descriptor %d has the level %d, want %d", k+1, d.Level, want[k])
		}
	}
}

// patience is how long the blocks of a file are waited for by the command. No
// machine is so busy that seven goroutines do not begin.
const patience = 2 * time.Minute

func parallel(t *report) {
	file := written(t, nano(t), sxlm.Options{})
	ctx := t.Context() // a test's has a deadline
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	s := &spy{Codec: sxlm.Zstd, together: make(chan struct{}), late: ctx.Done()}
	m, err := parsed(t, file, sxlm.Options{Codec: s})
	t.Must(err)
	m.Close()
	if n := s.started.Load(); n != 7 {
		t.Errorf("%d decompressions, want 7", n)
	}
}

// account is a memory of one GiB.
func account() *ledger.Account { return ledger.New(nil, 1<<30) }

// untouched loads a file that has to be refused by the hashes, with no
// decompression and no memory before.
func untouched(t *report, what string, file []byte) {
	s, a := &spy{Codec: sxlm.Zstd}, account()
	_, err := parsed(t, file, sxlm.Options{Codec: s, Account: a})
	if e, ok := errors.AsType[*sxlm.Error](err); !ok || e.Step != sxlm.StepHashes {
		t.Errorf("%s: %v, want the hashes to refuse it", what, err)
	}
	if s.started.Load() != 0 || a.Peak() != 0 {
		t.Errorf("%s: %d decompressions and %d bytes before it was refused", what, s.started.Load(), a.Peak())
	}
}

func beforeLoad(t *report) {
	good := written(t, nano(t), sxlm.Options{})
	info, err := sxlm.Header(bytes.NewReader(good), int64(len(good)), sxlm.Options{})
	t.Must(err)
	for _, d := range info.Blocks {
		for _, at := range []uint64{d.Offset, d.Offset + d.Size/2, d.Offset + d.Size - 1} {
			bad := bytes.Clone(good)
			bad[at] ^= 1
			untouched(t, "a bit of a block", bad)
		}
	}
	// The spies see a good file.
	s, a := &spy{Codec: sxlm.Zstd}, account()
	m, err := parsed(t, good, sxlm.Options{Codec: s, Account: a})
	t.Must(err)
	if s.started.Load() != 7 || a.Held() != m.Bytes() || m.Bytes() == 0 {
		t.Errorf("a good file: %d decompressions, %d bytes held", s.started.Load(), a.Held())
	}
	m.Close()
	if a.Held() != 0 {
		t.Errorf("%d bytes are held after the model was closed", a.Held())
	}
	t.Figure("21 bits")
}

func bothHashes(t *report) {
	good := written(t, nano(t), sxlm.Options{})
	f, err := newForge(good)
	t.Must(err)
	f.onSum = func(sum []byte) []byte { sum[5] ^= 1; return sum }
	untouched(t, "wrong checkpoint hash", f.build())
	for k := range 7 {
		f, err := newForge(good)
		t.Must(err)
		f.onBlocks = func(b [][]part) [][]part { b[k][5].data[9] ^= 1; return b }
		untouched(t, "wrong hash of a block", f.build())
	}
}

func deploy(t *report) {
	work := t.Dir()
	path := filepath.Join(work, "m.sxlm")
	_, err := sxlm.Write(t.Context(), path, nano(t), sxlm.Options{})
	t.Must(err)
	good, err := os.ReadFile(path)
	t.Must(err)
	dir := filepath.Join(work, "out")
	var events, warnings []string
	readyEarly := false
	log := func(e sxlm.Event) {
		events = append(events, e.Step)
		if _, err := os.Stat(dir); err == nil && e.Step != "READY" {
			readyEarly = true
		}
	}
	a := account()
	o := sxlm.DeployOptions{Options: sxlm.Options{Account: a}, Log: log, Warn: func(s string) { warnings = append(warnings, s) }}
	d, err := sxlm.Deploy(t.Context(), path, dir, o)
	t.Must(err)
	if want := names("", "magic header hash blocks containers tiers sanity READY"); !slices.Equal(events, want) {
		t.Errorf("the events are %v, want %v", events, want)
	}
	if want := names("", "READY engram graph kfe params persona states vqgan"); !slices.Equal(folders(t, dir), want) || readyEarly {
		t.Errorf("the folder has %v, want %v, and was there early: %v", folders(t, dir), want, readyEarly)
	}
	if len(warnings) != 1 {
		t.Errorf("%d warnings about the persona, want 1: %v", len(warnings), warnings)
	}
	again, err := sxlm.Deploy(t.Context(), path, dir, o) // replaces itself
	t.Must(err)
	d.Model.Close()
	t.Must(again.Close())
	gone(t, "closed", work, a)
	faults(t, work, path, good, o, a)
}

// gone checks that nothing is left of a deployment.
func gone(t *report, what, work string, a *ledger.Account) {
	if left := folders(t, work); !slices.Equal(left, []string{"m.sxlm"}) || a.Held() != 0 {
		t.Errorf("%s: %v and %d bytes are left", what, left, a.Held())
	}
}

// faults lets a deployment fail at every step.
func faults(t *report, work, path string, good []byte, o sxlm.DeployOptions, a *ledger.Account) {
	dir := filepath.Join(work, "out")
	f := func(change func(f *forge)) []byte {
		x, err := newForge(good)
		t.Must(err)
		change(x)
		return x.build()
	}
	n := 0
	for name, file := range map[string][]byte{
		"magic":      f(func(x *forge) { x.onHead = func(b []byte) { b[0] = 'Y' } }),
		"header":     f(func(x *forge) { x.magic = "SXLN" }),
		"hash":       f(func(x *forge) { x.onSum = func(s []byte) []byte { s[0] ^= 1; return s } }),
		"blocks":     f(func(x *forge) { x.frames[3] = bytes.Clone(x.frames[3]); x.frames[3][len(x.frames[3])/2] ^= 1 }),
		"containers": f(func(x *forge) { x.array(7, "persona", func(a *array) { a.kind = 1 }) }),
		"tiers":      f(func(x *forge) { x.array(1, "n.b_in", func(a *array) { a.data = bytes.Repeat([]byte{255}, 2048) }) }),
		"sanity":     f(func(x *forge) { x.array(4, "codebook.sha256", func(a *array) { a.data[0] ^= 1 }) }),
	} {
		t.Must(os.WriteFile(path, file, 0o600))
		var last string
		o.Log = func(e sxlm.Event) { last = e.Step }
		_, err := sxlm.Deploy(t.Context(), path, dir, o)
		if !errors.Is(err, sxlm.ErrFile) {
			t.Errorf("%s: %v after %s, want an error of the file", name, err, last)
		}
		gone(t, name, work, a)
		n++
	}
	t.Must(os.WriteFile(path, good, 0o600))
	for k := range 8 { // interrupted after each step
		ctx, cancel := context.WithCancel(t.Context())
		left := k
		o.Log = func(sxlm.Event) {
			if left--; left < 0 {
				cancel()
			}
		}
		d, err := sxlm.Deploy(ctx, path, dir, o)
		if err == nil { // after the last
			t.Must(d.Close())
		}
		cancel()
		if k < 7 && !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted after %d steps: %v", k+1, err)
		}
		gone(t, "interrupted", work, a)
		n++
	}
	t.Figure("8 steps, %d faults leave nothing", n)
}
