package atenia_test

import (
	"path/filepath"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/place"
)

// TestAdviseKinds: models that do not generate text are advised about what they do: an
// encoder about a text that it can read, computed in one step however long steps are, and
// an ear to transcribe.
func TestAdviseKinds(t *testing.T) {
	advise := func(name string, tokens int, ram int64) *place.Advice {
		t.Helper()
		a, err := atenia.Advise(t.Context(), filepath.Join(golden.Family(t, "parity"), name), &atenia.Config{
			BatchTokens: tokens, Budget: place.Budget{RAM: ram, Reserve: place.Reserve{Runtime: 1000}}, Placement: place.Rules{Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	path := filepath.Join(golden.Family(t, "parity"), "roberta")
	p, err := atenia.OpenPlan(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := advise("roberta", 512, 1<<30)
	if a.Text == 0 || a.Text > p.Context() || p.Context() >= 512 {
		t.Errorf("a text of %d tokens is told of a model that reads %d", a.Text, p.Context())
	}
	for _, r := range a.Remedies {
		if strings.Contains(r.What, "steps of") || r.Then.Text != a.Text {
			t.Errorf("%+v", r)
		}
	}
	ear, commands := advise("whisper", 512, advise("whisper", 512, 1<<30).Fit-1<<12), 0
	for _, r := range ear.Remedies {
		if strings.HasPrefix(r.Command, "atenia quantize ") {
			continue
		}
		if commands++; !strings.HasPrefix(r.Command, "atenia transcribe ") || !strings.Contains(r.Command, " FILE") {
			t.Error(r.Command)
		}
	}
	if commands == 0 {
		t.Errorf("nothing lets it transcribe: %+v", ear)
	}
}
