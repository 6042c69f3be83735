package sched

import (
	"errors"
	"testing"
)

// TestDraftKinds: which drafts are made for a request, by what it asks for, what the
// scheduler has, and whether rejected tokens can be taken out of the model's states.
func TestDraftKinds(t *testing.T) {
	works, failed := &drafter{}, &drafter{err: errors.New("it failed")}
	for _, c := range []struct {
		name          string
		d             drafts
		how           Speculation
		tokens        int
		snapshots     bool
		looks, models bool
		refused       bool
		by            Rule
	}{
		{name: "off", d: drafts{model: works}, how: SpeculateOff, tokens: 9},
		{name: "usual is off", d: drafts{model: works}, tokens: 9},
		{name: "usual is auto", d: drafts{usual: SpeculateAuto, model: works}, tokens: 9, looks: true, models: true},
		{name: "its own wish", d: drafts{usual: SpeculateAuto}, how: SpeculateOff, tokens: 9},
		{name: "one token", d: drafts{model: works}, how: SpeculateAuto, tokens: 1},
		{name: "auto without a model", how: SpeculateAuto, tokens: 2, looks: true},
		{name: "look-up alone", d: drafts{model: works}, how: SpeculateLookup, tokens: 9, looks: true},
		{name: "the model alone", d: drafts{model: works}, how: SpeculateDraft, tokens: 9, models: true},
		{name: "no model", how: SpeculateDraft, tokens: 9, refused: true, by: byDrafter},
		{name: "auto, and it failed", d: drafts{model: failed}, how: SpeculateAuto, tokens: 9, looks: true, refused: true, by: byDrafter},
		{name: "states without positions", d: drafts{model: works}, how: SpeculateAuto, tokens: 9, snapshots: true, refused: true, by: byState},
		{name: "those, and off", how: SpeculateOff, tokens: 9, snapshots: true},
	} {
		looks, models, by, refused := c.d.kinds(&Request{Speculate: c.how, MaxTokens: c.tokens}, c.snapshots)
		if looks != c.looks || models != c.models || refused != c.refused || refused && by != c.by {
			t.Errorf("%s: look-up %t, model %t, refused %t by %v; want %t, %t, %t by %v", c.name, looks, models, refused, by, c.looks, c.models, c.refused, c.by)
		}
	}
}
