package atenia_test

import (
	"fmt"
	"testing"

	"atenia"
	"atenia/internal/sample"
	"atenia/tier"
	"atenia/tier/budget"
)

// The values of named types have the names of the rooms they are converted to
// and from by number.
func TestEnumNames(t *testing.T) {
	for _, c := range []struct{ ours, theirs fmt.Stringer }{
		{atenia.TierVRAM, tier.VRAM}, {atenia.TierRAM, tier.RAM}, {atenia.TierSSD, tier.SSD},
		{atenia.ClassWeight, budget.Weight}, {atenia.ClassExpert, budget.Expert}, {atenia.ClassTable, budget.Table},
		{atenia.ClassVector, budget.Vector}, {atenia.ClassKV, budget.KV}, {atenia.ClassBuffer, budget.Buffer},
		{atenia.StagePenalties, sample.Penalties}, {atenia.StageDRY, sample.DryStage}, {atenia.StageTopK, sample.TopK},
		{atenia.StageTypical, sample.Typical}, {atenia.StageTopP, sample.TopP}, {atenia.StageMinP, sample.MinP},
		{atenia.StageTemperature, sample.Temperature},
	} {
		if c.ours.String() != c.theirs.String() {
			t.Errorf("%#v is %v, want %v", c.ours, c.ours, c.theirs)
		}
	}
	for _, m := range atenia.Mixes() {
		again, err := atenia.ParseMix(m.String())
		if err != nil || again != m {
			t.Errorf("%v: %v, %v", m, again, err)
		}
	}
}
