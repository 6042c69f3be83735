package sample

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Params says how the next token is chosen. The zero value is greedy: it takes
// the most likely token. A zero field leaves its stage out or means the default
// named beside it. Names and meanings are llama.cpp's unless said otherwise.
type Params struct {
	// Temperature divides the logits. 0 is greedy: the most likely token after
	// LogitBias, penalties and DRY, whatever the other fields say.
	Temperature float32
	// TopP keeps the fewest tokens that together have this probability. 0 or 1
	// is off.
	TopP float32
	// MinP keeps tokens at least MinP times as probable as the first one. 0 is
	// off.
	MinP float32
	// Typical keeps the tokens whose surprise is nearest to the expected one,
	// until they have this probability together (locally typical sampling). 0 or
	// 1 is off.
	Typical float32
	// RepeatPenalty divides positive logits of recent tokens, and multiplies
	// others. 0 or 1 is off.
	RepeatPenalty float32
	// FrequencyPenalty is subtracted from a recent token's logit once for each
	// of its occurrences. It may be negative.
	FrequencyPenalty float32
	// PresencePenalty is subtracted once from the logit of each recent token. It
	// may be negative.
	PresencePenalty float32
	// TopK keeps the K most likely tokens. 0 or less is off.
	TopK int
	// RepeatLast is how many tokens count as recent for the three penalties: 0
	// is 64, less than 0 is all of them.
	RepeatLast int
	// DRY penalises tokens that would continue a repetition.
	DRY DRY
	// Mirostat steers towards a constant surprise; it takes the place of the
	// truncating stages (top-k, typical, top-p, min-p).
	Mirostat Mirostat
	// LogitBias is added to the logits of the tokens it names, before any stage.
	// Negative infinity forbids a token.
	LogitBias map[int32]float32
	// Seed starts the random stream. Equal seeds and logits give equal tokens.
	Seed uint64
	// Order lists the stages that may run, first to last. Empty is
	// [DefaultOrder]; a stage that it leaves out does not run.
	Order []Stage
	// LogProbs asks for that many most likely tokens with every choice, and for
	// the log-probability of the chosen one; see [Choice].
	LogProbs int
}

// DRY ("don't repeat yourself") lowers the logit of a token that would extend a
// repetition of length n ≥ AllowedLength by Multiplier·Base^(n−AllowedLength).
type DRY struct {
	Multiplier    float32   // 0 is off
	Base          float32   // 0 is 1.75
	AllowedLength int       // shortest repetition that has a price; 0 is 2
	Range         int       // how many recent tokens are searched; 0 or less is all
	Breakers      [][]int32 // token sequences that no repetition reaches across
}

// Mirostat configures Mirostat version 2 (Basu et al., arXiv:2007.14966).
type Mirostat struct {
	Tau float32 // target surprise in bits; 0 is off
	Eta float32 // learning rate; 0 is 0.1
}

// Defaults of zero fields.
const (
	defaultRepeatLast    = 64
	defaultDRYBase       = 1.75
	defaultAllowedLength = 2
	defaultEta           = 0.1
)

// Validate returns nil, or one error that names every fault.
func (p Params) Validate() error {
	var faults []error
	fault := func(field string, got any, want string) {
		faults = append(faults, &ParamError{Field: field, Got: got, Want: want})
	}
	number := func(field string, v float32, low, high float64, want string) {
		if x := float64(v); !(x >= low && x <= high) { // false for NaN too
			fault(field, v, want)
		}
	}
	const inf = math.MaxFloat32
	number("Temperature", p.Temperature, 0, inf, "0 or more")
	number("TopP", p.TopP, 0, 1, "0 to 1")
	number("MinP", p.MinP, 0, 1, "0 to 1")
	number("Typical", p.Typical, 0, 1, "0 to 1")
	number("RepeatPenalty", p.RepeatPenalty, 0, inf, "0 or more")
	number("FrequencyPenalty", p.FrequencyPenalty, -inf, inf, "a finite number")
	number("PresencePenalty", p.PresencePenalty, -inf, inf, "a finite number")
	number("DRY.Multiplier", p.DRY.Multiplier, 0, inf, "0 or more")
	if p.DRY.Base != 0 {
		number("DRY.Base", p.DRY.Base, 1, inf, "0 or at least 1")
	}
	if p.DRY.AllowedLength < 0 {
		fault("DRY.AllowedLength", p.DRY.AllowedLength, "0 or more")
	}
	for i, b := range p.DRY.Breakers {
		if len(b) == 0 {
			fault(fmt.Sprintf("DRY.Breakers[%d]", i), "no tokens", "one or more")
		}
	}
	number("Mirostat.Tau", p.Mirostat.Tau, 0, inf, "0 or more")
	number("Mirostat.Eta", p.Mirostat.Eta, 0, inf, "0 or more")
	for _, b := range p.biases() {
		if b.id < 0 {
			fault("LogitBias", b.id, "token ids of 0 or more")
		}
		if math.IsNaN(float64(b.bias)) || math.IsInf(float64(b.bias), 1) {
			fault(fmt.Sprintf("LogitBias[%d]", b.id), b.bias, "a finite number or -Inf")
		}
	}
	for i, st := range p.Order {
		if int(st) >= len(stages) {
			fault(fmt.Sprintf("Order[%d]", i), st, "a known stage")
		} else if slices.Contains(p.Order[:i], st) {
			fault(fmt.Sprintf("Order[%d]", i), st, "each stage once")
		}
	}
	if p.LogProbs < 0 {
		fault("LogProbs", p.LogProbs, "0 or more")
	}
	return errors.Join(faults...)
}

// A bias is one entry of LogitBias.
type bias struct {
	id   int32
	bias float32
}

// biases returns LogitBias ordered by token id.
func (p *Params) biases() []bias {
	list := make([]bias, 0, len(p.LogitBias))
	for id, b := range p.LogitBias {
		list = append(list, bias{id, b})
	}
	slices.SortFunc(list, func(a, b bias) int { return int(a.id) - int(b.id) })
	return list
}

// withDefaults returns a copy that shares nothing with p but LogitBias, with
// defaults in place of zeros.
func (p Params) withDefaults() Params {
	if p.RepeatPenalty == 0 {
		p.RepeatPenalty = 1
	}
	if p.RepeatLast == 0 {
		p.RepeatLast = defaultRepeatLast
	}
	if p.DRY.Base == 0 {
		p.DRY.Base = defaultDRYBase
	}
	if p.DRY.AllowedLength == 0 {
		p.DRY.AllowedLength = defaultAllowedLength
	}
	if p.Mirostat.Eta == 0 {
		p.Mirostat.Eta = defaultEta
	}
	if len(p.Order) == 0 {
		p.Order = DefaultOrder()
	}
	p.Order = slices.Clone(p.Order)
	breakers := make([][]int32, len(p.DRY.Breakers))
	for i, b := range p.DRY.Breakers {
		breakers[i] = slices.Clone(b)
	}
	p.DRY.Breakers = breakers
	return p
}
