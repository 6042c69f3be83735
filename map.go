package atenia

import (
	"atenia/internal/machine/ledger"
	"atenia/place"
)

// Map returns where the bytes of a run with a placement will live.
func (p *Plan) Map(pl *Placement) (*place.MemoryMap, error) {
	parts, err := p.compiled.Map(pl.placed)
	if err != nil {
		return nil, err
	}
	return newMap(parts, 0), nil
}

// Map returns where the bytes of the process are now.
func (m *Model) Map() *place.MemoryMap {
	x := newMap(m.engine.Map())
	x.Peak = ledger.Process.Peak()
	return x
}

func newMap(parts []ledger.Part, resident int64) *place.MemoryMap {
	return &place.MemoryMap{Parts: convertAll(parts, func(p ledger.Part) place.MemoryPart { return place.MemoryPart(p) }), Resident: resident}
}
