package plan

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"atenia/tensor"
)

// A syntaxError describes a syntax error of a plan text. It matches
// [ErrInvalidPlan].
type syntaxError struct {
	Line, Column int // from 1; column in bytes
	Why          string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %v: %s", e.Line, e.Column, ErrInvalidPlan, e.Why)
}

// Unwrap returns [ErrInvalidPlan].
func (e *syntaxError) Unwrap() error { return ErrInvalidPlan }

// defaultRegister has the properties of a register that the text form omits.
var defaultRegister = RegSpec{DType: tensor.F32, Rank: 2}

// maxLine bounds one line of plan text in bytes.
const maxLine = 1 << 16

// ParseText reads a compiled plan in the form that [Print] writes and returns
// an equal plan, liveness and diagnostics included. Buffers are skipped,
// because a mapping belongs to one sizing of one backend.
//
// ParseText checks only the syntax; pass.LoadText, which programs should call,
// also validates the plan. Errors are [*syntaxError], or those of r.
func ParseText(r io.Reader) (*CompiledPlan, error) {
	c, err := parseText(r)
	if e, ok := errors.AsType[*scanError](err); ok {
		return nil, (*syntaxError)(e)
	}
	return c, err
}

func parseText(r io.Reader) (*CompiledPlan, error) {
	t := parser{weights: make(map[string]WeightRef)}
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 4096), maxLine)
	for sc.Scan() {
		t.N++
		t.S, t.Pos = sc.Text(), 0
		if err := t.parseLine(); err != nil {
			return nil, err
		}
	}
	if err := sc.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, &scanError{Line: t.N + 1, Column: maxLine, Why: "the line is too long"}
		}
		return nil, err
	}
	t.N++
	t.S, t.Pos = "", 0
	return t.finish()
}

// parser reads a plan text line by line.
type parser struct {
	scanLine
	c       CompiledPlan
	weights map[string]WeightRef
	kills   []kill
	counts  *[4]uint64 // counts in the header: instructions, registers, states, weights
	output  bool       // the output line was read: only diagnostics may follow
}

// A kill is a "!" mark: the register dies after the instruction.
type kill struct {
	instruction int
	register    RegisterRef
}

func (t *parser) parseLine() error {
	t.Spaces()
	if t.Pos == len(t.S) || t.S[t.Pos] == '#' {
		return nil // an empty line or a comment
	}
	if t.counts == nil {
		return t.header()
	}
	start := t.Pos
	switch w := t.Bare(); {
	case t.output && w != "note" && w != "warn":
		return t.ErrorAt(start, "only notes and warnings follow the output line")
	case w == "state":
		return t.state()
	case w == "buffer":
		t.Pos = len(t.S)
		return nil
	case w == "input":
		return t.input()
	case w == "output":
		return t.outputs()
	case w == "note" || w == "warn":
		return t.diagnostic(w == "warn")
	case w == strconv.Itoa(len(t.c.Plan.Instructions)):
		return t.instruction()
	default:
		return t.ErrorAt(start, "want a state, an input, an output, or instruction %d", len(t.c.Plan.Instructions))
	}
}

func (t *parser) header() error {
	start := t.Pos
	if t.Bare() != "plan" {
		return t.ErrorAt(start, `want "plan"`)
	}
	var n [5]uint64
	err := t.key("mode", &t.c.Plan.Mode)
	for i, k := range []string{"instructions", "registers", "peak", "states", "weights"} {
		if err == nil {
			n[i], err = t.keyNumber(k, 32)
		}
	}
	switch {
	case err != nil:
		return err
	case n[2] > MaxRegisters:
		return t.Errorf("peak of %d registers", n[2])
	}
	t.c.PeakRegisters = uint16(n[2])
	t.counts = &[4]uint64{n[0], n[1], n[3], n[4]}
	return t.End()
}

func (t *parser) state() error {
	d := StateDescriptor{ID: uint8(len(t.c.Plan.States))}
	if len(t.c.Plan.States) > 255 {
		return t.Errorf("more than 256 states")
	}
	if !t.Lit(" s" + strconv.Itoa(int(d.ID)) + " kind=") {
		return t.Errorf("want state s%d and its kind", d.ID)
	}
	if err := t.kindAndGroup(&d); err != nil {
		return err
	}
	if err := t.key("class", &d.Lifecycle); err != nil {
		return err
	}
	for _, f := range []struct {
		key  string
		bits int
		set  func(uint64)
	}{
		{"bytes", 64, func(n uint64) { d.SizeBytes = n }},
		{"align", 16, func(n uint64) { d.AlignBytes = uint16(n) }},
		{"layers", 16, func(n uint64) { d.Layers = uint16(n) }},
		{"stride", 64, func(n uint64) { d.LayerStride = n }},
		{"page", 32, func(n uint64) { d.PageTokens = uint32(n) }},
		{"window", 32, func(n uint64) { d.Window = uint32(n) }},
	} {
		n, err := t.keyNumber(f.key, f.bits)
		if err != nil {
			return err
		}
		f.set(n)
	}
	switch {
	case t.Lit(" zero=true"):
		d.ZeroInit = true
	case !t.Lit(" zero=false"):
		return t.Errorf("want zero=true or zero=false")
	}
	for t.Lit(" ") {
		s, err := t.section()
		if err != nil {
			return err
		}
		d.Sections = append(d.Sections, s)
	}
	t.c.Plan.States = append(t.c.Plan.States, d)
	return t.End()
}

