package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"reflect"
	"strconv"
)

// schemaJSON is the version of the JSON form.
const schemaJSON = 1

// JSONOptions add information to the JSON form that is not part of the plans;
// [ParseJSON] skips it.
type JSONOptions struct {
	Model   any                       // describes the model
	Mapping map[Mode]*PhysicalMapping // buffers of each plan
}

// MarshalPlans returns the JSON form of a model's plans, indented, with its id.
// Equal plans give equal bytes.
func MarshalPlans(m *ModelPlans, o JSONOptions) ([]byte, error) {
	d, err := document(m)
	if err != nil {
		return nil, err
	}
	if d.ID, err = m.ID(); err != nil {
		return nil, err
	}
	if o.Model != nil {
		if d.Model, err = json.Marshal(o.Model); err != nil {
			return nil, err
		}
	}
	for mode, pm := range o.Mapping {
		if pm == nil {
			continue
		}
		if d.Mapping == nil {
			d.Mapping = make(map[string]*jsonMapping)
		}
		d.Mapping[mode.String()] = mappingJSON(pm)
	}
	b, err := json.MarshalIndent(d, "", " ")
	return append(b, '\n'), err
}

// ID returns "sha256:" and the hash of the canonical JSON of the plans: their
// instructions, registers, weights, states and handoffs, and nothing that
// depends on the machine, a buffer or the words of a diagnostic.
func (m *ModelPlans) ID() (string, error) {
	d, err := document(m)
	if err != nil {
		return "", err
	}
	d.Diagnostics = nil
	b, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(h[:]), nil
}

// ID returns the id of one compiled plan: that of a model with no other.
func (c *CompiledPlan) ID() (string, error) {
	m := new(ModelPlans)
	if err := m.setByMode(c); err != nil {
		return "", err
	}
	return m.ID()
}

// ParseJSON reads the output of [MarshalPlans] and returns equal plans,
// liveness included. It checks the syntax and that the id matches the content;
// pass.LoadJSON, which programs should call, also validates the plans. Errors
// match [ErrInvalidPlan].
func ParseJSON(data []byte) (*ModelPlans, error) {
	var d jsonDocument
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, Errorf(ErrInvalidPlan, Whole, "byte %d: %v", dec.InputOffset(), err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, Errorf(ErrInvalidPlan, Whole, "byte %d: something follows the document", dec.InputOffset())
	}
	if d.Schema != schemaJSON {
		return nil, Errorf(ErrInvalidPlan, Whole, "schema %d, want %d", d.Schema, schemaJSON)
	}
	m, err := d.plans()
	if err != nil {
		return nil, err
	}
	if d.ID != "" {
		if id, err := m.ID(); err != nil || id != d.ID {
			return nil, Errorf(ErrInvalidPlan, Whole, "the content has id %s, the file says %.80q; one that was edited has that of its content, or none", id, d.ID)
		}
	}
	return m, nil
}

// The types below are the schema, with those of the contract that have tags.
// Field order is the order in the file.
type (
	jsonDocument struct {
		Schema      int                     `json:"schema"`
		ID          string                  `json:"id,omitempty"`
		Model       json.RawMessage         `json:"model,omitempty"`
		Plans       map[string]*jsonPlan    `json:"plans"`
		States      []StateDescriptor       `json:"states"`
		Handoffs    []Handoff               `json:"handoffs"`
		Mapping     map[string]*jsonMapping `json:"mapping,omitempty"`
		Diagnostics []jsonDiagnostic        `json:"diagnostics,omitempty"`
	}
	jsonPlan struct {
		Peak         uint16            `json:"peak"`
		States       []int             `json:"states"` // a plan's states as indices into the document's
		Inputs       []RegisterRef     `json:"inputs"`
		Outputs      []RegisterRef     `json:"outputs"`
		Registers    []RegSpec         `json:"registers"`
		Instructions []jsonInstruction `json:"instructions"`
	}
	jsonInstruction struct {
		I       int                        `json:"i"`
		Op      Opcode                     `json:"op"`
		ADR     string                     `json:"adr,omitempty"` // the opcode's name in the original contract
		Layer   int16                      `json:"layer"`
		In      []RegisterRef              `json:"in"`
		Out     []RegisterRef              `json:"out"`
		Weights map[string]string          `json:"weights,omitempty"`
		Params  map[string]json.RawMessage `json:"params,omitempty"`
		State   *StateRef                  `json:"state,omitempty"`
		Kills   []RegisterRef              `json:"kills,omitempty"`
	}
	jsonMapping struct {
		Buffers    []jsonBuffer `json:"buffers"`
		Registers  []*uint16    `json:"registers"` // null where the caller owns the storage
		Bytes      uint64       `json:"bytes"`
		NaiveBytes uint64       `json:"naive_bytes"`
	}
	jsonBuffer struct {
		Bytes uint64 `json:"bytes"`
		Align uint16 `json:"align"`
	}
	jsonDiagnostic struct {
		Plan Mode   `json:"plan"`
		Warn bool   `json:"warn"`
		Code string `json:"code"`
		Text string `json:"text"`
	}
)

