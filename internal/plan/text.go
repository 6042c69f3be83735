package plan

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// PrintOptions choose how a plan is printed. The zero value prints what
// [ParseText] reads back.
type PrintOptions struct {
	// Fold prints layers that repeat earlier ones as one line, for people;
	// ParseText rejects it.
	Fold bool
	// Mapping adds each register's buffer, "@b2". ParseText skips these.
	Mapping *PhysicalMapping
}

// Print writes the text form of a compiled plan: the same plan gives the same
// text, without addresses, one line for each thing a diff should show.
//
//	plan mode=decode instructions=… registers=… peak=3 states=1 weights=12
//	state s0 kind=kv.0 class=slot_persistent bytes=… k:F16[0+1024]
//	input r0:tokens[slots,1,I32,rank=1]
//	   0 L-1 embedding     r0 -> r1:e[slots,64] table=token_embd {dim=64 …}
//	   1 L0  norm          r1 -> r2:L0.n[slots,64] weight=blk.0.attn_norm {…}
//	   2 L0  attention     r2! -> r3:L0.a[slots,64] s0 q=blk.0.attn_q … {…}
//	output r9
//	note fused: add_norm: L0.h with L0.n2
//
// "!" marks the instruction after which a register is dead. A register shows
// its name, rows and columns where it is made, then what is not the default of
// an activation (F32, rank 2, contiguous). Payload fields that are zero are left
// out.
func Print(w io.Writer, c *CompiledPlan, o PrintOptions) error {
	t := texter{c: c, m: o.Mapping}
	b := bufio.NewWriter(w)
	t.header(b)
	var folds map[int]fold
	if o.Fold {
		folds = foldLayers(c)
	}
	for i := 0; i < len(c.Plan.Instructions); i++ {
		if f, ok := folds[i]; ok {
			fmt.Fprintf(b, "     %s\n", f)
			i = f.end - 1
			continue
		}
		fmt.Fprintf(b, "%4d %s\n", i, t.instruction(i, t.register))
	}
	t.trailer(b)
	return b.Flush()
}

// String returns the text form of the plan, unfolded.
func (c *CompiledPlan) String() string {
	var b strings.Builder
	_ = Print(&b, c, PrintOptions{}) // a Builder does not fail
	return b.String()
}

// texter prints parts of one plan. It must not panic on a plan that is wrong:
// printing one is how one finds out.
type texter struct {
	c *CompiledPlan
	m *PhysicalMapping
}

func (t *texter) header(b *bufio.Writer) {
	p := &t.c.Plan
	fmt.Fprintf(b, "plan mode=%s instructions=%d registers=%d peak=%d states=%d weights=%d\n",
		p.Mode, len(p.Instructions), len(p.Registers), t.c.PeakRegisters, len(p.States), len(p.Weights))
	for i := range p.States {
		d := &p.States[i]
		fmt.Fprintf(b, "state s%d kind=%s.%d class=%s bytes=%d align=%d layers=%d stride=%d page=%d window=%d zero=%t",
			d.ID, d.Kind, d.Group, d.Lifecycle, d.SizeBytes, d.AlignBytes, d.Layers, d.LayerStride, d.PageTokens, d.Window, d.ZeroInit)
		for _, s := range d.Sections {
			fmt.Fprintf(b, " %s:%s[%d+%d]", scanWord(s.Name), s.DType, s.Offset, s.Bytes)
		}
		b.WriteByte('\n')
	}
	if t.m != nil {
		for i, s := range t.m.Buffers {
			fmt.Fprintf(b, "buffer b%d bytes=%d align=%d\n", i, s.Size, s.Align)
		}
	}
	for _, r := range p.Inputs {
		fmt.Fprintf(b, "input %s\n", t.register(r, true))
	}
}

func (t *texter) trailer(b *bufio.Writer) {
	b.WriteString("output")
	for _, r := range t.c.Plan.Outputs {
		b.WriteString(" " + t.register(r, false))
	}
	b.WriteByte('\n')
	for _, d := range t.c.Diagnostics {
		level := "note"
		if d.Warn {
			level = "warn"
		}
		fmt.Fprintf(b, "%s %s: %s\n", level, scanWord(d.Code), sentence(d.Text))
	}
}

// instruction returns one line without its number; reg prints a register where
// it is made or where it is read.
func (t *texter) instruction(i int, reg func(r RegisterRef, made bool) string) string {
	in := &t.c.Plan.Instructions[i]
	var b strings.Builder
	fmt.Fprintf(&b, "L%-3d %-14s", in.Layer, in.Op)
	for k, r := range in.In {
		b.WriteByte(" ,"[min(k, 1)])
		b.WriteString(reg(r, false) + t.dead(i, r))
	}
	b.WriteString(" ->")
	for _, r := range in.Out {
		b.WriteString(" " + reg(r, true) + t.dead(i, r))
	}
	if in.State != NoState {
		fmt.Fprintf(&b, " s%d", in.State)
	}
	for k, w := range in.Weights {
		if w != NoWeight {
			b.WriteString(" " + t.weight(in.Op, k, w))
		}
	}
	b.WriteString(t.params(in))
	return b.String()
}

func (t *texter) register(r RegisterRef, made bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "r%d", r)
	if made && int(r) < len(t.c.Plan.Registers) {
		s := &t.c.Plan.Registers[r]
		b.WriteString(":" + scanWord(s.Name) + s.shape())
	}
	if t.m != nil && int(r) < len(t.m.ToPhysical) && t.m.ToPhysical[r] != NoBuffer {
		fmt.Fprintf(&b, "@b%d", t.m.ToPhysical[r])
	}
	return b.String()
}

// shape returns "[tokens,64]", followed by properties of a register that are
// not the default.
func (s *RegSpec) shape() string {
	b := fmt.Sprintf("[%s,%d", s.Rows, s.Cols)
	if s.DType != defaultRegister.DType {
		b += "," + s.DType.String()
	}
	if s.Rank != defaultRegister.Rank {
		b += fmt.Sprintf(",rank=%d", s.Rank)
	}
	if s.Layout != defaultRegister.Layout {
		b += "," + s.Layout.String()
	}
	return b + "]"
}

func (t *texter) dead(i int, r RegisterRef) string {
	kills := t.c.Live.KillAfter
	if i < len(kills) && int(r)/64 < len(kills[i]) && t.c.Live.Kills(i, r) {
		return "!"
	}
	return ""
}

func (t *texter) weight(op Opcode, slot int, w WeightRef) string {
	name := fmt.Sprintf("w%d", w)
	if uint64(w) < uint64(len(t.c.Plan.Weights)) {
		name = scanWord(t.c.Plan.Weights[w].Name)
	}
	if s := Specs.Get(op); s != nil && slot < len(s.Weights) {
		n, _ := s.Slot(slot)
		return n + "=" + name
	}
	return fmt.Sprintf("%d=%s", slot, name)
}

func (t *texter) params(in *Instruction) string {
	if int(in.Param) >= len(t.c.Plan.Params) {
		return " {?}"
	}
	v, err := t.c.Plan.Params[in.Param].Decode()
	if err != nil {
		return " {?}"
	}
	if v == nil {
		return ""
	}
	var words []string
	for _, f := range payloadFields(v) {
		if !f.v.IsZero() {
			words = append(words, f.name+"="+f.text())
		}
	}
	return " {" + strings.Join(words, " ") + "}"
}
