package atenia

import (
	"atenia/internal/cpu"
	"atenia/internal/pack"
)

// A Packing says whether a model's weights are packed, that is, copied to the
// order in which kernels stream them, and with which numbers that was decided.
type Packing = pack.Decision

// Packing returns what was decided when the model was opened.
func (m *Model) Packing() Packing { return m.packing }

// usualReserve is memory that packed weights leave to whoever else needs some.
const usualReserve = 256 << 20

// packConfig lets packed weights take what memory there is, less what caches
// may grow to.
func (m *Model) packConfig() pack.Config {
	mode, _ := pack.ParseMode(m.cfg.Pack) // checked by withDefaults
	available := cpu.AvailableMemory()
	fixed, perToken := m.Plan().StateBytes()
	cache := int64(fixed+perToken*uint64(m.context())) * int64(m.cfg.Slots)
	if m.cfg.CacheBytes > 0 {
		cache = min(cache, m.cfg.CacheBytes)
	}
	return pack.Config{
		Mode: mode, Available: available, Reserve: max(usualReserve, available/16) + cache,
		Release: m.desc.Release,
	}
}