// adrNames are the opcode names of the original contract, where they differ.
var adrNames = map[Opcode]string{
	OpNorm:      "rmsnorm",
	OpAttention: "multihead_attention",
	OpFFN:       "swiglu",
	OpMamba2:    "mamba_mixer",
	OpMLA:       "mla_attention",
}

func document(m *ModelPlans) (*jsonDocument, error) {
	d := &jsonDocument{Schema: schemaJSON, Plans: make(map[string]*jsonPlan), States: []StateDescriptor{}, Handoffs: append([]Handoff{}, m.Handoffs...)}
	for mode := range NumModes {
		c := m.ByMode(mode)
		if c == nil {
			continue
		}
		p, err := d.plan(c)
		if err != nil {
			return nil, fmt.Errorf("%s plan: %w", mode, err)
		}
		d.Plans[mode.String()] = p
		for _, g := range c.Diagnostics {
			d.Diagnostics = append(d.Diagnostics, jsonDiagnostic{mode, g.Warn, g.Code, g.Text})
		}
	}
	return d, nil
}

func (d *jsonDocument) plan(c *CompiledPlan) (*jsonPlan, error) {
	p := &c.Plan
	j := &jsonPlan{Peak: c.PeakRegisters, States: []int{}, Inputs: list(p.Inputs), Outputs: list(p.Outputs), Registers: append([]RegSpec{}, p.Registers...), Instructions: []jsonInstruction{}}
	for i := range p.States {
		j.States = append(j.States, d.state(p.States[i]))
	}
	for i := range p.Instructions {
		in, err := instructionJSON(c, i)
		if err != nil {
			return nil, err
		}
		j.Instructions = append(j.Instructions, in)
	}
	return j, nil
}

// state returns the index of a descriptor, adding it if it is new: the plans of
// a model share their states.
func (d *jsonDocument) state(s StateDescriptor) int {
	s.ID = 0 // its position in a plan
	for i := range d.States {
		if reflect.DeepEqual(d.States[i], s) {
			return i
		}
	}
	d.States = append(d.States, s)
	return len(d.States) - 1
}

func instructionJSON(c *CompiledPlan, i int) (jsonInstruction, error) {
	p := &c.Plan
	in := &p.Instructions[i]
	j := jsonInstruction{I: i, Op: in.Op, ADR: adrNames[in.Op], Layer: in.Layer, In: list(in.In), Out: list(in.Out)}
	spec := Specs.Get(in.Op)
	if spec == nil {
		return j, &OpcodeError{Op: in.Op, Index: i}
	}
	for k, w := range in.Weights {
		if w == NoWeight {
			continue
		}
		if k >= len(spec.Weights) || uint64(w) >= uint64(len(p.Weights)) {
			return j, Errorf(ErrWeightBinding, i, "weight %d of slot %d", w, k)
		}
		if j.Weights == nil {
			j.Weights = make(map[string]string)
		}
		slot, _ := spec.Slot(k)
		j.Weights[slot] = p.Weights[w].Name
	}
	if int(in.Param) >= len(p.Params) {
		return j, &ParamABIError{Op: in.Op, Why: "no parameter block"}
	}
	v, err := p.Params[in.Param].Decode()
	if err != nil {
		return j, err
	}
	for _, f := range payloadFields(v) {
		if j.Params == nil {
			j.Params = make(map[string]json.RawMessage)
		}
		j.Params[f.name] = f.json()
	}
	if in.State != NoState {
		j.State = &in.State
	}
	if i < len(c.Live.KillAfter) {
		for w, set := range c.Live.KillAfter[i] {
			for ; set != 0; set &= set - 1 {
				j.Kills = append(j.Kills, RegisterRef(w*64+bits.TrailingZeros64(set)))
			}
		}
	}
	return j, nil
}

// json returns the field as a number, or as a string where JSON has none.
func (f field) json() json.RawMessage {
	if f.v.CanFloat() {
		if x := f.v.Float(); math.IsInf(x, 0) || math.IsNaN(x) {
			return json.RawMessage(strconv.Quote(f.text()))
		}
	}
	return json.RawMessage(f.text())
}

func mappingJSON(m *PhysicalMapping) *jsonMapping {
	j := &jsonMapping{Buffers: []jsonBuffer{}, Registers: make([]*uint16, len(m.ToPhysical)), Bytes: m.Bytes, NaiveBytes: m.NaiveBytes}
	for _, b := range m.Buffers {
		j.Buffers = append(j.Buffers, jsonBuffer{b.Size, b.Align})
	}
	for r := range m.ToPhysical {
		if m.ToPhysical[r] != NoBuffer {
			j.Registers[r] = &m.ToPhysical[r]
		}
	}
	return j
}

// list returns a slice that prints as [] when empty.
func list(rs []RegisterRef) []RegisterRef {
	if rs == nil {
		return []RegisterRef{}
	}
	return rs
}
