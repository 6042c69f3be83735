package sxlm

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"atenia/internal/machine/ledger"
	"atenia/quila/internal/weights"
)

// A loader turns raw blocks into a model: steps 7 and 8.
type loader struct {
	info     *Info
	opt      *Options
	raw      [blocks]raw
	sections [blocks + 1]*section // by block; nil for 3 and 5
	kind     Kind                 // of parameters
	rows     []row
	m        *Model
	entries  uint64
}

// containers is the first half: the indexes, the configuration, every name and
// shape, and the memory that the tensors take, which is reserved before any of
// it is allocated.
func (l *loader) containers() error {
	for _, id := range []int{1, 2, 4, 6, 7} {
		s, err := readSection(l.raw[id-1], l.opt.account().Free())
		if err != nil {
			return err
		}
		l.sections[id] = s
	}
	if err := l.configure(); err != nil {
		return err
	}
	l.rows = inventory(&l.m.Config, l.shape())
	for i := range l.rows {
		if err := l.match(&l.rows[i]); err != nil {
			return err
		}
	}
	for id, s := range l.sections {
		if s == nil {
			continue
		}
		for _, name := range s.names {
			e := s.entries[name]
			if e.used {
				continue
			}
			if !free.MatchString(name) || freeBlock(name) != id || e.kind != F32 {
				return s.fail(e.at, "the tensor %s of kind %v is not one of the inventory", name, e.kind)
			}
			l.rows = append(l.rows, row{id, name, F32, e.dims, inOther})
		}
	}
	l.m.tensors = len(l.rows)
	return l.reserve()
}

// bytesOf returns a tensor of bytes as it is in a file.
func (l *loader) bytesOf(block int, name string) ([]byte, error) {
	s := l.sections[block]
	e := s.entries[name]
	switch {
	case e == nil:
		return nil, s.fail(0, "the tensor %s is missing", name)
	case e.kind != U8 || len(e.dims) != 1:
		return nil, s.fail(e.at, "%s has the kind %v and %d dimensions, want u8 and 1", name, e.kind, len(e.dims))
	case e.len == 0:
		return make([]byte, e.dims[0]), nil
	}
	return s.read(e.at, e.len)
}

// configure reads the configuration and compares it with the meta data.
func (l *loader) configure() error {
	const most = 1 << 20
	if e := l.sections[1].entries["meta.config"]; e != nil && e.len > most {
		return l.sections[1].fail(e.at, "meta.config has %d bytes, at most %d", e.len, most)
	}
	text, err := l.bytesOf(1, "meta.config")
	if err != nil {
		return err
	}
	if e := l.sections[1].entries["n.b_in"]; e != nil && e.kind == F16 {
		l.kind = F16
	}
	meta, at := &l.info.Meta, l.sections[1].entries["meta.config"].at
	c, err := resolve(text, int(meta.Persona), l.kind)
	if err != nil {
		return because(StepContainers, 1, at, "meta.config", err)
	}
	for _, f := range []struct {
		name      string
		got, want int
	}{{"N", c.N, int(meta.Neurons)}, {"N_T", c.Thinkers, int(meta.Thinkers)}, {"D", c.D, int(meta.Hidden)}, {"V", c.V, int(meta.Codebook)}} {
		if f.got != f.want {
			return fault(StepContents, 1, at, "meta.config has %s = %d, the meta data %d", f.name, f.got, f.want)
		}
	}
	l.m = &Model{
		Config: c, text: text, Parent: meta.Parent, CreatedAt: meta.CreatedAt, Checkpoint: meta.Checkpoint,
		Inference: l.info.Flags&flagInference != 0, Teacherless: l.info.Flags&flagCT != 0,
	}
	return nil
}

// shape reads from the indexes what the configuration leaves open.
func (l *loader) shape() shape {
	s := shape{kind: l.kind, edges: int(l.info.Meta.Edges), inference: l.m.Inference, text: map[string]int{}, late: map[string]bool{}}
	first := func(block int, name string) int {
		if e := l.sections[block].entries[name]; e != nil && len(e.dims) > 0 {
			return e.dims[0]
		}
		return 0
	}
	for _, t := range texts {
		s.text[t.name] = first(t.block, t.name)
	}
	s.optional, s.engramRows = first(1, "n.mhc_opt.id"), first(6, "engram.table")
	for name := range l.sections[2].entries {
		s.late[name] = true
	}
	return s
}

// match finds the entry of a row and compares their shapes.
func (l *loader) match(r *row) error {
	s := l.sections[r.block]
	e := s.entries[r.name]
	if e == nil {
		return s.fail(0, "the tensor %s is missing", r.name)
	}
	ok := e.kind == r.kind && len(e.dims) == len(r.dims)
	for k := 0; ok && k < len(r.dims); k++ {
		ok = e.dims[k] == r.dims[k]
	}
	if !ok {
		return s.fail(e.at, "%s is %v %v, want %v %v", r.name, e.kind, e.dims, r.kind, r.dims)
	}
	e.used = true
	return nil
}

