package decide

import (
	"fmt"
	"slices"

	"atenia/internal/memory"
	"atenia/internal/memory/place"
	"atenia/internal/policy/record"
)

// budgetInputs is a [place.Input] with JSON names.
type budgetInputs struct {
	Tensors       []budgetTensor     `json:"tensors"`
	RAM           int64              `json:"ram"`
	SSD           int64              `json:"ssd"`
	Devices       []budgetAmount     `json:"devices"`
	Reserves      []budgetAmount     `json:"reserves"`
	Pins          []string           `json:"pins"` // in the format of [place.ParsePin]
	MaxTier       *memory.Tier       `json:"max_tier"`
	RequireGPU    bool               `json:"require_gpu"`
	Slots         int                `json:"slots"`
	RingPage      int64              `json:"ring_page,omitempty"`
	Rates         place.Rates        `json:"rates"`
	Corrections   []place.Correction `json:"corrections,omitempty"`
	Packed        bool               `json:"packed,omitempty"`
	Batch         int                `json:"batch"`
	Text          int                `json:"text_tokens,omitempty"`
	Chunk         int                `json:"chunk"`
	FLOP          float64            `json:"flop_per_token"`
	Files         []budgetAmount     `json:"files"`     // of the model
	PlacementFile string             `json:"plan_file"` // its text, see [place.Parse]; empty if there is none
}

type budgetTensor struct {
	Name     string   `json:"name"`
	Sources  []string `json:"sources,omitempty"`
	Bytes    int64    `json:"bytes"`
	Class    string   `json:"class"`
	Uses     float64  `json:"uses"`
	ByRow    bool     `json:"by_row,omitempty"`
	RowBytes int64    `json:"row_bytes,omitempty"`
	Unit     int      `json:"unit"`
	Held     string   `json:"held,omitempty"`
	Experts  int      `json:"experts,omitempty"`
	PerToken float64  `json:"per_token,omitempty"`
	Window   int      `json:"window,omitempty"`
	Effort   float64  `json:"effort,omitempty"`
}

type budgetAmount struct {
	ID    string `json:"id"`
	Bytes int64  `json:"bytes"`
}

func budgetInputsOf(in place.Input) budgetInputs {
	out := budgetInputs{
		Tensors: []budgetTensor{}, Devices: []budgetAmount{}, Reserves: []budgetAmount{}, Pins: []string{}, Files: []budgetAmount{},
		RAM: in.RAM, SSD: in.SSD, MaxTier: in.MaxTier, RequireGPU: in.RequireGPU, Slots: in.Slots, RingPage: in.RingPage, Rates: in.Rates, Corrections: in.Corrections,
		Packed: in.Packed, Batch: in.Batch, Text: in.Text, Chunk: in.Chunk, FLOP: in.FLOP,
	}
	for _, t := range in.Tensors {
		out.Tensors = append(out.Tensors, budgetTensor{t.Name, t.Sources, t.Bytes, t.Class.String(), t.Uses, t.ByRow, t.RowBytes, t.Unit, t.Held, t.Experts, t.PerToken, t.Window, t.Effort})
	}
	for _, d := range in.Devices {
		out.Devices = append(out.Devices, budgetAmount(d))
	}
	for _, r := range in.Reserves {
		out.Reserves = append(out.Reserves, budgetAmount{r.Name, r.Bytes})
	}
	for _, p := range in.Pins {
		out.Pins = append(out.Pins, p.String())
	}
	for _, f := range in.Files {
		out.Files = append(out.Files, budgetAmount{f.Name, f.Bytes})
	}
	return out
}

// classOf reads the name of a class.
func classOf(name string) (place.Class, error) {
	for c := place.Weight; c <= place.Buffer; c++ {
		if c.String() == name {
			return c, nil
		}
	}
	return 0, fmt.Errorf("no class of tensors %q", name)
}

