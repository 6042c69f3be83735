package sample

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Params configure how the next token is chosen. The zero value is greedy: it
// takes the most likely token. A zero field disables its stage or selects the
// default. Names and meanings are llama.cpp's unless noted; the fields, in the
// same order, are those of atenia.Sampling, which documents each.
type Params struct {
	// Probabilities and scales.
	Temperature, TopP, MinP, Typical float32
	XTCProbability, XTCThreshold     float32
	// Penalties of recent tokens.
	RepeatPenalty, FrequencyPenalty, PresencePenalty float32
	// Counts of tokens.
	TopK, RepeatLast int
	DRY              DRY
	Mirostat         Mirostat
	LogitBias        map[int32]float32
	Seed             uint64
	Order            []Stage // empty is [DefaultOrder]
	LogProbs         int     // see [Choice]
}

// DRY ("don't repeat yourself") lowers the logit of a token that would extend a
// repetition of length n ≥ AllowedLength by Multiplier·Base^(n−AllowedLength).
type DRY struct {
	Multiplier    float32   // 0 is off
	Base          float32   // 0 is 1.75
	AllowedLength int       // shortest repetition that is penalised; 0 is 2
	Range         int       // number of recent tokens searched; 0 or less is all
	Breakers      [][]int32 // token sequences that repetitions do not cross
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

// Validate returns nil, or an error that names every invalid field.
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
	number("XTCProbability", p.XTCProbability, 0, 1, "0 to 1")
	number("XTCThreshold", p.XTCThreshold, 0, 1, "0 to 1")
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

// biases returns LogitBias sorted by token id.
func (p *Params) biases() []bias {
	list := make([]bias, 0, len(p.LogitBias))
	for id, b := range p.LogitBias {
		list = append(list, bias{id, b})
	}
	slices.SortFunc(list, func(a, b bias) int { return int(a.id) - int(b.id) })
	return list
}

// withDefaults returns a copy with defaults filled in, which shares only
// LogitBias with p.
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
