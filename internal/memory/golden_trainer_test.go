package memory_test

import (
	"atenia/internal/memory/checkpoint"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"atenia/internal/policy/decide"
)

func init() {
	goldenTopics["trainer"] = runTrainer
	goldenTopics["trainer_file"] = runTrainerFile
}

// learnTable makes a trainer of rows.
func learnTable(rows []decide.Row) *decide.Trainer {
	t := &decide.Trainer{}
	for _, r := range rows {
		t.Set(r)
	}
	return t
}

// learnActions are actions by their names in cases.
var learnActions = map[string]checkpoint.Action{"Keep": checkpoint.Keep, "HintPromote": checkpoint.HintPromote, "DegradeSafe": checkpoint.DegradeSafe}

func runTrainer(t *testing.T, c *goldenCase) {
	if c.Fn == "summarize_warm_start_plan" {
		var in struct {
			Decisions []struct{ Action, Reason string }
		}
		var want struct {
			Backend decide.Backend
			Promote int `json:"promote_count"`
			Degrade int `json:"degrade_count"`
			Keep    int `json:"keep_count"`
		}
		c.decode(t, &in, &want)
		var plan []checkpoint.Decision
		for _, d := range in.Decisions {
			a, ok := learnActions[d.Action]
			if !ok || a.String() != d.Action {
				t.Fatalf("no action %q", d.Action)
			}
			plan = append(plan, checkpoint.Decision{Action: a, Reason: d.Reason})
		}
		if got := decide.Summarize(plan); got != decide.WarmStart(want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
		return
	}
	var in struct {
		DriftPenalty uint32 `json:"drift_penalty"`
		Table        []decide.Row
		Episodes     []struct {
			Context learnContext
			Backend decide.Backend
			Success bool
			Score   int32
			Drift   bool `json:"had_drift"`
		}
		Queries []learnContext
	}
	var want struct {
		Queries []struct {
			Recommend decide.Backend
			Stats     [2]*struct {
				Count   uint32
				Success uint32 `json:"success_count"`
				Score   int64  `json:"score_sum"`
				Drift   uint32 `json:"drift_count"`
			}
		}
	}
	c.decode(t, &in, &want)
	tr := learnTable(in.Table)
	tr.DriftPenalty = in.DriftPenalty
	for _, e := range in.Episodes {
		tr.Record(e.Context.context(), e.Backend, e.Success, e.Score, e.Drift)
	}
	for i, q := range in.Queries {
		b, w := q.context().Bucket(), want.Queries[i]
		if got := tr.Recommend(b); got != w.Recommend {
			t.Errorf("query %d: got %v, want %v", i, got, w.Recommend)
		}
		for k, ws := range w.Stats {
			s, ok := tr.Stats(b, decide.Backend(k))
			if ok != (ws != nil) || ok && s != decide.Stats(*ws) {
				t.Errorf("query %d, %v: got %+v, %v, want %+v", i, decide.Backend(k), s, ok, ws)
			}
		}
	}
}

// caseFile writes a file of a case, or only names it if there is none.
func caseFile(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "learning")
	if data != nil {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func runTrainerFile(t *testing.T, c *goldenCase) {
	if c.Fn == "save_trainer_to_path" {
		var in struct{ Table []decide.Row }
		var want struct{ File []byte }
		c.decode(t, &in, &want)
		path := caseFile(t, nil)
		if err := learnTable(in.Table).Save(path); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != string(want.File) {
			t.Errorf("got %q, %v, want %q", got, err, want.File)
		}
		return
	}
	var in struct{ File []byte }
	var want struct {
		Status  *decide.Status
		Skipped int
		Table   []decide.Row
		Again   []byte `json:"saved_again"`
	}
	c.decode(t, &in, &want)
	path := caseFile(t, in.File)
	tr, r := decide.Load(path)
	if want.Status != nil && (r.Status != *want.Status || r.Skipped != want.Skipped) {
		t.Errorf("got %+v, want %v with %d skipped", r, *want.Status, want.Skipped)
	}
	if got := tr.Rows(); !reflect.DeepEqual(got, want.Table) {
		t.Errorf("got %+v, want %+v", got, want.Table)
	}
	if got := tr.String(); got != string(want.Again) {
		t.Errorf("saved again: %q, want %q", got, want.Again)
	}
}
