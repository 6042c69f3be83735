package decide

import (
	"maps"
	"slices"

	"atenia/internal/machine/hw"
	"atenia/internal/memory"
	"atenia/internal/policy/record"
)

// pressures are those of a snapshot; nil is unknown.
type pressures struct {
	VRAM *record.Float `json:"vram"`
	RAM  *record.Float `json:"ram"`
}

func pressuresOf(s memory.Snapshot) pressures {
	return pressures{record.FloatOf(s.VRAM.Pressure), record.FloatOf(s.RAM.Pressure)}
}

func (p pressures) snapshot() memory.Snapshot {
	return memory.Snapshot{VRAM: memory.Status{Pressure: p.VRAM.Value()}, RAM: memory.Status{Pressure: p.RAM.Value()}}
}

// placeInputs are the inputs of a placement.
type placeInputs struct {
	ID           string        `json:"id"`
	Elements     uint64        `json:"num_elements"`
	ElementBytes uint32        `json:"element_size_bytes"`
	Cost         *record.Float `json:"estimated_compute_cost"`
	GPUs         []placeGPU    `json:"gpus"`
	Reliability  []placeDevice `json:"reliability"` // by id
	Pressures    pressures     `json:"pressures"`
	Unknown      bool          `json:"pressure_unknown"` // of either: a default was used
	NoSSD        bool          `json:"no_ssd_last_resort,omitempty"`
}

type placeGPU struct {
	ID    string        `json:"id"`
	Score *record.Float `json:"compute_score_est"`
}

type placeDevice struct {
	ID      string  `json:"id"`
	OK      uint64  `json:"ok_count"`
	Fail    uint64  `json:"fail_count"`
	ErrorMS *uint64 `json:"last_error_epoch_ms"`
}

func placeInputsOf(p memory.TensorProfile, s hw.Snapshot, noSSD bool) placeInputs {
	in := placeInputs{
		ID: p.Name, Elements: p.Elements, ElementBytes: p.ElementBytes, Cost: record.FloatOf(p.Cost),
		GPUs: []placeGPU{}, Reliability: []placeDevice{},
		Pressures: pressures{record.FloatOf(s.Pressure.VRAM), record.FloatOf(s.Pressure.RAM)},
		Unknown:   s.Pressure.VRAM == nil || s.Pressure.RAM == nil, NoSSD: noSSD,
	}
	for i := range s.GPUs {
		in.GPUs = append(in.GPUs, placeGPU{s.GPUs[i].ID, record.FloatOf(s.GPUs[i].ComputeScore)})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Reliability)) {
		r := s.Reliability[id]
		in.Reliability = append(in.Reliability, placeDevice{id, r.OK, r.Fail, r.LastErrorEpochMS})
	}
	return in
}

func (in placeInputs) draft(*history) (record.Draft, error) {
	p := memory.TensorProfile{Name: in.ID, Elements: in.Elements, ElementBytes: in.ElementBytes, Cost: in.Cost.Value()}
	s := hw.Snapshot{Reliability: map[string]hw.Reliability{}}
	s.Pressure = hw.Pressure{VRAM: in.Pressures.VRAM.Value(), RAM: in.Pressures.RAM.Value()}
	for _, g := range in.GPUs {
		s.GPUs = append(s.GPUs, hw.GPU{ID: g.ID, ComputeScore: g.Score.Value()})
	}
	for _, r := range in.Reliability {
		s.Reliability[r.ID] = hw.Reliability{OK: r.OK, Fail: r.Fail, LastErrorEpochMS: r.ErrorMS}
	}
	return placeDraft(memory.Decide(p, s, in.NoSSD)), nil
}

// placeLimits are the thresholds of placement.
var placeLimits = struct {
	SafeVRAM     float32 `json:"safe_vram"`
	SafeRAM      float32 `json:"safe_ram"`
	CriticalVRAM float32 `json:"critical_vram"`
	CriticalRAM  float32 `json:"critical_ram"`
	VeryHighRAM  float32 `json:"very_high_ram"`
	HeavyCost    float32 `json:"heavy_cost"`
	HugeBytes    uint64  `json:"huge_bytes"`
}{memory.SafeVRAM, memory.SafeRAM, memory.CriticalVRAM, memory.CriticalRAM, memory.VeryHighRAM, memory.HeavyCost, memory.HugeBytes}

func placeDraft(d memory.Decision) record.Draft {
	out := record.Draft{Rule: d.Because.Rule.String(), Target: d.To.String(), Device: d.Device, Reason: d.Reason, Config: placeLimits}
	for _, r := range d.Rejected() {
		out.Evaluated = append(out.Evaluated, r.Rule.String())
	}
	out.Evaluated = append(out.Evaluated, out.Rule)
	return out
}

// targetInputs are the inputs of the choice of a kernel's target.
type targetInputs struct {
	Kernel    Kernel        `json:"kernel"`
	Tiers     []memory.Tier `json:"tiers"`
	Pressures pressures     `json:"pressures"`
	Executors
}

func (in targetInputs) draft(*history) (record.Draft, error) {
	return targetDraft(ChooseRoute(in.Kernel, in.Tiers, in.Pressures.snapshot(), in.Executors)), nil
}

func targetDraft(p RouteChoice) record.Draft {
	return record.Draft{Rule: p.Trace.Winner.String(), Evaluated: texts(p.Trace.Evaluated), Target: p.Target.String(), Reason: p.Reason}
}
