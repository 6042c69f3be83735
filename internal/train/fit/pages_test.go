package fit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/golden/await"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
	"atenia/internal/store/faultfs"
	"atenia/internal/train"
	"atenia/internal/train/data"
	"atenia/internal/train/offload"
)

// export trains a model and returns the file it writes.
func export(t *testing.T, m *Model, cfg train.Config) []byte {
	t.Helper()
	return exportOf(t, m, m, cfg)
}

// exportOf trains a model as l has it learn.
func exportOf(t *testing.T, m *Model, l train.Learner, cfg train.Config) []byte {
	t.Helper()
	dir := t.TempDir()
	_, err := train.Run(t.Context(), cfg, l, &rows{}, &rows{})
	if err == nil {
		err = m.Export(nil, dir)
	}
	if err == nil {
		err = m.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pageConfig(t *testing.T, bf16 bool, clip float64, accumulate int) train.Config {
	return train.Config{
		Rule: grad.AdamW{Decay: 0.1}, Rate: 0.01, Clip: clip, Steps: 5, Accumulate: accumulate, BF16: bf16, EvalEvery: 2, EvalBatches: 2,
		Schedule: grad.Schedule{Curve: grad.Constant}, Dir: t.TempDir(), FS: faultfs.NoSync(),
	}
}

// rows is counting with a position.
type rows struct{ counting }

func (r *rows) Cursor() string { return strconv.Itoa(int(r.at)) }
func (r *rows) Seek(cursor string) error {
	n, err := strconv.Atoi(cmp.Or(cursor, "0"))
	r.at = int32(n)
	return err
}

// TestPaged trains in files with any amount of memory: the exported model is
// byte for byte that of the run in memory.
func TestPaged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		untied, bf16 bool
		clip         float64
		accumulate   int
	}{{false, true, 0, 1}, {true, false, 0.5, 1}, {false, false, 0.5, 3}, {true, true, 0.5, 2}} {
		s := sizes
		s.Untied = c.untied
		want := export(t, tinyModel(t, s, ModelOptions{BF16: c.bf16}), pageConfig(t, c.bf16, c.clip, c.accumulate))
		for _, room := range []struct {
			gradients int64
			keep      int
		}{{0, 0}, {3000, 1}, {1 << 30, 3}} {
			a := ledger.New(nil, 0)
			m := pagedModel(t, s, c.bf16, a, room.keep)
			cfg := pageConfig(t, c.bf16, c.clip, c.accumulate)
			cfg.Paging = &train.Paging{Account: a, Gradients: room.gradients, ChunkBytes: 1 << 13}
			if !bytes.Equal(export(t, m, cfg), want) {
				t.Errorf("%+v, %+v: the models differ", c, room)
			}
			if a.Held() != 0 {
				t.Errorf("%+v, %+v: %d bytes are held at the end", c, room, a.Held())
			}
		}
	}
}

