package atenia_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/place"
)

// A saved is the folder of a run with a checkpoint, and what that run answered.
type saved struct {
	path, dir string
	prompt    []int32
	ids       []int32
	probs     []float32
}

func newSaved(t *testing.T) *saved {
	t.Helper()
	s := &saved{path: filepath.Join(golden.Family(t, "parity"), "llama3"), dir: filepath.Join(t.TempDir(), "saved")}
	for i := range 50 {
		s.prompt = append(s.prompt, int32(3+i*7%90))
	}
	s.ids, s.probs, _ = answered(t, s.path, s.dir, s.prompt)
	return s
}

func (s *saved) manifest() string { return filepath.Join(s.dir, "checkpoint.meta") }

// edit changes the manifest to one of another machine or an older version, which
// has no file about the model beside it.
func (s *saved) edit(t *testing.T, change func(string) string) {
	t.Helper()
	b, err := os.ReadFile(s.manifest())
	if err != nil {
		t.Fatal(err)
	}
	text := change(string(b))
	if text == string(b) {
		t.Fatal("nothing is changed")
	}
	if err := os.WriteFile(s.manifest(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// open opens the model with the folder and returns what it found.
func (s *saved) open(t *testing.T) (place.Resumed, error) {
	t.Helper()
	m, err := atenia.Open(t.Context(), s.path, &atenia.Config{Checkpoint: s.dir, Threads: 1, Context: 200, Budget: place.Budget{RAM: 8 << 30}, Placement: place.Rules{NoProbe: true}})
	if err != nil {
		return place.Resumed{}, err
	}
	defer m.Close()
	r, _ := m.Checkpoint()
	return r, nil
}

// weight is the entry of a weight whose tier, wanted tier and summary are given.
func weight(tier, desired, summary string) string {
	return "id=lm_head.weight\nis_grad=0\ntier=" + tier + "\nlen=81920\ncache_kind=none\ncache_key=none\ndesired_tier=" + desired + "\nplan_summary=" + summary + "\n"
}

const mapped = "ram: mapped, no budget bounds it"

// TestRunCheckpoint: runs with a checkpoint save it and continue from it.
func TestRunCheckpoint(t *testing.T) {
	conversation := regexp.MustCompile(`(?m)^id=(kv:\w+)\nis_grad=0\ntier=ram\nlen=(\d+)\ncache_kind=tensor\ncache_key=tensor:(kv:\w+):len(\d+)\n`)
	t.Run("CK-1", func(t *testing.T) {
		s := newSaved(t)
		b, err := os.ReadFile(s.manifest())
		if err != nil {
			t.Fatal(err)
		}
		if head := regexp.MustCompile(`^version=1\ncreated_unix=\d+\nentry_count=(\d+)\n\n`).FindStringSubmatch(string(b)); head == nil {
			t.Errorf("the manifest begins %.100q", b)
		}
		if e := conversation.FindStringSubmatch(string(b)); e == nil || e[1] != e[3] || e[2] != e[4] {
			t.Errorf("no entry has bytes: %q", e)
		}
		ids, probs, r := answered(t, s.path, s.dir, s.prompt)
		if r.Reused == 0 || !slices.Equal(ids, s.ids) || !slices.Equal(probs, s.probs) {
			t.Errorf("%d tokens continue to %v %v, want %v %v", r.Reused, ids, probs, s.ids, s.probs)
		}
	})
	t.Run("CK-5", func(t *testing.T) {
		s := newSaved(t)
		if r, err := s.open(t); err != nil || r.Wanted == 0 {
			t.Fatalf("with them: %+v, %v", r, err)
		}
		s.edit(t, func(m string) string {
			return regexp.MustCompile(`(?m)^(desired_tier|plan_summary)=.*\n`).ReplaceAllString(m, "")
		})
		r, err := s.open(t)
		if err != nil || r.Restored == 0 || r.Wanted != 0 || len(r.Drift) > 0 || !strings.HasSuffix(r.WarmStart, "promote=0 degrade=0") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("three drifts", func(t *testing.T) {
		s := newSaved(t)
		s.edit(t, func(m string) string {
			return strings.Replace(m, weight("ram", "ram", mapped), weight("vram", "vram", "run on GPU"), 1)
		})
		r, err := s.open(t)
		if err != nil || r.Restored == 0 {
			t.Fatal(r, err)
		}
		wantDrift(t, r, "MissingBackend: Vram", "TierDowngrade: Vram is desired, restored to Ram", `PlanMismatch: planned "run on GPU"`)
	})
	t.Run("CK-7", func(t *testing.T) {
		s := newSaved(t)
		s.edit(t, func(m string) string {
			return strings.Replace(m, weight("ram", "ram", mapped), weight("ram", "ram", "on the gpu"), 1)
		})
		r, err := s.open(t)
		if err != nil {
			t.Fatal(err)
		}
		wantDrift(t, r, `PlanMismatch: planned "on the gpu"`)
	})
	t.Run("damaged", func(t *testing.T) {
		for name, change := range map[string][2]string{
			"count": {"entry_count=", "entry_count=9"}, "tier": {"tier=ram", "tier=hbm"}, "kind without key": {"cache_kind=none", "cache_kind=tensor"},
		} {
			s := newSaved(t)
			s.edit(t, func(m string) string { return strings.Replace(m, change[0], change[1], 1) })
			if _, err := s.open(t); !errors.Is(err, atenia.ErrCheckpointDamaged) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("CK-9", func(t *testing.T) {
		s := newSaved(t)
		read := func() string {
			b, err := os.ReadFile(s.manifest())
			if err != nil {
				t.Fatal(err)
			}
			return regexp.MustCompile(`created_unix=\d+`).ReplaceAllString(string(b), "")
		}
		first := read()
		answered(t, s.path, s.dir, s.prompt)
		if again := read(); again != first {
			t.Errorf("the same state is written as\n%s\nand\n%s", first, again)
		}
		var ids []string
		for _, l := range strings.Split(first, "\n") {
			if id, ok := strings.CutPrefix(l, "id="); ok {
				ids = append(ids, id)
			}
		}
		if len(ids) < 20 || !slices.IsSorted(ids) {
			t.Errorf("the order is %v", ids)
		}
	})
}

// TestRunCheckpointLazy: a run reads of a checkpoint what it needs, when it does.
func TestRunCheckpointLazy(t *testing.T) {
	// unread opens a checkpoint whose conversations cannot be read: nothing does
	// until a prompt continues one.
	unread := func(t *testing.T) place.Resumed {
		s := newSaved(t)
		files, err := filepath.Glob(filepath.Join(s.dir, "cache", "tensor", "*.bin"))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, f := range files {
			if err := os.Truncate(f, 1); err != nil {
				t.Fatal(err)
			}
		}
		r, err := s.open(t)
		if err != nil || r.Sequences == 0 || r.Reused != 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	t.Run("lazy", func(t *testing.T) {
		if r := unread(t); !strings.Contains(r.String(), "restored lazily") {
			t.Error(r)
		}
		s := newSaved(t)
		if r, err := s.open(t); err != nil || r.Reused != 0 {
			t.Errorf("%+v, %v", r, err)
		}
		if _, _, r := answered(t, s.path, s.dir, s.prompt); r.Reused == 0 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("WS-4", func(t *testing.T) {
		if r := unread(t); !strings.HasPrefix(r.WarmStart, "warm_start keep=") {
			t.Errorf("%q", r.WarmStart)
		}
	})
}

// wantDrift compares what a checkpoint is said to differ in.
func wantDrift(t *testing.T, r place.Resumed, want ...string) {
	t.Helper()
	if len(r.Drift) != len(want) {
		t.Fatalf("%q, want %q", r.Drift, want)
	}
	for i, w := range want {
		if !strings.HasPrefix(r.Drift[i], w) {
			t.Errorf("%q, want %q", r.Drift[i], w)
		}
	}
}

// TestRunWarmStart: the warm start of a run counts the checkpoint's tensors that
// stay and those that cannot be where they were wanted.
func TestRunWarmStart(t *testing.T) {
	var s *saved
	start := func(t *testing.T, entry string) (r place.Resumed) {
		t.Helper()
		s = newSaved(t)
		s.edit(t, func(m string) string { return strings.Replace(m, weight("ram", "ram", mapped), entry, 1) })
		r, err := s.open(t)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Run("degraded", func(t *testing.T) {
		r := start(t, weight("vram", "vram", mapped))
		if !strings.HasSuffix(r.WarmStart, "promote=0 degrade=1") {
			t.Errorf("%q", r.WarmStart)
		}
		wantDrift(t, r, "MissingBackend: ", "TierDowngrade: Vram is desired, restored to Ram")
		wantEntry(t, s, weight("ram", "vram", "Tier downgraded from Vram to Ram during restore drift"))
	})
	t.Run("promoted", func(t *testing.T) {
		r := start(t, weight("ssd", "ram", mapped))
		if !strings.HasSuffix(r.WarmStart, "promote=1 degrade=0") {
			t.Errorf("%q", r.WarmStart)
		}
		wantEntry(t, s, weight("ram", "ram", "Prefer RAM for faster access when safe"))
	})
	t.Run("kept", func(t *testing.T) {
		r := start(t, weight("ram", "ssd", mapped))
		if !strings.HasSuffix(r.WarmStart, "promote=0 degrade=0") || len(r.Drift) > 0 {
			t.Errorf("%q, %q", r.WarmStart, r.Drift)
		}
	})
}

// wantEntry looks for an entry in the manifest of a run that has been closed.
func wantEntry(t *testing.T, s *saved, entry string) {
	t.Helper()
	b, err := os.ReadFile(s.manifest())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), entry) {
		t.Errorf("the manifest does not have\n%s\nbut %s", entry, regexp.MustCompile(`(?s)id=lm_head.weight.*?\n\n`).Find(b))
	}
}
