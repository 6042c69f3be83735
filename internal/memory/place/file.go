package place

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"atenia/internal/memory"
)

// fileFormat is the format identifier of plan files.
const fileFormat = "atenia.plan/1"

// A File is the editable form of a plan: the tier and the device of each tensor
// and the budgets may be changed. [Reload] applies the tiers, checks that they
// fit, and recomputes the rest; ring, cache of experts, seconds and rates in a file are
// informational.
type File struct {
	Model   Model
	RAM     int64    // bytes; 0 = no bound
	SSD     int64    // bytes; 0 = no bound
	Devices []Device // with the bytes of each
	Ring    Ring
	Cache   Cache
	Decode  Prediction
	Prefill Prediction
	Rates   Rates
	Tensors []Entry // weights; a file does not place caches and buffers
}

// A Model identifies the model that a plan is for.
type Model struct {
	Files   []Part `json:"files"`
	Tensors int    `json:"tensors"`
	SHA256  string `json:"sha256"` // of the sizes of the files and the names and sizes of the tensors
}

// An Entry places one tensor.
type Entry struct {
	Name   string      `json:"name"`
	Bytes  int64       `json:"bytes"`
	Class  Class       `json:"class"`
	Tier   memory.Tier `json:"tier"`
	Device string      `json:"device,omitempty"`
	Rule   Rule        `json:"rule,omitempty"`
}

// fields returns the members of a file in their order; "tensors" follows them.
func (f *File) fields() []struct {
	name string
	at   any
} {
	return []struct {
		name string
		at   any
	}{
		{"model", &f.Model}, {"ram", &f.RAM}, {"ssd", &f.SSD}, {"devices", &f.Devices}, {"ring", &f.Ring}, {"experts", &f.Cache},
		{"decode", &f.Decode}, {"prefill", &f.Prefill}, {"rates", &f.Rates},
	}
}

// placeable reports whether a plan file sets the tier of t.
func (t *Tensor) placeable() bool { return t.Class != KV && t.Class != Buffer }

// modelOf identifies the model of an input by its weights.
func modelOf(in *Input) Model {
	m := Model{Files: in.Files}
	h := sha256.New()
	for _, f := range in.Files {
		fmt.Fprintf(h, "file %d\n", f.Bytes)
	}
	for i := range in.Tensors {
		if t := &in.Tensors[i]; t.placeable() {
			fmt.Fprintf(h, "%q %d\n", t.Name, t.Bytes)
			m.Tensors++
		}
	}
	m.SHA256 = hex.EncodeToString(h.Sum(nil))
	return m
}

// ModelOf returns the identity of the model of an input: a hash of the sizes of
// its files and of the names and sizes of its tensors.
func ModelOf(in *Input) string { return modelOf(in).SHA256 }

// Model returns the identity of the model that the plan is for, see [ModelOf].
func (p *Placement) Model() string { return ModelOf(&p.in) }

// File returns the editable form of the plan.
func (p *Placement) File() *File {
	f := &File{
		Model: modelOf(&p.in), RAM: p.in.RAM, SSD: p.in.SSD, Devices: p.in.Devices, Ring: p.Ring, Cache: p.Cache,
		Decode: p.Decode, Prefill: p.Prefill, Rates: p.in.Rates,
	}
	f.Decode.waits, f.Prefill.waits = 0, 0 // which a file does not have
	for i := range p.Tensors {
		if t := &p.Tensors[i]; t.placeable() {
			f.Tensors = append(f.Tensors, Entry{t.Name, t.Bytes, t.Class, t.Tier, t.Device, t.Rule})
		}
	}
	return f
}

// MarshalJSON writes the plan file.
func (p *Placement) MarshalJSON() ([]byte, error) { return p.File().Append(nil) }

// Append appends the text that [Parse] reads: JSON with one tensor per line.
func (f *File) Append(b []byte) ([]byte, error) {
	out := bytes.NewBuffer(b)
	fmt.Fprintf(out, "{\n  \"format\": %q", fileFormat)
	for _, x := range f.fields() {
		if c, ok := x.at.(*Cache); ok && *c == (Cache{}) {
			continue
		}
		v, err := marshal(x.at)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, ",\n  %q: %s", x.name, v)
	}
	out.WriteString(",\n  \"tensors\": [")
	for i := range f.Tensors {
		v, err := marshal(&f.Tensors[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(out, "\n    %s", v)
	}
	out.WriteString("\n  ]\n}\n")
	return out.Bytes(), nil
}

// marshal is json.Marshal without HTML escaping, so that names stay readable.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// natural is the tier in which a rule places tensors.
var natural = map[Rule]memory.Tier{
	RuleKV: memory.RAM, RuleBuffer: memory.RAM, RuleVector: memory.RAM, RuleHeld: memory.RAM, RuleVRAM: memory.VRAM,
	RuleFits: memory.RAM, RuleRing: memory.RAM, RuleValue: memory.RAM, RuleStream: memory.SSD, RuleRows: memory.SSD, RuleCache: memory.SSD,
}

// Reload makes a plan from a file. The input supplies the model and whatever a
// file does not have; its budgets, where set, and its pins override the file's.
// A file of another model is a [*mismatchError], one that does not fit a
// [*FloorError].
func Reload(in Input, f *File) (*Placement, error) {
	if have := modelOf(&in); have.SHA256 != f.Model.SHA256 {
		return nil, &mismatchError{Have: have, File: f.Model}
	}
	if in.RAM == 0 {
		in.RAM = f.RAM
	}
	if in.SSD == 0 {
		in.SSD = f.SSD
	}
	if len(in.Devices) == 0 {
		in.Devices = slices.Clone(f.Devices)
	}
	fixed := make(map[string]Placed, len(f.Tensors))
	for _, e := range f.Tensors {
		x := Placed{Tier: e.Tier, Device: e.Device, Rule: e.Rule}
		if t, ok := natural[e.Rule]; !ok || t != e.Tier {
			x.Rule = RuleFile
		}
		if x.Tier == memory.VRAM && !slices.ContainsFunc(in.Devices, func(d Device) bool { return d.ID == e.Device }) {
			return nil, &pinError{Pin: e.Name + "=" + e.Tier.Lower() + "@" + e.Device, Tensor: e.Name, Why: "there is no budget for such a device"}
		}
		fixed[e.Name] = x
	}
	p, err := place(in, fixed)
	if err != nil {
		return nil, err
	}
	if q, err := place(in, nil); err == nil {
		p.change(q, withoutFile)
	}
	p.changes(withoutFile)
	return p, nil
}

// A mismatchError says that a plan file belongs to another model. It matches
// [ErrMismatch].
type mismatchError struct{ Have, File Model }

func (e *mismatchError) Error() string {
	return fmt.Sprintf("%v: the model has %d tensors in files of %s, the plan was made for %d tensors in files of %s",
		ErrMismatch, e.Have.Tensors, sizesOf(e.Have.Files), e.File.Tensors, sizesOf(e.File.Files))
}

// Is reports whether target is [ErrMismatch].
func (e *mismatchError) Is(target error) bool { return target == ErrMismatch }

func sizesOf(files []Part) string {
	n := int64(0)
	for _, f := range files {
		n += f.Bytes
	}
	return fmt.Sprintf("%d bytes", n)
}
