package memory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/memory"
	"atenia/internal/memory/checkpoint"
	"atenia/internal/memory/memorytest"
	"atenia/internal/store/blob"
)

func init() {
	goldenTopics["checkpoint"] = func(t *testing.T, c *goldenCase) {
		if c.Fn == "save_checkpoint" {
			runSave(t, c)
		} else {
			runRestore(t, c)
		}
	}
	goldenTopics["drift"] = runDrift
	goldenTopics["lazy"] = runLazy
}

var checkpointKinds = map[string]error{
	"Io": checkpoint.ErrIO, "InvalidFormat": checkpoint.ErrInvalidFormat, "MissingBlob": checkpoint.ErrMissingBlob,
}

// A wantEntry is an entry of a manifest as cases write it.
type wantEntry struct {
	ID          string       `json:"id"`
	IsGrad      bool         `json:"is_grad"`
	Tier        memory.Tier  `json:"tier"`
	Len         uint64       `json:"len"`
	CacheKind   *string      `json:"cache_kind"`
	CacheKey    *string      `json:"cache_key"`
	DesiredTier *memory.Tier `json:"desired_tier"`
	PlanSummary *string      `json:"plan_summary"`
}

func (w *wantEntry) hint() memory.Hint { return hintOf(w.DesiredTier, w.PlanSummary) }

func hintOf(desired *memory.Tier, summary *string) memory.Hint {
	h := memory.Hint{Desired: desired}
	if summary != nil {
		h.Summary, h.HasSummary = *summary, true
	}
	return h
}

// sameHint compares two hints.
func sameHint(a, b memory.Hint) bool {
	return (a.Desired == nil) == (b.Desired == nil) && (a.Desired == nil || *a.Desired == *b.Desired) &&
		a.HasSummary == b.HasSummary && a.Summary == b.Summary
}

func checkEntries(t *testing.T, m *checkpoint.Manifest, want []wantEntry) {
	t.Helper()
	if len(m.Entries) != len(want) {
		t.Fatalf("%d entries, want %d", len(m.Entries), len(want))
	}
	for i, w := range want {
		e := &m.Entries[i]
		if e.ID != w.ID || e.IsGrad != w.IsGrad || e.Tier != w.Tier || e.Bytes != w.Len || !sameHint(e.Hint, w.hint()) {
			t.Errorf("entry %d is %+v, want %+v", i, e, w)
		}
		if (e.Blob == nil) != (w.CacheKind == nil) || e.Blob != nil && (e.Blob.Kind.String() != *w.CacheKind || e.Blob.Key != *w.CacheKey) {
			t.Errorf("entry %d has blob %v, want %v %v", i, e.Blob, w.CacheKind, w.CacheKey)
		}
	}
}

// A wantHint is [id, desired_tier, last_plan_summary].
type wantHint struct {
	id   string
	hint memory.Hint
}

func (w *wantHint) UnmarshalJSON(b []byte) error {
	var desired *memory.Tier
	var summary *string
	if err := unmarshalList(b, &w.id, &desired, &summary); err != nil {
		return err
	}
	w.hint = hintOf(desired, summary)
	return nil
}

// A goldenSave lists the actions before a checkpoint is saved.
type goldenSave struct {
	Memory      goldenMemory
	CreatedUnix uint64 `json:"created_unix"`
	Materialize bool
	Steps       []struct {
		Op, ID      string
		To          *memory.Tier
		Data        *hexBytes
		DesiredTier *memory.Tier `json:"desired_tier"`
		PlanSummary *string      `json:"plan_summary"`
	}
}

