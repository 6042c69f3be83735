package atenia_test

import (
	"fmt"
	"testing"

	"atenia"
	"atenia/internal/memory"
	core "atenia/internal/memory/place"
	"atenia/internal/model/embedded"
	"atenia/internal/sample"
	"atenia/place"
)

// The values of named types have the names of the rooms they are converted to
// and from by number.
func TestEnumNames(t *testing.T) {
	for _, c := range []struct{ ours, theirs fmt.Stringer }{
		{place.TierVRAM, memory.VRAM}, {place.TierRAM, memory.RAM}, {place.TierSSD, memory.SSD},
		{place.ClassWeight, core.Weight}, {place.ClassExpert, core.Expert}, {place.ClassTable, core.Table},
		{place.ClassVector, core.Vector}, {place.ClassKV, core.KV}, {place.ClassBuffer, core.Buffer},
		{atenia.StagePenalties, sample.Penalties}, {atenia.StageDRY, sample.DryStage}, {atenia.StageTopK, sample.TopK},
		{atenia.StageTypical, sample.Typical}, {atenia.StageTopP, sample.TopP}, {atenia.StageMinP, sample.MinP},
		{atenia.StageTemperature, sample.Temperature},
	} {
		if c.ours.String() != c.theirs.String() {
			t.Errorf("%#v is %v, want %v", c.ours, c.ours, c.theirs)
		}
	}
	if place.Embedded != embedded.Name {
		t.Errorf("the embedded model is %q and %q", place.Embedded, embedded.Name)
	}
	for _, m := range atenia.Mixes() {
		again, err := atenia.ParseMix(m.String())
		if err != nil || again != m {
			t.Errorf("%v: %v, %v", m, again, err)
		}
	}
}
