package sample

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, p := range []Params{{}, full(), {TopK: -5, RepeatLast: -1}, {LogitBias: map[int32]float32{0: -inf}}} {
		if err := p.Validate(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	bad := Params{
		Temperature: -1, TopP: 2, MinP: nan, Typical: -0.1, RepeatPenalty: -1, FrequencyPenalty: inf, PresencePenalty: nan,
		DRY:       DRY{Multiplier: -1, Base: 0.5, AllowedLength: -1, Breakers: [][]int32{{1}, {}}},
		Mirostat:  Mirostat{Tau: -1, Eta: inf},
		LogitBias: map[int32]float32{-4: 1, 5: nan, 6: inf},
		Order:     []Stage{TopK, TopP, TopK, 99},
		LogProbs:  -1,
	}
	err := bad.Validate()
	want := `sampling: Temperature is -1, want 0 or more
sampling: TopP is 2, want 0 to 1
sampling: MinP is NaN, want 0 to 1
sampling: Typical is -0.1, want 0 to 1
sampling: RepeatPenalty is -1, want 0 or more
sampling: FrequencyPenalty is +Inf, want a finite number
sampling: PresencePenalty is NaN, want a finite number
sampling: DRY.Multiplier is -1, want 0 or more
sampling: DRY.Base is 0.5, want 0 or at least 1
sampling: DRY.AllowedLength is -1, want 0 or more
sampling: DRY.Breakers[1] is no tokens, want one or more
sampling: Mirostat.Tau is -1, want 0 or more
sampling: Mirostat.Eta is +Inf, want 0 or more
sampling: LogitBias is -4, want token ids of 0 or more
sampling: LogitBias[5] is NaN, want a finite number or -Inf
sampling: LogitBias[6] is +Inf, want a finite number or -Inf
sampling: Order[2] is top-k, want each stage once
sampling: Order[3] is stage(99), want a known stage
sampling: LogProbs is -1, want 0 or more`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	if e, ok := errors.AsType[*ParamError](err); !ok || e.Field != "Temperature" {
		t.Errorf("got %v, want a ParamError", e)
	}
	if _, err := New(bad, 10); err == nil {
		t.Error("New: no error")
	}
}

func TestNewErrors(t *testing.T) {
	for _, vocab := range []int{0, -3} {
		if _, err := New(Params{}, vocab); err == nil {
			t.Errorf("vocabulary of %d: no error", vocab)
		}
	}
	_, err := New(Params{LogitBias: map[int32]float32{3: 1, 10: 1}}, 10)
	if err == nil || !strings.Contains(err.Error(), "LogitBias is 10") {
		t.Errorf("got %v", err)
	}
}

// TestParamsAreCopied: a caller may go on using its maps and slices.
func TestParamsAreCopied(t *testing.T) {
	p := Params{Temperature: 1, LogitBias: map[int32]float32{0: 2}, Order: []Stage{DryStage},
		DRY: DRY{Multiplier: 1, Breakers: [][]int32{{1, 2}}}}
	s := newSampler(t, p, 5)
	p.LogitBias[0], p.Order[0], p.DRY.Breakers[0][0] = 7, TopK, 9
	if s.bias[0].bias != 2 || s.p.Order[0] != DryStage || s.p.DRY.Breakers[0][0] != 1 {
		t.Error("the sampler shares memory with its caller")
	}
}
