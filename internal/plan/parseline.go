package plan

import (
	"encoding"
	"strconv"
	"strings"
)

// instruction reads the rest of an instruction line, after its number.
func (t *parser) instruction() error {
	p := &t.c.Plan
	if len(p.Instructions) == MaxInstructions {
		return t.Errorf("more than %d instructions", MaxInstructions)
	}
	in := Instruction{State: NoState, Param: uint16(len(p.Params))}
	t.Spaces()
	if !t.Lit("L") {
		return t.Errorf("want a layer, as in L3 or L-1")
	}
	start := t.Pos
	layer, err := strconv.ParseInt(t.Bare(), 10, 16)
	if err != nil {
		return t.ErrorAt(start, "the layer is not a number")
	}
	in.Layer = int16(layer)
	t.Spaces()
	start = t.Pos
	if err := in.Op.UnmarshalText([]byte(t.Bare())); err != nil {
		return t.ErrorAt(start, "%v", err)
	}
	if err := t.operands(&in); err != nil {
		return err
	}
	if t.Lit(" s") {
		start = t.Pos
		n, err := t.Number(15)
		if err != nil {
			return t.ErrorAt(start, "want the number of a state")
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
	return t.End()
}

// operands reads "r1!,r3 -> r4:h[tokens,64]".
func (t *parser) operands(in *Instruction) error {
	i := len(t.c.Plan.Instructions)
	t.Spaces()
	for {
		r, err := t.readRegister()
		if err != nil {
			return err
		}
		in.In = append(in.In, r)
		t.mark(i, r)
		if !t.Lit(",") {
			break
		}
	}
	if !t.Lit(" ->") {
		return t.Errorf("want ->")
	}
	for strings.HasPrefix(t.S[t.Pos:], " r") && t.isRegister(t.Pos+2) {
		t.Pos++
		r, err := t.madeRegister()
		if err != nil {
			return err
		}
		in.Out = append(in.Out, r)
		t.mark(i, r)
	}
	return nil
}

// isRegister distinguishes r4:h[…] from a weight slot that starts with r.
func (t *parser) isRegister(at int) bool { return at < len(t.S) && '0' <= t.S[at] && t.S[at] <= '9' }

func (t *parser) mark(i int, r RegisterRef) {
	if t.Lit("!") {
		t.kills = append(t.kills, kill{i, r})
	}
}

// bindings reads "q=blk.0.attn_q k=…" in the order of the opcode's slots.
func (t *parser) bindings(spec *OpSpec, in *Instruction) error {
	p := &t.c.Plan
	for i := range spec.Weights {
		slot, _ := spec.Slot(i)
		if !t.Lit(" " + slot + "=") {
			in.Weights = append(in.Weights, NoWeight)
			continue
		}
		name, err := t.Word()
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
	if !t.Lit(" {") {
		return ParamBlock{}, t.Errorf("%s wants parameters in braces", spec.Name)
	}
	v := spec.Params()
	for !t.Lit("}") {
		t.Spaces()
		start := t.Pos
		key := t.Bare()
		if key == "" || !t.Lit("=") {
			return ParamBlock{}, t.ErrorAt(start, "want name=value or }")
		}
		value := t.Pos
		for t.Pos < len(t.S) && t.S[t.Pos] != ' ' && t.S[t.Pos] != '}' {
			t.Pos++
		}
		if err := setField(v, key, t.S[value:t.Pos]); err != nil {
			return ParamBlock{}, t.ErrorAt(start, "%v", err)
		}
	}
	b, err := EncodeParams(spec.Op, v)
	if err != nil {
		return ParamBlock{}, t.Errorf("%v", err)
	}
	return b, nil
}

// readRegister reads "r4" or "r4@b1".
func (t *parser) readRegister() (RegisterRef, error) {
	if !t.Lit("r") {
		return 0, t.Errorf("want a register")
	}
	n, err := t.Number(16)
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
		return 0, t.Errorf("more than %d registers", MaxRegisters)
	}
	if !t.Lit("r" + strconv.Itoa(r) + ":") {
		return 0, t.Errorf("want the next register, r%d, and its name", r)
	}
	s := defaultRegister
	var err error
	if s.Name, err = t.Word(); err != nil {
		return 0, err
	}
	if !t.Lit("[") {
		return 0, t.Errorf("want [rows,columns]")
	}
	start := t.Pos
	if err := s.Rows.UnmarshalText([]byte(t.Bare())); err != nil {
		return 0, t.ErrorAt(start, "%v", err)
	}
	if !t.Lit(",") {
		return 0, t.Errorf("want ,columns")
	}
	cols, err := t.Number(32)
	if err != nil {
		return 0, err
	}
	s.Cols = uint32(cols)
	for t.Lit(",") {
		if err := t.property(&s); err != nil {
			return 0, err
		}
	}
	if !t.Lit("]") {
		return 0, t.Errorf("want ]")
	}
	p.Registers = append(p.Registers, s)
	return RegisterRef(r), t.buffer()
}

// property reads an element type, rank=1, or a layout.
func (t *parser) property(s *RegSpec) error {
	start := t.Pos
	w := t.Bare()
	if w == "rank" && t.Lit("=") {
		n, err := t.Number(8)
		s.Rank = uint8(n)
		return err
	}
	if s.Layout.UnmarshalText([]byte(w)) == nil || s.DType.UnmarshalText([]byte(w)) == nil {
		return nil
	}
	return t.ErrorAt(start, "want an element type, rank= or a layout")
}

func (t *parser) buffer() error {
	if !t.Lit("@b") {
		return nil
	}
	_, err := t.Number(16)
	return err
}

func (t *parser) keyNumber(key string, bits int) (uint64, error) {
	if !t.Lit(" " + key + "=") {
		return 0, t.Errorf("want %s=", key)
	}
	return t.Number(bits)
}

func (t *parser) key(key string, v encoding.TextUnmarshaler) error {
	if !t.Lit(" " + key + "=") {
		return t.Errorf("want %s=", key)
	}
	start := t.Pos
	if err := v.UnmarshalText([]byte(t.Bare())); err != nil {
		return t.ErrorAt(start, "%v", err)
	}
	return nil
}
