package sxlm

import (
	"bytes"
	"io"

	"atenia/quila/internal/weights"
)

// agree checks what has to fit together beyond names and shapes, and with what
// the caller wants.
func (l *loader) agree() error {
	for _, check := range []func() error{l.agreeBoundary, l.agreeStates, l.agreeOptional, l.agreeCodebooks, l.agreeEngram, l.wanted} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// bad is a fault of a tensor's content.
func (l *loader) bad(block int, name, format string, args ...any) error {
	return fault(StepContents, block, l.sections[block].entries[name].at, name+": "+format, args...)
}

func (l *loader) agreeBoundary() error {
	for i := range l.m.Config.Modalities {
		name := "boundary." + weights.Modalities[i]
		for k, d := range l.m.Other[name+".dst"].U32 {
			if int64(d) >= int64(l.m.Config.N) {
				return l.bad(1, name+".dst", "neuron %d of %d", d, l.m.Config.N)
			}
			if p := l.m.Other[name+".pos"].U32[k]; !l.fits(p) {
				return l.bad(1, name+".pos", "place %#x outside the neuron", p)
			}
		}
	}
	if !rulesValid(l.m.Other["cdcl.rules"].U8) {
		return l.bad(1, "cdcl.rules", "no head of version %d", version)
	}
	return nil
}

func (l *loader) agreeStates() error {
	for i, x := range l.m.States["s4.attention_type"].U8 {
		if x > attentionMost {
			return l.bad(2, "s4.attention_type", "neuron %d has the type %d, at most %d", i, x, attentionMost)
		}
	}
	return nil
}

func (l *loader) agreeOptional() error {
	last := int64(-1)
	for _, id := range l.m.Other["n.mhc_opt.id"].U32 {
		if int64(id) <= last || int64(id) >= int64(l.m.Config.N) {
			return l.bad(1, "n.mhc_opt.id", "neuron %d after %d of %d", id, last, l.m.Config.N)
		}
		last = int64(id)
	}
	return nil
}

func (l *loader) agreeCodebooks() error {
	e := l.sections[4].entries["codebook.sha256"]
	got := make([]byte, product(e.dims))
	if e.len > 0 {
		if _, err := io.ReadFull(io.NewSectionReader(l.sections[4].r, e.at, e.len), got); err != nil {
			return because(StepContents, 4, e.at, "reading codebook.sha256", err)
		}
	}
	if !bytes.Equal(got, l.m.sums()) {
		return l.bad(4, "codebook.sha256", "not that of the codebooks")
	}
	if err := checkBlink(l.m.tree, l.m.books(), l.m.Config.DE); err != nil {
		return because(StepContents, 4, l.sections[4].entries["blink.index"].at, "blink.index", err)
	}
	return nil
}

func (l *loader) agreeEngram() error {
	if !powerOfTwo(l.m.Engram.Rows) {
		return l.bad(6, "engram.table", "%d rows, want a power of two", l.m.Engram.Rows)
	}
	for j, x := range l.m.Engram.Mul {
		if x&1 == 0 {
			return l.bad(6, "engram.mul", "the multiplier %d is even", j)
		}
	}
	return nil
}
