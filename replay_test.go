package atenia_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/place"
)

// What is decided when a model is opened is recorded, one log for every
// opening, and comes out the same when it is made again.
func TestDecisions(t *testing.T) {
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	cfg := &atenia.Config{
		BatchTokens: 4, Slots: 1, Context: 32, Decisions: filepath.Join(t.TempDir(), "d.jsonl"),
		Placement: place.Rules{Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}},
	}
	place := func() *atenia.Placement {
		p, err := atenia.OpenPlan(path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := p.Place()
		if err != nil {
			t.Fatal(err)
		}
		return pl
	}
	pl := place()
	cfg.PlacementFile = filepath.Join(t.TempDir(), "plan.json")
	if err := atenia.WritePlacement(cfg.PlacementFile, pl); err != nil {
		t.Fatal(err)
	}
	place()
	log, err := os.ReadFile(cfg.Decisions)
	if err != nil {
		t.Fatal(err)
	}
	r, err := atenia.Replay(bytes.NewReader(log), "")
	if want := 2 * (1 + len(pl.Tensors)); err != nil || r.Records != want || len(r.Differences) > 0 || r.Cut != nil {
		t.Fatalf("%v, %d records, want %d, differences %+v", err, r.Records, want, r.Differences)
	}
	altered := bytes.Replace(log, []byte(`"Ram"`), []byte(`"Ssd"`), 1)
	if r, err = atenia.Replay(bytes.NewReader(altered), ""); err != nil || len(r.Differences) == 0 {
		t.Errorf("an altered outcome: %v, %+v", err, r)
	}
	r, err = atenia.Replay(bytes.NewReader(log), "budget.batch=2")
	if err != nil || len(r.Differences) == 0 {
		t.Errorf("two sequences: %v, %+v", err, r)
	}
}
