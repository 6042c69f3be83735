package memory

// Offload: which tensors to evict when memory runs full. The engine decides by
// pressures and ticks alone; the caller applies the plan.

import (
	"cmp"
	"context"
	"slices"
	"strconv"
)

// An OffloadConfig sets when tensors are evicted and how many. Eviction starts
// at a pressure of at least High; between Low and High no new moves are planned
// (hysteresis).
type OffloadConfig struct {
	VRAMHigh   float32 `json:"vram_high"`
	VRAMLow    float32 `json:"vram_low"`
	RAMHigh    float32 `json:"ram_high"`
	RAMLow     float32 `json:"ram_low"`
	Cooldown   uint64  `json:"cooldown_ticks"`       // ticks between two moves of a tensor
	MaxActions int     `json:"max_actions_per_tick"` // in one plan
	// Promote moves tensors that this engine evicted back, the smallest first, once
	// both pressures are at most Low.
	Promote bool `json:"promote,omitempty"`
}

// DefaultOffload returns the configuration to start from.
func DefaultOffload() OffloadConfig {
	return OffloadConfig{VRAMHigh: .95, VRAMLow: .85, RAMHigh: .95, RAMLow: .85, Cooldown: 5, MaxActions: 4}
}

// An Action moves one tensor: to RAM, or to SSD.
type Action struct {
	To Tier // RAM or SSD; VRAM for a promoted tensor
	ID string
}

// String returns MoveToRam, MoveToSsd or MoveToVram and the id.
func (a Action) String() string { return a.Name() + " " + a.ID }

// Name returns MoveToRam, MoveToSsd or MoveToVram.
func (a Action) Name() string { return "MoveTo" + a.To.String() }

// A PlannedOffload lists the moves that an [Offload] wants.
type PlannedOffload struct {
	Actions []Action
	Reason  string // one line
	marks   []mark // one for each action; nil in plans that leave no marks
}

// A mark records when a tensor was last planned to move.
type mark struct {
	tick uint64
	set  bool
	from Tier // where it was
}

// An Offload chooses the tensors to evict from a memory under pressure. It
// remembers when it last planned to move each one. It is not safe for concurrent
// use.
type Offload struct {
	config OffloadConfig
	last   map[string]uint64 // id → tick of the last plan that moves it
	away   map[string]Tier   // id → tier it was evicted from
	found  []candidate       // scratch
	seen   map[string]bool   // scratch
}

// NewOffload returns an engine that has moved nothing.
func NewOffload(c OffloadConfig) *Offload {
	return &Offload{config: c, last: map[string]uint64{}, away: map[string]Tier{}, seen: map[string]bool{}}
}

// A squeeze is a combination of memories under pressure.
type squeeze struct {
	from        [2]Tier // the tiers to evict from
	to          Tier
	reason      string
	withoutMove string // the reason if no tensor can be evicted
}

var squeezes = [...]squeeze{
	{[2]Tier{VRAM, RAM}, SSD, "VRAM and RAM pressure high", "VRAM and RAM pressure high"},
	{[2]Tier{VRAM, VRAM}, RAM, "VRAM pressure high", "VRAM pressure high but no offloadable tensors in VRAM"},
	{[2]Tier{RAM, RAM}, SSD, "RAM pressure high", "RAM pressure high but no offloadable tensors in RAM"},
}

// squeezed returns which memories are under pressure, or nil, and whether all
// pressures are at most Low.
func (o *Offload) squeezed(s *Snapshot) (full *squeeze, low bool) {
	vram, ram := PlanningPressures(s.VRAM.Pressure, s.RAM.Pressure)
	v, r := vram >= o.config.VRAMHigh, ram >= o.config.RAMHigh
	switch {
	case v && r:
		full = &squeezes[0]
	case v:
		full = &squeezes[1]
	case r:
		full = &squeezes[2]
	}
	return full, vram <= o.config.VRAMLow && ram <= o.config.RAMLow
}

// Plan evicts every named tensor that is in a memory under pressure, in the
// order of ids, regardless of cooldown.
func (o *Offload) Plan(s Snapshot, ids []string, m *Manager) PlannedOffload {
	full, _ := o.squeezed(&s)
	if full == nil {
		return PlannedOffload{Reason: "No offloading needed"}
	}
	o.find(full, ids, m, nil)
	p := PlannedOffload{Reason: full.withoutMove}
	for _, c := range o.found {
		p.Actions, p.Reason = append(p.Actions, Action{full.to, c.id}), full.reason
	}
	return p
}

// A candidate is a tensor that could be evicted.
type candidate struct {
	id    string
	bytes uint64
	from  Tier
}

// find lists the named tensors that are in a memory under pressure, each once,
// without those that refused rejects.
func (o *Offload) find(full *squeeze, ids []string, m *Manager, refused func(id string) bool) (skipped bool) {
	o.found = o.found[:0]
	clear(o.seen)
	for _, id := range ids {
		r, ok := m.Residence(id)
		if !ok || r.Tier != full.from[0] && r.Tier != full.from[1] {
			continue
		}
		if refused != nil && refused(id) {
			skipped = true
			continue
		}
		if !o.seen[id] {
			o.seen[id] = true
			o.found = append(o.found, candidate{id, r.Bytes, r.Tier})
		}
	}
	return skipped
}

