package memory_test

import (
	"atenia/internal/memory/checkpoint"
	"errors"
	"os"
	"testing"

	"atenia/internal/policy/decide"
)

func init() { goldenTopics["autoloop"] = runAutoloop }

type autoloopStep struct {
	Op      string
	Context learnContext
	Reasons []string `json:"plan_reasons"`
	Drift   int      `json:"drift_reports"`
	Result  struct{ Ok, Err *int32 }
	File    []byte
	Clock   uint64 `json:"clock_s"`
}

func (s *autoloopStep) tick() decide.Tick {
	t := decide.Tick{Context: s.Context.context(), Drift: s.Drift > 0, Seconds: s.Clock}
	for _, r := range s.Reasons {
		t.Planned = append(t.Planned, checkpoint.Decision{Reason: r})
	}
	if s.Result.Ok != nil {
		t.Result = decide.Result{OK: true, Score: *s.Result.Ok}
	} else {
		t.Result = decide.Result{Score: *s.Result.Err}
	}
	return t
}

type autoloopWant struct {
	Choice   *decide.Backend
	Saved    *bool
	Error    *wantError
	Reason   string `json:"last_reason"`
	Decision string `json:"last_decision_reason"`
	Tick     uint64
	Dirty    bool
	File     bool `json:"file_present"`
}

func runAutoloop(t *testing.T, c *goldenCase) {
	var in struct {
		Config struct {
			Cooldown     uint64  `json:"cooldown_ticks"`
			DriftPenalty uint32  `json:"drift_penalty"`
			EveryTicks   uint64  `json:"autosave_every_ticks"` // null is never, as 0
			EverySeconds *uint64 `json:"autosave_every_seconds"`
			Path         *string `json:"autosave_path"`
		}
		Steps []autoloopStep
	}
	var want struct {
		Steps []autoloopWant
		File  []byte
	}
	c.decode(t, &in, &want)
	cfg := decide.LoopConfig{Cooldown: in.Config.Cooldown, DriftPenalty: in.Config.DriftPenalty}
	cfg.EveryTicks, cfg.EverySeconds = in.Config.EveryTicks, in.Config.EverySeconds
	file := caseFile(t, nil)
	if p := in.Config.Path; p != nil {
		cfg.Path = file
		if *p == "directory" {
			cfg.Path = t.TempDir()
		}
	}
	l := decide.NewLoop(cfg)
	for i := range in.Steps {
		autoloopRun(t, l, i, &in.Steps[i], &want.Steps[i], file)
	}
	got, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) || string(got) != string(want.File) || (err == nil) != (want.File != nil) {
		t.Errorf("file %q, %v, want %q", got, err, want.File)
	}
}

func autoloopRun(t *testing.T, l *decide.Loop, i int, s *autoloopStep, w *autoloopWant, file string) {
	switch s.Op {
	case "on_tick":
		if got := l.OnTick(s.tick()); got != *w.Choice {
			t.Errorf("step %d: choice %v, want %v", i, got, *w.Choice)
		}
	case "try_autosave":
		saved, err := l.TryAutosave(s.Clock)
		w.Error.check(t, "autosave", err, map[string]error{"Io": decide.ErrIO})
		if w.Error == nil && saved != *w.Saved {
			t.Errorf("step %d: saved %v, want %v", i, saved, *w.Saved)
		}
	case "load_learning":
		l.LoadLearning(caseFile(t, s.File))
	default:
		t.Fatalf("no operation %s", s.Op)
	}
	_, err := os.Stat(file)
	got := autoloopWant{
		Choice: w.Choice, Saved: w.Saved, Error: w.Error,
		Reason: l.LastReason(), Decision: l.LastDecisionReason(), Tick: l.Ticks(), Dirty: l.Dirty(), File: err == nil,
	}
	if got != *w {
		t.Errorf("step %d: got %+v, want %+v", i, got, *w)
	}
}