func runSave(t *testing.T, c *goldenCase) {
	var in goldenSave
	var want struct {
		Manifest []byte
		Entries  []wantEntry
	}
	c.decode(t, &in, &want)
	m := in.Memory.build(t)
	ctx := context.Background()
	for _, s := range in.Steps {
		var err error
		switch s.Op {
		case "move":
			_, _ = m.Move(ctx, s.ID, *s.To) // may fail, and then changes nothing
		case "put_tensor":
			data, _ := m.Peek(s.ID)
			err = m.cache.Put(blob.Tensor, tensorKey(s.ID, len(data)), data, 0, true)
		case "hint":
			m.SetHint(s.ID, hintOf(s.DesiredTier, s.PlanSummary))
		case "persist_grad":
			data, _ := m.Peek(s.ID)
			err = m.PersistGradient(ctx, s.ID, data, 1, true)
		case "reregister":
			_, err = m.RegisterData(s.ID, *s.Data, memory.RAM)
		default:
			t.Fatalf("no step %q", s.Op)
		}
		if err != nil {
			t.Fatalf("%s %q: %v", s.Op, s.ID, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "checkpoint")
	saved, err := checkpoint.Save(ctx, dir, m.Manager, in.CreatedUnix, checkpoint.SaveOptions{Materialize: in.Materialize})
	if err != nil {
		t.Fatal(err)
	}
	checkEntries(t, saved.Manifest, want.Entries)
	text, err := os.ReadFile(filepath.Join(dir, checkpoint.Name))
	if err != nil || !bytes.Equal(text, want.Manifest) {
		t.Errorf("manifest %v\n%s\nwant\n%s", err, text, want.Manifest)
	}
}

// A goldenRestore is a manifest and its cache.
type goldenRestore struct {
	Manifest []byte
	Puts     []struct {
		Kind, Key string
		Data      hexBytes
	}
	Tamper []struct {
		Kind, Key, File string
		Content         []byte // nil: removed
	}
	CacheAttached *bool `json:"cache_attached"` // nil: yes
}

var blobKinds = map[string]blob.Kind{"Tensor": blob.Tensor, "Gradient": blob.Gradient, "KernelMeta": blob.KernelMeta}

func tensorKey(id string, n int) string {
	return (&checkpoint.Entry{ID: id, Bytes: uint64(n)}).DefaultBlob().Key
}

// prepare writes manifest and cache and returns the folder and a manager.
func (g *goldenRestore) prepare(t *testing.T, device bool) (string, *goldenManager) {
	t.Helper()
	root := t.TempDir()
	m := &goldenManager{}
	c := memory.Config{Dir: filepath.Join(root, "ssd")}
	if device {
		m.fake = &memorytest.FakeVRAM{}
		c.Adapter = m.fake
	}
	cache := goldenCache(t, filepath.Join(root, "cache"), "ok")
	for _, p := range g.Puts {
		if err := cache.Put(blobKinds[p.Kind], p.Key, p.Data, 0, true); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range g.Tamper {
		info, err := cache.Stat(blobKinds[x.Kind], x.Key)
		if err != nil {
			t.Fatal(err)
		}
		file := info.Path
		if x.File == "meta" {
			file = file[:len(file)-len("bin")] + "meta"
		}
		if err = os.Remove(file); x.Content != nil {
			err = os.WriteFile(file, x.Content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if g.CacheAttached == nil || *g.CacheAttached {
		c.Cache = cache
	}
	m.Manager = memory.New(c)
	dir := filepath.Join(root, "checkpoint")
	if g.Manifest != nil {
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, checkpoint.Name), g.Manifest, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir, m
}

func runRestore(t *testing.T, c *goldenCase) {
	var in goldenRestore
	var want struct {
		Error   *wantError
		Entries []wantEntry
		Hints   []wantHint
		Tensors []wantTensor
		Ledger  wantLedger
	}
	c.decode(t, &in, &want)
	dir, m := in.prepare(t, false)
	r, err := checkpoint.Restore(context.Background(), dir, m.Manager, checkpoint.RestoreOptions{})
	want.Error.check(t, "restore", err, checkpointKinds)
	if err == nil {
		checkEntries(t, r.Manifest, want.Entries)
	}
	for _, w := range want.Hints {
		if h, ok := m.Hint(w.id); !ok || !sameHint(h, w.hint) {
			t.Errorf("hint of %q is %+v, want %+v", w.id, h, w.hint)
		}
	}
	m.checkTensors(t, "restore", want.Tensors)
	m.checkLedger(t, "restore", want.Ledger, false)
}

// A wantReport is the drifts of an entry.
type wantReport struct {
	EntryID string `json:"entry_id"`
	Drifts  []struct {
		Drift, Cause      string
		Desired, Restored *memory.Tier
		Summary           *string
	}
}

func runDrift(t *testing.T, c *goldenCase) {
	var in struct {
		goldenRestore
		GPUAvailable bool `json:"gpu_available"`
		Lazy         bool
	}
	var want struct{ Reports []wantReport }
	c.decode(t, &in, &want)
	dir, m := in.prepare(t, false)
	r, err := checkpoint.Restore(context.Background(), dir, m.Manager, checkpoint.RestoreOptions{GPU: in.GPUAvailable, Lazy: in.Lazy})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Reports) != len(want.Reports) {
		t.Fatalf("reports %+v, want %+v", r.Reports, want.Reports)
	}
	for i, w := range want.Reports {
		got := r.Reports[i]
		if got.ID != w.EntryID || len(got.Drifts) != len(w.Drifts) {
			t.Fatalf("report %d is %+v, want %+v", i, got, w)
		}
		for k, x := range w.Drifts {
			d := got.Drifts[k]
			if d.Kind.String() != x.Drift || d.Cause.String() != x.Cause || x.Desired != nil && *x.Desired != d.Desired ||
				x.Restored != nil && *x.Restored != d.Restored || x.Summary != nil && *x.Summary != d.Summary {
				t.Errorf("%q: drift %+v, want %+v", got.ID, d, x)
			}
		}
	}
}

// A wantLazy is the expected state after a lazy restore or a later step.
type wantLazy struct {
	Error   *wantError
	States  []wantState
	Tensors []wantTensor
	Reads   *int `json:"cache_reads"` // counted by the cache of the reference alone
}

// A wantState is [id, state].
type wantState struct {
	id    string
	state *string
}

func (w *wantState) UnmarshalJSON(b []byte) error { return unmarshalList(b, &w.id, &w.state) }

func (w *wantLazy) check(t *testing.T, what string, m *goldenManager) {
	t.Helper()
	for _, s := range w.States {
		got, ok := m.LazyState(s.id)
		if ok != (s.state != nil) || ok && got.String() != *s.state {
			t.Errorf("%s: %q is %v (%v), want %v", what, s.id, got, ok, s.state)
		}
	}
	m.checkTensors(t, what, w.Tensors)
}

func runLazy(t *testing.T, c *goldenCase) {
	var in struct {
		goldenRestore
		Steps []struct {
			Op, ID   string
			To, Tier *memory.Tier
			Data     hexBytes
		}
	}
	var want struct {
		Restore wantLazy
		Steps   []wantLazy
	}
	c.decode(t, &in, &want)
	dir, m := in.prepare(t, true)
	ctx := context.Background()
	_, err := checkpoint.Restore(ctx, dir, m.Manager, checkpoint.RestoreOptions{Lazy: true})
	want.Restore.Error.check(t, "restore", err, checkpointKinds)
	want.Restore.check(t, "restore", m)
	for i, s := range in.Steps {
		err, kinds := error(nil), checkpointKinds
		switch s.Op {
		case "ensure":
			err = checkpoint.EnsureMaterialized(ctx, m.Manager, s.ID)
		case "move":
			_, err = m.Move(ctx, s.ID, *s.To)
			kinds = moveKinds
		case "reregister":
			_, err = m.RegisterData(s.ID, s.Data, *s.Tier)
		default:
			t.Fatalf("no step %q", s.Op)
		}
		what := s.Op + " " + s.ID
		want.Steps[i].Error.check(t, what, err, kinds)
		want.Steps[i].check(t, what, m)
	}
}

// unmarshalList reads a list of as many values as there are targets.
func unmarshalList(b []byte, to ...any) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	if len(parts) != len(to) {
		return errors.New("a list of another length")
	}
	for i := range to {
		if err := json.Unmarshal(parts[i], to[i]); err != nil {
			return err
		}
	}
	return nil
}
