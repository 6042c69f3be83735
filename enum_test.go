package atenia_test

import (
	"fmt"
	"testing"

	"atenia"
	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/sample"
)

// The values of named types have the names of the rooms they are converted to
// and from by number.
func TestEnumNames(t *testing.T) {
	for _, c := range []struct{ ours, theirs fmt.Stringer }{
		{atenia.TierVRAM, memory.VRAM}, {atenia.TierRAM, memory.RAM}, {atenia.TierSSD, memory.SSD},
		{atenia.ClassWeight, place.Weight}, {atenia.ClassExpert, place.Expert}, {atenia.ClassTable, place.Table},
		{atenia.ClassVector, place.Vector}, {atenia.ClassKV, place.KV}, {atenia.ClassBuffer, place.Buffer},
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
