package engine

import (
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
)

// mapped is the use of the pages of the model's files in memory.
const mapped = "mapped"

// Map returns where the bytes of a run with a placement live, by memory and by
// use. Where nothing is streamed, weights are mapped and those that kernels read
// otherwise packed in memory, as far as that has room.
func (p *Plan) Map(pl *place.Placement) ([]ledger.Part, error) {
	c := p.placeConfig()
	need, err := p.footprint.Need(p.footprint.within(c, pl).Exec)
	if err != nil {
		return nil, err
	}
	of := map[memory.Tier]map[string]int64{}
	add := func(t memory.Tier, use string, n int64) {
		if of[t] == nil {
			of[t] = map[string]int64{}
		}
		of[t][use] += n
	}
	for i := range pl.Tensors {
		t := &pl.Tensors[i]
		use := ledger.Weights.String()
		switch {
		case t.Class == place.KV:
			use = ledger.Cache.String()
		case t.Class == place.Buffer:
			use = ledger.Scratch.String()
		case t.Class == place.Expert && t.Tier == memory.RAM:
			use = "experts"
		case t.ByRow && t.Tier == memory.SSD:
			use = "rows"
		case t.Tier == memory.RAM && t.Held == "" && !pl.Spills():
			use = mapped
		}
		add(t.Tier, use, t.Bytes)
	}
	for _, r := range pl.Input().Reserves {
		if r.Name == towerReserve {
			add(memory.RAM, ledger.Weights.String(), p.footprint.tower)
			add(memory.RAM, ledger.Scratch.String(), r.Bytes-p.footprint.tower)
			continue
		}
		use := ledger.Program
		if r.Name == adapterReserve {
			use = ledger.Adapters
		}
		add(memory.RAM, use.String(), r.Bytes)
	}
	add(memory.RAM, ledger.Streamed.String(), pl.Ring.Bytes())
	if d := &need.Packing; d.Mode == pack.InMemory && !pl.Spills() && !pl.UsesVRAM() {
		source := min(d.Source, of[memory.RAM][mapped])
		add(memory.RAM, ledger.Packed.String(), d.Bytes)
		add(memory.RAM, mapped, -source)
		add(memory.SSD, "as packed", source)
	}
	var out []ledger.Part
	for _, t := range []memory.Tier{memory.VRAM, memory.RAM, memory.SSD} {
		for _, use := range []string{
			ledger.Program.String(), ledger.Weights.String(), mapped, ledger.Packed.String(), ledger.Streamed.String(), "experts",
			ledger.Cache.String(), ledger.Scratch.String(), ledger.Adapters.String(), "rows", "as packed",
		} {
			if n := of[t][use]; n > 0 {
				out = append(out, ledger.Part{Memory: t.Lower(), Use: use, Bytes: n})
			}
		}
	}
	return out, nil
}

// Map returns where the bytes of the process are now, and how many the system
// says that it has; 0 if that is not known.
func (e *Engine) Map() (parts []ledger.Part, resident int64) {
	program, files := ledger.Taken()
	ram := memory.RAM.Lower()
	parts = append(parts, ledger.Part{Memory: ram, Use: ledger.Program.String(), Bytes: program})
	if files > 0 {
		parts = append(parts, ledger.Part{Memory: ram, Use: mapped, Bytes: files})
	}
	for _, p := range ledger.Process.Parts(ram) {
		if p.Use != ledger.Program.String() { // it was measured as the system counts
			parts = append(parts, p)
		}
	}
	if w, _, _ := e.now(); w.Streamed > 0 {
		parts = append(parts, ledger.Part{Memory: memory.SSD.Lower(), Use: ledger.Weights.String(), Bytes: w.Streamed})
	}
	return parts, cpu.Resident()
}