// kindAndGroup reads "kv.1".
func (t *parser) kindAndGroup(d *StateDescriptor) error {
	start := t.Pos
	kind, group, _ := strings.Cut(t.Bare(), ".")
	n, err := strconv.ParseUint(group, 10, 8)
	if d.Kind.UnmarshalText([]byte(kind)) != nil || err != nil {
		return t.ErrorAt(start, "want a kind and a group, as in kv.0")
	}
	d.Group = uint8(n)
	return nil
}

// section reads "k:F16[0+1024]".
func (t *parser) section() (s Section, err error) {
	if s.Name, err = t.Word(); err != nil {
		return s, err
	}
	if !t.Lit(":") {
		return s, t.Errorf("want : and an element type")
	}
	start := t.Pos
	if err := s.DType.UnmarshalText([]byte(t.Bare())); err != nil {
		return s, t.ErrorAt(start, "%v", err)
	}
	if !t.Lit("[") {
		return s, t.Errorf("want [offset+bytes]")
	}
	if s.Offset, err = t.Number(64); err != nil {
		return s, err
	}
	if !t.Lit("+") {
		return s, t.Errorf("want +bytes")
	}
	if s.Bytes, err = t.Number(64); err != nil {
		return s, err
	}
	if !t.Lit("]") {
		return s, t.Errorf("want ]")
	}
	return s, nil
}

func (t *parser) input() error {
	if len(t.c.Plan.Instructions) > 0 {
		return t.Errorf("inputs come before instructions")
	}
	t.Spaces()
	r, err := t.madeRegister()
	if err != nil {
		return err
	}
	t.c.Plan.Inputs = append(t.c.Plan.Inputs, r)
	return t.End()
}

func (t *parser) outputs() error {
	t.output = true
	for t.Spaces() && t.Pos < len(t.S) {
		r, err := t.readRegister()
		if err != nil {
			return err
		}
		t.c.Plan.Outputs = append(t.c.Plan.Outputs, r)
	}
	return nil
}

func (t *parser) diagnostic(warn bool) error {
	d := PlanDiagnostic{Warn: warn}
	t.Spaces()
	var err error
	if d.Code, err = t.Word(); err != nil {
		return err
	}
	if !t.Lit(": ") {
		return t.Errorf("want : and a text")
	}
	if d.Text = t.S[t.Pos:]; strings.HasPrefix(d.Text, `"`) {
		if d.Text, err = t.Word(); err != nil {
			return err
		}
	} else {
		t.Pos = len(t.S)
	}
	t.c.Diagnostics = append(t.c.Diagnostics, d)
	return t.End()
}

// finish builds what follows from the lines and compares with the header, so
// that a text cut short does not pass for a plan.
func (t *parser) finish() (*CompiledPlan, error) {
	p := &t.c.Plan
	if t.counts == nil {
		return nil, t.Errorf("no plan")
	}
	if !t.output {
		return nil, t.Errorf("the output line is missing")
	}
	have := [4]int{len(p.Instructions), len(p.Registers), len(p.States), len(p.Weights)}
	for i, what := range []string{"instructions", "registers", "states", "weights"} {
		if uint64(have[i]) != t.counts[i] {
			return nil, t.Errorf("%d %s, the header promises %d", have[i], what, t.counts[i])
		}
	}
	t.c.Live = liveness(p, t.kills)
	return &t.c, nil
}

// liveness returns the map that kill marks describe; the last read of a
// register follows from the instructions alone.
func liveness(p *ExecutionPlan, kills []kill) LivenessMap {
	words := (len(p.Registers) + 63) / 64
	live := LivenessMap{LastRead: make([]uint32, len(p.Registers)), KillAfter: make([][]uint64, len(p.Instructions))}
	for r := range live.LastRead {
		live.LastRead[r] = NeverRead
	}
	sets := make([]uint64, words*len(p.Instructions))
	for i := range p.Instructions {
		live.KillAfter[i], sets = sets[:words:words], sets[words:]
		for _, r := range p.Instructions[i].In {
			if int(r) < len(live.LastRead) {
				live.LastRead[r] = uint32(i)
			}
		}
	}
	for _, k := range kills {
		if int(k.register)/64 < words {
			live.KillAfter[k.instruction][k.register/64] |= 1 << (k.register % 64)
		}
	}
	return live
}
