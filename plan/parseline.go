package plan

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"
)

// instruction reads the rest of an instruction line, after its number.
func (t *parser) instruction() error {
	p := &t.c.Plan
	if len(p.Instructions) == MaxInstructions {
		return t.errorf("more than %d instructions", MaxInstructions)
	}
	in := Instruction{State: NoState, Param: uint16(len(p.Params))}
	t.spaces()
	if !t.lit("L") {
		return t.errorf("want a layer, as in L3 or L-1")
	}
	start := t.pos
	layer, err := strconv.ParseInt(t.bare(), 10, 16)
	if err != nil {
		return t.errorAt(start, "the layer is not a number")
	}
	in.Layer = int16(layer)
	t.spaces()
	start = t.pos
	if err := in.Op.UnmarshalText([]byte(t.bare())); err != nil {
		return t.errorAt(start, "%v", err)
	}
	if err := t.operands(&in); err != nil {
		return err
	}
	if t.lit(" s") {
		start = t.pos
		n, err := t.number(15)
		if err != nil {
			return t.errorAt(start, "want the number of a state")
		}
		in.State = StateRef(n)
	}
	spec := Specs.Get(in.Op)
	if err := t.bindings(spec, &in); err != nil {
		return err
	}
	block, err := t.payload(spec)
	if err != nil {
		return err
	}
	p.Params = append(p.Params, block)
	p.Instructions = append(p.Instructions, in)
	return t.end()
}

// operands reads "r1!,r3 -> r4:h[tokens,64]".
func (t *parser) operands(in *Instruction) error {
	i := len(t.c.Plan.Instructions)
	t.spaces()
	for {
		r, err := t.readRegister()
		if err != nil {
			return err
		}
		in.In = append(in.In, r)
		t.mark(i, r)
		if !t.lit(",") {
			break
		}
	}
	if !t.lit(" ->") {
		return t.errorf("want ->")
	}
	for strings.HasPrefix(t.s[t.pos:], " r") && t.isRegister(t.pos+2) {
		t.pos++
		r, err := t.madeRegister()
		if err != nil {
			return err
		}
		in.Out = append(in.Out, r)
		t.mark(i, r)
	}
	return nil
}

// isRegister tells r4:h[…] from a weight slot that starts with r.
func (t *parser) isRegister(at int) bool { return at < len(t.s) && '0' <= t.s[at] && t.s[at] <= '9' }

func (t *parser) mark(i int, r RegisterRef) {
	if t.lit("!") {
		t.kills = append(t.kills, kill{i, r})
	}
}

// bindings reads "q=blk.0.attn_q k=…" in the order of the opcode's slots.
func (t *parser) bindings(spec *OpSpec, in *Instruction) error {
	p := &t.c.Plan
	for i := range spec.Weights {
		slot, _ := spec.Slot(i)
		if !t.lit(" " + slot + "=") {
			in.Weights = append(in.Weights, NoWeight)
			continue
		}
		name, err := t.word()
		if err != nil {
			return err
		}
		ref, ok := t.weights[name]
		if !ok {
			ref = WeightRef(len(p.Weights))
			t.weights[name] = ref
			p.Weights = append(p.Weights, WeightBinding{slot, name})
		}
		in.Weights = append(in.Weights, ref)
	}
	return nil
}

// payload reads "{dim=64 eps=1e-05}".
func (t *parser) payload(spec *OpSpec) (ParamBlock, error) {
	if spec.Params == nil {
		return ParamBlock{Version: ParamVersion1, Op: spec.Op}, nil
	}
	if !t.lit(" {") {
		return ParamBlock{}, t.errorf("%s wants parameters in braces", spec.Name)
	}
	v := spec.Params()
	for !t.lit("}") {
		t.spaces()
		start := t.pos
		key := t.bare()
		if key == "" || !t.lit("=") {
			return ParamBlock{}, t.errorAt(start, "want name=value or }")
		}
		value := t.pos
		for t.pos < len(t.s) && t.s[t.pos] != ' ' && t.s[t.pos] != '}' {
			t.pos++
		}
		if err := setField(v, key, t.s[value:t.pos]); err != nil {
			return ParamBlock{}, t.errorAt(start, "%v", err)
		}
	}
	b, err := EncodeParams(spec.Op, v)
	if err != nil {
		return ParamBlock{}, t.errorf("%v", err)
	}
	return b, nil
}

// readRegister reads "r4" or "r4@b1".
func (t *parser) readRegister() (RegisterRef, error) {
	if !t.lit("r") {
		return 0, t.errorf("want a register")
	}
	n, err := t.number(16)
	if err != nil {
		return 0, err
	}
	return RegisterRef(n), t.buffer()
}

