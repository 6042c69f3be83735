package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A LowRank is what a LoRA adapter adds to the products of a model: for the rows of
// requests that name it, W·x becomes W·x + Scale·B·(A·x) (Hu and others, arXiv
// 2106.09685). The weights of the plans stay as they are, of any type, and the rows
// of other requests in the same step do not change. An executor reads it beside the
// plans, so that adapters come and go while a model is open.
type LowRank struct {
	Name    string
	Updates []Update // by weight, ascending
}

// An Update is what is added to the product with one weight.
type Update struct {
	Weight     string // as in [ExecutionPlan.Weights]
	Rows, Cols int    // of the weight: B is [Rows, Rank], A is [Rank, Cols]
	Rank       int
	Scale      float64
}

// Values returns how many numbers A and B have together.
func (u *Update) Values() int64 { return int64(u.Rank) * (int64(u.Rows) + int64(u.Cols)) }

// Bytes returns the memory of all A and B as float32.
func (l *LowRank) Bytes() (n int64) {
	for i := range l.Updates {
		n += 4 * l.Updates[i].Values()
	}
	return n
}

// updated lists, by opcode, the slots of weights whose products may have an update:
// every row of them is a token's, and nothing but the product reads the weight.
var updated = map[Opcode][]string{
	OpAttention:      {"q", "k", "v", "o"},
	OpFFN:            {"gate", "up", "down"},
	OpMoE:            {"router", "shared_gate", "shared_up", "shared_down", "shared_router"},
	OpLMHead:         {"weight"},
	OpMLA:            {"q_a", "q_b", "kv_a", "o"},
	OpMamba1:         {"in", "x", "dt", "out"},
	OpMamba2:         {"in", "out"},
	OpShortConv:      {"in", "out"},
	OpGatedDelta:     {"qkv", "z", "b", "a", "out"},
	OpCrossAttn:      {"q", "o"},
	OpRWKVTimeMix:    {"r", "k", "v", "o"},
	OpRWKVValue:      {"v"},
	OpRWKVChannelMix: {"key", "value"},
}

// Check reports whether the plans' products can have the updates. Its errors match
// [ErrInvalidPlan] or [ErrWeightBinding] and name the weight.
func (l *LowRank) Check(p *ModelPlans) error {
	if len(l.Updates) == 0 {
		return Errorf(ErrInvalidPlan, Whole, "adapter %q updates no weight", l.Name)
	}
	for i := range l.Updates {
		u := &l.Updates[i]
		if i > 0 && u.Weight <= l.Updates[i-1].Weight {
			return Errorf(ErrInvalidPlan, Whole, "adapter %q: weight %s after %s", l.Name, u.Weight, l.Updates[i-1].Weight)
		}
		if u.Rank < 1 || u.Rows < 1 || u.Cols < 1 || u.Rows > math.MaxInt32 || u.Cols > math.MaxInt32 || u.Rank > math.MaxInt16 {
			return Errorf(ErrInvalidPlan, Whole, "adapter %q: rank %d for weight %s [%d, %d]", l.Name, u.Rank, u.Weight, u.Rows, u.Cols)
		}
		if f := float32(u.Scale); math.IsNaN(u.Scale) || math.IsInf(float64(f), 0) {
			return Errorf(ErrInvalidPlan, Whole, "adapter %q: scale %v for weight %s", l.Name, u.Scale, u.Weight)
		}
	}
	for _, mode := range p.TextModes() {
		allowed := p.ByMode(mode).Plan.updatable()
		for i := range l.Updates {
			why, used := allowed[l.Updates[i].Weight]
			if !used {
				why = "no product of the plan reads it"
			}
			if why != "" {
				return Errorf(ErrWeightBinding, Whole, "adapter %q updates %s, which cannot be done for some rows alone: %s", l.Name, l.Updates[i].Weight, why)
			}
		}
	}
	return nil
}

// updatable returns, for every weight that an instruction reads, "" if all who read it
// are products that may have an update, or else what is in the way.
func (p *ExecutionPlan) updatable() map[string]string {
	out := map[string]string{}
	for i := range p.Instructions {
		ins := &p.Instructions[i]
		spec := Specs.Get(ins.Op)
		for k, w := range ins.Weights {
			if w == NoWeight {
				continue
			}
			name := p.Weights[w].Name
			slot, _ := spec.Slot(k)
			switch {
			case !slices.Contains(updated[ins.Op], slot):
				out[name] = fmt.Sprintf("%s reads it as %s", spec.Name, slot)
			case out[name] == "":
				out[name] = ""
			}
		}
	}
	return out
}

// String returns the text form.
//
//	lowrank sql updates=1
//	update blk.0.attn_q rank=8 rows=64 cols=64 scale=2
func (l *LowRank) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "lowrank %s updates=%d\n", scanWord(l.Name), len(l.Updates))
	for i := range l.Updates {
		u := &l.Updates[i]
		fmt.Fprintf(&b, "update %s rank=%d rows=%d cols=%d scale=%s\n", scanWord(u.Weight), u.Rank, u.Rows, u.Cols, strconv.FormatFloat(u.Scale, 'g', -1, 64))
	}
	return b.String()
}