// pagedModel returns a model whose parameters are paged.
func pagedModel(t *testing.T, s Sizes, bf16 bool, a *ledger.Account, keep int) *Model {
	t.Helper()
	m := tinyModel(t, s, ModelOptions{BF16: bf16, Paged: true, Room: &offload.Room{Account: a}, Rows: 30})
	if err := m.Keep(keep); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestBadStep: a step whose loss is no number is skipped, and its gradients, in memory
// or in files, are not those of the next one.
func TestBadStep(t *testing.T) {
	t.Parallel()
	cfg := pageConfig(t, true, 0.5, 2)
	cfg.BadSteps = 2
	m := tinyModel(t, sizes, ModelOptions{BF16: true})
	want := exportOf(t, m, &poisoned{m, 4}, cfg)
	for _, gradients := range []int64{0, 1 << 30} {
		a := ledger.New(nil, 0)
		m := pagedModel(t, sizes, true, a, 1)
		cfg.Dir = t.TempDir()
		cfg.Paging = &train.Paging{Account: a, Gradients: gradients, ChunkBytes: 1 << 13}
		if !bytes.Equal(exportOf(t, m, &poisoned{m, 4}, cfg), want) {
			t.Errorf("gradients %d: the models differ", gradients)
		}
	}
}

// A poisoned model has a loss that is no number in one pass.
type poisoned struct {
	*Model
	left int
}

func (p *poisoned) Backward(b *data.Batch, share float64) (float64, error) {
	loss, err := p.Model.Backward(b, share)
	if p.left--; p.left == 0 {
		loss = math.NaN()
	}
	return loss, err
}

// TestNoRoom finds the smallest account that a run completes in: below it, errors
// say so; at and above it the result is the same, whatever had to give way.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	var want []byte
	ran, failed := 0, 0
	less := int64(200_000)
	if await.Long() {
		less = 100_000
	}
	for limit := int64(4_900_000); limit > 4_000_000; limit -= less {
		a := ledger.New(nil, limit)
		m, err := New(must(sizes.Config()), ModelOptions{BF16: true, Paged: true, Room: &offload.Room{Account: a}, Rows: 30})
		if err != nil {
			t.Fatal(err)
		}
		m.Init(7, 0.05)
		cfg := pageConfig(t, true, 0.5, 2)
		cfg.Paging = &train.Paging{Account: a, ChunkBytes: 1 << 13}
		dir := t.TempDir()
		if err = m.Keep(0); err == nil {
			if _, err = train.Run(t.Context(), cfg, m, &rows{}, nil); err == nil {
				err = m.Export(nil, dir)
			}
		}
		if cerr := m.Close(); cerr != nil {
			t.Error(cerr)
		}
		if a.Held() != 0 || a.Peak() > limit {
			t.Errorf("limit %d: %d bytes are held at the end, %d at most", limit, a.Held(), a.Peak())
		}
		if err != nil {
			if failed++; !errors.Is(err, ledger.ErrFull) {
				t.Error(err)
			}
			continue
		}
		ran++
		b, err := os.ReadFile(filepath.Join(dir, "model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		if want != nil && !bytes.Equal(b, want) || failed > 0 {
			t.Errorf("limit %d: another result, or one below a limit that was too small", limit)
		}
		want = b
	}
	if ran == 0 || failed == 0 {
		t.Errorf("%d runs completed and %d did not: the limits are not around the floor", ran, failed)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// TestPause stops runs between the batches of a step. They resume there, with the
// gradients of the batches that were done, and end with the same bytes; if those
// are damaged, the step begins anew.
func TestPause(t *testing.T) {
	t.Parallel()
	want := export(t, tinyModel(t, sizes, ModelOptions{BF16: true}), pageConfig(t, true, 0.5, 3))
	for _, gradients := range []int64{0, 1 << 30} {
		for _, damage := range []string{"", "cut", "replaced"} {
			cfg := pageConfig(t, true, 0.5, 3)
			cfg.Resume = true
			warm := 0
			for stop, lives := 2, 0; ; stop, lives = 2+(stop+1)%4, lives+1 {
				if lives > 5*3*5 { // steps of three batches, and evaluations
					t.Fatal("the run gets nowhere")
				}
				a := ledger.New(nil, 0)
				cfg.Paging = &train.Paging{Account: a, Gradients: gradients, ChunkBytes: 1 << 13}
				m := pagedModel(t, sizes, true, a, 1)
				ctx, cancel := context.WithCancel(t.Context())
				l := &stopping{Model: m, left: stop, stop: cancel}
				_, err := train.Run(ctx, cfg, l, &rows{}, &rows{})
				cancel()
				files, _ := filepath.Glob(filepath.Join(cfg.Dir, "state", "interrupted", "cache", "*", "*.bin"))
				if err == nil {
					dir := t.TempDir()
					if err := m.Export(nil, dir); err != nil {
						t.Fatal(err)
					}
					got, _ := os.ReadFile(filepath.Join(dir, "model.safetensors"))
					if !bytes.Equal(got, want) {
						t.Errorf("gradients %d, damaged %q: the models differ", gradients, damage)
					}
					if len(files) > 0 || warm == 0 {
						t.Errorf("gradients %d: %d stops inside of steps, %d files are left", gradients, warm, len(files))
					}
					if err := m.Close(); err != nil {
						t.Error(err)
					}
					break
				}
				if !errors.Is(err, train.ErrStopped) {
					t.Fatal(err)
				}
				if len(files) > 0 {
					warm++
					wantChecked(t, filepath.Join(cfg.Dir, "state", "interrupted"), len(files))
					if err := spoil(filepath.Join(cfg.Dir, "state", "interrupted"), files[0], damage); err != nil {
						t.Fatal(err)
					}
				}
				if err := m.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// wantChecked inspects and verifies the checkpoint of an interrupted step as
// "atenia checkpoint" does: it has so many gradients, and nothing else.
func wantChecked(t *testing.T, dir string, gradients int) {
	t.Helper()
	f, err := checkpoint.OpenFolder(dir, "", false)
	if err != nil {
		t.Fatal(err)
	}
	l, err := f.Inspect()
	if err != nil || len(l.Entries) != gradients {
		t.Fatalf("%d gradients are kept, the checkpoint has %+v, %v", gradients, l, err)
	}
	for _, e := range l.Entries {
		if !e.IsGrad || e.Blob == nil || e.Blob.Kind != blob.Gradient || e.Summary == nil {
			t.Errorf("%+v is no gradient", e)
		}
	}
	checks, err := f.Verify(t.Context())
	if err != nil || len(checks) != gradients {
		t.Errorf("%v, %v", checks, err)
	}
	for _, c := range checks {
		if c.Status != checkpoint.Good {
			t.Errorf("%+v", c)
		}
	}
}

// spoil damages a gradient of an interrupted step, or replaces it by another, as a kill
// during a later pause would.
func spoil(dir, file, how string) error {
	switch how {
	case "cut":
		return os.Truncate(file, 10)
	case "replaced":
		saved, err := checkpoint.Read(dir, nil)
		if err != nil {
			return err
		}
		c, err := blob.OpenCache(filepath.Join(dir, "cache"), blob.Config{})
		if err != nil {
			return err
		}
		b := saved.Entries[0].Blob
		data, err := c.Get(b.Kind, b.Key)
		if err != nil {
			return err
		}
		data[3] ^= 0x40
		return c.Put(b.Kind, b.Key, data, 0, true)
	}
	return nil
}

// A run in memory does not begin anew because the budget has become too small.
func TestResumedInLess(t *testing.T) {
	t.Parallel()
	cfg := pageConfig(t, true, 0.5, 1)
	cfg.SnapshotEvery = 2
	export(t, tinyModel(t, sizes, ModelOptions{BF16: true}), cfg)
	a := ledger.New(nil, 0)
	cfg.Steps, cfg.Resume, cfg.Paging = 6, true, &train.Paging{Account: a, ChunkBytes: 1 << 13}
	m := pagedModel(t, sizes, true, a, 1)
	if _, err := train.Run(t.Context(), cfg, m, &rows{}, &rows{}); !errors.Is(err, train.ErrResume) || !strings.Contains(err.Error(), "with a budget that all of it fits in") {
		t.Error(err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// A stopping model ends its run's context after some passes.
type stopping struct {
	*Model
	left int
	stop func()
}

func (s *stopping) Backward(b *data.Batch, share float64) (float64, error) {
	loss, err := s.Model.Backward(b, share)
	if s.left--; s.left == 0 {
		s.stop()
	}
	return loss, err
}

const pagedVar = "ATENIA_PAGED_RUN"

// TestKillPaged kills a process that trains in files again and again: the last
// one ends with the bytes of a run in memory.
func TestKillPaged(t *testing.T) {
	run := func(dir string, fsys durable.FS) []byte {
		a := ledger.New(nil, 0)
		cfg := pageConfig(t, true, 0.5, 2)
		if fsys != nil {
			cfg.Watch = func(e train.Event) { fmt.Fprintln(await.Step, "step", e.Step) }
		}
		cfg.Dir, cfg.Resume, cfg.FS, cfg.Steps = dir, true, fsys, 8
		cfg.Paging = &train.Paging{Account: a, Gradients: 3000, ChunkBytes: 1 << 13}
		return export(t, pagedModel(t, sizes, true, a, 1), cfg)
	}
	if dir := os.Getenv(pagedVar); dir != "" {
		run(dir, faultfs.New(0, faultfs.Fail).Tell(await.Step))
		return
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(7, 8))
	from := 0
	for kill := range 5 { // between two steps, and in the middle of one, which writes all the time
		sign, n := "step", 1+rng.IntN(2)
		if kill%2 == 1 {
			sign, n = "call", 20+rng.IntN(200)
		}
		cmd := exec.Command(self, "-test.run=^TestKillPaged$")
		cmd.Env = append(os.Environ(), pagedVar+"="+dir)
		lines := await.Kill(t, cmd, await.Nth(n, sign))
		from = max(from, await.Number(lines, "step")-1) // the first of this life
	}
	if from == 0 {
		t.Error("no life went on from an earlier one")
	}
	cfg := pageConfig(t, true, 0.5, 2)
	cfg.Steps = 8
	if !bytes.Equal(run(dir, nil), export(t, tinyModel(t, sizes, ModelOptions{BF16: true}), cfg)) {
		t.Error("the models differ")
	}
}

// TestReadAheadYields: whatever the room above the floor, what is read ahead gives way
// to what a block that is computed needs, so that a run completes, and its model is written.
func TestReadAheadYields(t *testing.T) {
	t.Parallel()
	s := sizes
	s.Hidden, s.FFN, s.Layers, s.Untied = 64, 96, 3, true
	s.Vocabulary = 400 // so that a table and the head are the largest, and written one after the other
	run := func(limit int64, export bool) error {
		a := ledger.New(nil, limit)
		m, err := New(must(s.Config()), ModelOptions{Paged: true, Room: &offload.Room{Account: a}, Rows: 30})
		if err != nil {
			t.Fatal(err)
		}
		m.Init(7, 0.05)
		cfg := pageConfig(t, false, 0.5, 1)
		cfg.Steps, cfg.Paging = 1, &train.Paging{Account: a, ChunkBytes: 1 << 13}
		if err = m.Keep(0); err == nil {
			_, err = train.Run(t.Context(), cfg, m, &rows{}, nil)
		}
		if export && err == nil {
			err = m.Export(nil, t.TempDir())
		}
		return errors.Join(err, m.Close())
	}
	floor := int64(sort.Search(1<<12, func(pages int) bool { return run(int64(pages)<<12, false) == nil })) << 12
	block := 4 * int64(s.Hidden*(2*s.Hidden+s.Hidden/s.Heads*s.KVHeads*2+3*s.FFN))
	step := int64(3 << 12)
	if await.Long() {
		step = 1 << 12
	}
	for limit := floor; limit < floor+2*block; limit += step {
		if err := run(limit, true); err != nil {
			t.Errorf("%d bytes above the floor of %d: %v", limit-floor, floor, err)
		}
	}
}
