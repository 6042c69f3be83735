package place_test

import (
	"strings"
	"testing"

	"atenia/place"
)

// TestRemediesOfTexts: what a remedy of an encoder tells is its verdict and what is read, not a time
// that was assumed; and where nothing helps, only what was tried is said not to.
func TestRemediesOfTexts(t *testing.T) {
	var a place.Advice
	a.Model, a.Verdict, a.Seconds, a.Text, a.Assumed = "m", place.VerdictStreams, 5.93, 512, true
	text := func() string {
		var b strings.Builder
		if err := a.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := text(); !strings.Contains(got, "no other memory, context or type") {
		t.Errorf("nothing helps: %s", got)
	}
	then := a.Outcome
	then.Seconds, then.Verdict = 3.36, place.VerdictFits
	a.Remedies = []place.Remedy{{What: "more", Command: "do", Then: then}}
	then.Verdict, then.SSD = place.VerdictStreams, 5<<20
	a.Remedies = append(a.Remedies, place.Remedy{What: "less", Command: "do", Then: then})
	if got := text(); strings.Contains(got, "3.36") || !strings.Contains(got, "\n   fits\n") || !strings.Contains(got, "5 MiB are read from the disk for each text") {
		t.Errorf("%s", got)
	}
}