func (in budgetInputs) input() (place.Input, error) {
	out := place.Input{
		RAM: in.RAM, SSD: in.SSD, MaxTier: in.MaxTier, RequireGPU: in.RequireGPU, Slots: in.Slots, RingPage: in.RingPage, Rates: in.Rates, Corrections: in.Corrections,
		Packed: in.Packed, Batch: in.Batch, Text: in.Text, Chunk: in.Chunk, FLOP: in.FLOP,
	}
	for _, t := range in.Tensors {
		class, err := classOf(t.Class)
		if err != nil {
			return out, err
		}
		out.Tensors = append(out.Tensors, place.Tensor{
			Name: t.Name, Sources: t.Sources, Bytes: t.Bytes, Class: class, Uses: t.Uses, ByRow: t.ByRow, RowBytes: t.RowBytes, Unit: t.Unit, Held: t.Held, Experts: t.Experts,
			PerToken: t.PerToken, Window: t.Window, Effort: t.Effort,
		})
	}
	for _, d := range in.Devices {
		out.Devices = append(out.Devices, place.Device(d))
	}
	for _, r := range in.Reserves {
		out.Reserves = append(out.Reserves, place.Reserve{Name: r.ID, Bytes: r.Bytes})
	}
	for _, f := range in.Files {
		out.Files = append(out.Files, place.Part{Name: f.ID, Bytes: f.Bytes})
	}
	for _, s := range in.Pins {
		p, err := place.ParsePin(s)
		if err != nil {
			return out, err
		}
		out.Pins = append(out.Pins, p)
	}
	return out, nil
}

func (in budgetInputs) draft(h *history) (record.Draft, error) {
	input, err := in.input()
	if err != nil {
		return record.Draft{}, fmt.Errorf("inputs: %w", err)
	}
	p, err := in.place(input)
	if err == nil {
		h.keep(p)
	}
	return budgetDraft(p, err), nil
}

// place makes the plan, from the plan file if there is one.
func (in budgetInputs) place(input place.Input) (*place.Placement, error) {
	if in.PlacementFile == "" {
		return place.Place(input)
	}
	f, err := place.Parse([]byte(in.PlacementFile))
	if err != nil {
		return nil, err
	}
	return place.Reload(input, f)
}

// budgetDraft describes a plan, or why there is none.
func budgetDraft(p *place.Placement, err error) record.Draft {
	if err != nil {
		return record.Draft{Rule: "error", Evaluated: []string{"error"}, Reason: err.Error()}
	}
	d := record.Draft{
		Rule: string(p.Decode.Limit),
		Target: fmt.Sprintf("vram=%d ram=%d ssd=%d ring=%d", p.Bytes(memory.VRAM), p.Bytes(memory.RAM), p.Bytes(memory.SSD),
			p.Ring.Bytes()),
		Reason: fmt.Sprintf("a decode pass of %d tensors is predicted to take %.6g s, limited by %s", len(p.Tensors), p.Decode.Seconds, p.Decode.Limit),
	}
	for i := range p.Tensors {
		if r := string(p.Tensors[i].Rule); !slices.Contains(d.Evaluated, r) {
			d.Evaluated = append(d.Evaluated, r)
		}
	}
	return d
}

// tensorInputs refer to a tensor of a plan in an earlier record.
type tensorInputs struct {
	Plan   uint64 `json:"plan"` // seq of that record
	Tensor string `json:"tensor"`
}

func (in tensorInputs) draft(h *history) (record.Draft, error) {
	p, ok := h.results[in.Plan].(*place.Placement)
	if !ok {
		return record.Draft{}, fmt.Errorf("inputs: record %d has no plan", in.Plan)
	}
	for i := range p.Tensors {
		if p.Tensors[i].Name == in.Tensor {
			return tensorDraft(p, i), nil
		}
	}
	return record.Draft{}, fmt.Errorf("inputs: the plan of record %d has no tensor %q", in.Plan, in.Tensor)
}

func tensorDraft(p *place.Placement, i int) record.Draft {
	e := p.Decision(i)
	d := record.Draft{Rule: string(e.Rule), Evaluated: []string{string(e.Rule)}, Target: e.Tier.String(), Device: e.Device, Reason: e.Reason}
	for _, r := range e.Rejected {
		d.Reason += "; not " + r.Tier.Lower() + ": " + r.Why
	}
	return d
}