// PlanWithTick evicts the largest of the named tensors in a memory under
// pressure, at most MaxActions of them, and skips those planned to move within
// the cooldown before tick. It marks the chosen ones as moved at tick.
func (o *Offload) PlanWithTick(s Snapshot, ids []string, m *Manager, tick uint64) PlannedOffload {
	full, low := o.squeezed(&s)
	if full == nil {
		switch {
		case low && o.config.Promote:
			return o.promote(ids, m, tick)
		case low:
			return PlannedOffload{Reason: "No offloading needed"}
		}
		return PlannedOffload{Reason: "No new offloading due to hysteresis band"}
	}
	skipped := o.find(full, ids, m, func(id string) bool { return o.cooling(id, tick) })
	slices.SortFunc(o.found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.id, b.id))
	})
	p := o.take(tick, func(candidate) Tier { return full.to })
	p.Reason = full.withoutMove
	if len(p.Actions) > 0 {
		p.Reason = full.reason
	}
	if skipped {
		p.Reason += "; some tensors skipped due to cooldown"
	}
	if len(o.found) > 0 {
		p.Reason += "; Priority offloading enabled; selected " + strconv.Itoa(len(p.Actions)) + "/" + strconv.Itoa(len(o.found))
	}
	return p
}

// cooling reports whether a tensor is still in its cooldown.
func (o *Offload) cooling(id string, tick uint64) bool {
	last, ok := o.last[id]
	return ok && (tick <= last || tick-last < o.config.Cooldown)
}

// take makes a plan of the first MaxActions candidates and marks them.
func (o *Offload) take(tick uint64, to func(candidate) Tier) PlannedOffload {
	n := min(len(o.found), max(o.config.MaxActions, 0))
	if n == 0 {
		return PlannedOffload{}
	}
	p := PlannedOffload{Actions: make([]Action, n), marks: make([]mark, n)}
	for i, c := range o.found[:n] {
		last, set := o.last[c.id]
		p.Actions[i], p.marks[i] = Action{to(c), c.id}, mark{last, set, c.from}
		o.last[c.id] = tick
	}
	return p
}

// promote plans the return of evicted tensors, the smallest first, to the tier
// they came from, or to RAM without a device.
func (o *Offload) promote(ids []string, m *Manager, tick uint64) PlannedOffload {
	o.found = o.found[:0]
	clear(o.seen)
	for _, id := range ids {
		home, was := o.away[id]
		if !was || o.seen[id] || o.cooling(id, tick) {
			continue
		}
		o.seen[id] = true
		if r, ok := m.Residence(id); ok && r.Tier != home {
			o.found = append(o.found, candidate{id, r.Bytes, r.Tier})
		}
	}
	if len(o.found) == 0 {
		return PlannedOffload{Reason: "No offloading needed"}
	}
	slices.SortFunc(o.found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.id, b.id))
	})
	p := o.take(tick, func(c candidate) Tier { return o.away[c.id] })
	p.Reason = "No offloading needed; bringing back " + strconv.Itoa(len(p.Actions)) + "/" + strconv.Itoa(len(o.found))
	return p
}

// Applied reports how far a plan was carried out.
type Applied struct {
	Done   []Action
	Failed *Action // nil: all were applied
	Left   []Action
}

// Apply carries out the moves of a plan in order, those from VRAM to SSD through
// RAM. It stops at the first error and returns it; that tensor and the following
// ones no longer count as moved.
func (o *Offload) Apply(ctx context.Context, p PlannedOffload, m *Manager) (Applied, error) {
	for i, a := range p.Actions {
		if err := moveTo(ctx, m, a); err != nil {
			o.takeBack(p, i)
			return Applied{p.Actions[:i], &p.Actions[i], p.Actions[i+1:]}, err
		}
		if p.marks != nil {
			o.note(a, p.marks[i].from)
		}
	}
	return Applied{Done: p.Actions}, nil
}

func moveTo(ctx context.Context, m *Manager, a Action) error {
	if at, _ := m.Tier(a.ID); a.To == SSD && at == VRAM {
		if _, err := m.Move(ctx, a.ID, RAM); err != nil {
			return err
		}
	}
	_, err := m.Move(ctx, a.ID, a.To)
	return err
}

// takeBack undoes the marks of the actions from index i on.
func (o *Offload) takeBack(p PlannedOffload, i int) {
	if p.marks == nil {
		return
	}
	for j, a := range p.Actions[i:] {
		if was := p.marks[i+j]; was.set {
			o.last[a.ID] = was.tick
		} else {
			delete(o.last, a.ID)
		}
	}
}

// note records the tier from which a tensor was first evicted, and forgets it
// once the tensor is back there.
func (o *Offload) note(a Action, from Tier) {
	switch home, was := o.away[a.ID]; {
	case !was:
		o.away[a.ID] = from
	case home == a.To:
		delete(o.away, a.ID)
	}
}