// reserve holds the memory of the model.
func (l *loader) reserve() error {
	var parameters, moments, rest int64
	const floatBytes = 4
	for i := range l.rows {
		r := &l.rows[i]
		e := l.sections[r.block].entries[r.name]
		n := int64(product(r.dims))
		switch r.hold {
		case inWeights, inMask:
			parameters += n * floatBytes
		case inMoments, inOptional:
			if e.len > 0 {
				moments += n * floatBytes
			}
		case inIgnored:
		case inEngram:
			rest += e.len
		default:
			rest += n * max(int64(kindBytes[r.kind]), floatBytes)
		}
	}
	c := &l.m.Config
	parameters += int64(l.info.Meta.Edges) * int64(c.WOutLen()+c.Kappa*c.Kappa) * floatBytes
	rest += int64(l.info.Meta.Edges)*32 + int64(l.info.Blocks[4].Raw) // graph and libraries
	for _, x := range []struct {
		use ledger.Use
		n   int64
	}{{ledger.Parameters, parameters}, {ledger.Moments, moments}, {ledger.Tensors, rest}} {
		h, err := l.opt.account().Reserve(x.use, x.n)
		if err != nil {
			l.m.Close()
			return because(StepContainers, 0, 0, "memory of the model", err)
		}
		l.m.held = append(l.m.held, h)
	}
	return nil
}

// contents is the second half: the values of all tensors, the graph and the
// libraries. What has to agree among them is checked by [loader.agree].
func (l *loader) contents(ctx context.Context) error {
	m := l.m
	if err := l.graph(l.raw[2]); err != nil {
		return err
	}
	m.Weights = weights.NewSet[float32](weights.Inventory(&m.Config, m.Graph.Edges()))
	m.Engram.Rows = l.sections[6].entries["engram.table"].dims[0]
	m.Engram.WK, m.Engram.WV = make([]float32, m.Config.D*m.Config.D), make([]float32, m.Config.D*m.Config.D)
	m.allocate(l.rows)
	for i := range l.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.tensor(&l.rows[i]); err != nil {
			return err
		}
	}
	if err := l.edgeWeights(l.raw[2]); err != nil {
		return err
	}
	return l.libraries(l.raw[4])
}

// tensor reads a tensor to where the model has it.
func (l *loader) tensor(r *row) error {
	e := l.sections[r.block].entries[r.name]
	t := &Tensor{Kind: r.kind, Dims: r.dims}
	switch r.hold {
	case inText:
		return l.textTensor(r)
	case inIgnored:
		return nil
	case inWeights:
		t.F32 = l.m.Weights.Of(r.name)
	case inState:
		t = l.m.States[r.name]
	case inOther:
		t = l.m.Other[r.name]
	case inPersona:
		t.F32 = l.m.Persona
	case inMask:
		t.alloc()
	case inMoments, inOptional, inEngram:
		if e.len > 0 {
			t.alloc()
		}
	}
	if e.len > 0 {
		bad, err := t.decode(io.NewSectionReader(l.sections[r.block].r, e.at, e.len))
		if err != nil {
			return because(StepContents, r.block, e.at, "reading "+r.name, err)
		}
		if bad >= 0 && !l.opt.AllowNaN {
			return fault(StepContents, r.block, e.at+int64(bad*kindBytes[r.kind]), "%s[%d] is not finite", r.name, bad)
		}
	}
	switch r.hold {
	case inMask:
		unmask(l.m.Weights.Of(r.name), t.U8, l.m.Config.D)
	case inMoments, inOptional:
		l.moment(r.name, t.F32)
	case inEngram:
		l.engram(r.name, t)
	}
	return nil
}

// textTensor reads what is not an array of numbers.
func (l *loader) textTensor(r *row) (err error) {
	switch r.name {
	case "meta.writer":
		var b []byte
		if b, err = l.bytesOf(1, r.name); err == nil && !utf8.Valid(b) {
			err = fault(StepContents, 1, l.sections[1].entries[r.name].at, "meta.writer is not UTF-8")
		}
		l.m.Writer = string(b)
	case "tokenizer":
		if l.m.Tokenizer, err = l.bytesOf(4, r.name); err == nil {
			err = l.tokenizer()
		}
	case "blink.index":
		l.m.tree, err = l.bytesOf(4, r.name)
	case "s7.step":
		t := word(0)
		if e := l.sections[2].entries[r.name]; e.len > 0 {
			_, err = t.decode(io.NewSectionReader(l.sections[2].r, e.at, e.len))
		}
		l.m.Step = t.U64[0]
	}
	return err
}

// tokenizer checks that the tokenizer is the canonical JSON of one.
func (l *loader) tokenizer() error {
	var t struct {
		Merges   []json.RawMessage `json:"merges"`
		Specials []string          `json:"specials"`
		Type     string            `json:"type"`
	}
	d := json.NewDecoder(strings.NewReader(string(l.m.Tokenizer)))
	d.DisallowUnknownFields()
	at := l.sections[4].entries["tokenizer"].at
	if err := d.Decode(&t); err != nil {
		return because(StepContents, 4, at, "the tokenizer", err)
	}
	if d.InputOffset() != int64(len(l.m.Tokenizer)) || t.Type == "" {
		return fault(StepContents, 4, at, "the tokenizer has no type, or more than one object")
	}
	return nil
}

func (l *loader) moment(name string, x []float32) {
	if x == nil {
		return
	}
	weight := name[len(momentM):]
	t := l.m.Moments[weight]
	if t == nil {
		t = &Moment{make([]float32, len(x)), make([]float32, len(x))}
		l.m.Moments[weight] = t
	}
	if strings.HasPrefix(name, momentM) {
		t.M = x
	} else {
		t.V = x
	}
}

func (l *loader) engram(name string, t *Tensor) {
	g := &l.m.Engram
	switch name {
	case "engram.table":
		g.Table = t.F16
	case "engram.mul":
		copy(g.Mul[:], t.U64)
	case "engram.w_k":
		copy(g.WK, t.F32)
	case "engram.w_v":
		copy(g.WV, t.F32)
	}
}