// madeRegister reads "r4:L0.h[tokens,64]"; registers are made in order.
func (t *parser) madeRegister() (RegisterRef, error) {
	p := &t.c.Plan
	r := len(p.Registers)
	if r == MaxRegisters {
		return 0, t.errorf("more than %d registers", MaxRegisters)
	}
	if !t.lit("r" + strconv.Itoa(r) + ":") {
		return 0, t.errorf("want the next register, r%d, and its name", r)
	}
	s := defaultRegister
	var err error
	if s.Name, err = t.word(); err != nil {
		return 0, err
	}
	if !t.lit("[") {
		return 0, t.errorf("want [rows,columns]")
	}
	start := t.pos
	if err := s.Rows.UnmarshalText([]byte(t.bare())); err != nil {
		return 0, t.errorAt(start, "%v", err)
	}
	if !t.lit(",") {
		return 0, t.errorf("want ,columns")
	}
	cols, err := t.number(32)
	if err != nil {
		return 0, err
	}
	s.Cols = uint32(cols)
	for t.lit(",") {
		if err := t.property(&s); err != nil {
			return 0, err
		}
	}
	if !t.lit("]") {
		return 0, t.errorf("want ]")
	}
	p.Registers = append(p.Registers, s)
	return RegisterRef(r), t.buffer()
}

// property reads an element type, rank=1, or a layout.
func (t *parser) property(s *RegSpec) error {
	start := t.pos
	w := t.bare()
	if w == "rank" && t.lit("=") {
		n, err := t.number(8)
		s.Rank = uint8(n)
		return err
	}
	if s.Layout.UnmarshalText([]byte(w)) == nil || s.DType.UnmarshalText([]byte(w)) == nil {
		return nil
	}
	return t.errorAt(start, "want an element type, rank= or a layout")
}

func (t *parser) buffer() error {
	if !t.lit("@b") {
		return nil
	}
	_, err := t.number(16)
	return err
}

// spaces skips blanks. It always returns true, for use in a loop's condition.
func (t *parser) spaces() bool {
	for t.pos < len(t.s) && t.s[t.pos] == ' ' {
		t.pos++
	}
	return true
}

// lit consumes text if it comes next.
func (t *parser) lit(text string) bool {
	if !strings.HasPrefix(t.s[t.pos:], text) {
		return false
	}
	t.pos += len(text)
	return true
}

// bare consumes plain characters, possibly none.
func (t *parser) bare() string {
	start := t.pos
	for t.pos < len(t.s) && plain(t.s[t.pos]) {
		t.pos++
	}
	return t.s[start:t.pos]
}

// word consumes a plain or quoted name.
func (t *parser) word() (string, error) {
	if t.pos < len(t.s) && t.s[t.pos] == '"' {
		q, err := strconv.QuotedPrefix(t.s[t.pos:])
		if err != nil {
			return "", t.errorf("the quoted name does not end")
		}
		s, err := strconv.Unquote(q)
		if err != nil {
			return "", t.errorf("bad quoted name")
		}
		t.pos += len(q)
		return s, nil
	}
	if w := t.bare(); w != "" {
		return w, nil
	}
	return "", t.errorf("want a name")
}

func (t *parser) number(bits int) (uint64, error) {
	start := t.pos
	for t.pos < len(t.s) && '0' <= t.s[t.pos] && t.s[t.pos] <= '9' {
		t.pos++
	}
	n, err := strconv.ParseUint(t.s[start:t.pos], 10, bits)
	if err != nil {
		return 0, t.errorAt(start, "want a number of at most %d bits", bits)
	}
	return n, nil
}

func (t *parser) keyNumber(key string, bits int) (uint64, error) {
	if !t.lit(" " + key + "=") {
		return 0, t.errorf("want %s=", key)
	}
	return t.number(bits)
}

func (t *parser) key(key string, v encoding.TextUnmarshaler) error {
	if !t.lit(" " + key + "=") {
		return t.errorf("want %s=", key)
	}
	start := t.pos
	if err := v.UnmarshalText([]byte(t.bare())); err != nil {
		return t.errorAt(start, "%v", err)
	}
	return nil
}

// end wants nothing more on the line.
func (t *parser) end() error {
	t.spaces()
	if t.pos < len(t.s) {
		return t.errorf("unexpected %.20q", t.s[t.pos:])
	}
	return nil
}

func (t *parser) errorf(format string, args ...any) error { return t.errorAt(t.pos, format, args...) }

func (t *parser) errorAt(pos int, format string, args ...any) error {
	return &SyntaxError{t.line, pos + 1, fmt.Sprintf(format, args...)}
}
