package memory

import (
	"context"

	"atenia/internal/store/blob"
)

// Internals that tests inspect or damage.

// Peek returns the bytes behind a tensor in RAM or on SSD without looking at
// the length that it was registered with.
func (m *Manager) Peek(id string) ([]byte, error) {
	switch st := m.tensors[id].st.(type) {
	case inRAM:
		return st.data, nil
	case onSSD:
		return m.readFile(context.Background(), id, st.file)
	}
	return nil, nil
}

// File returns the path of a tensor's file and what describes it.
func (m *Manager) File(id string) (path string, meta blob.Meta, ok bool) {
	r := m.tensors[id]
	if r == nil {
		return "", blob.Meta{}, false
	}
	st, ok := r.st.(onSSD)
	return st.file.path, st.file.meta, ok
}

// Unsum makes the description of a tensor's file one without checksums, as
// files of older programs have.
func (m *Manager) Unsum(id string) {
	r := m.tensors[id]
	st := r.st.(onSSD)
	st.file.meta.Hash, st.file.meta.Chunks = blob.Hash{}, nil
	r.st = st
}

// SetFootprint changes the length that a tensor was registered with.
func (m *Manager) SetFootprint(id string, n uint64) { m.tensors[id].bytes = n }

// RegisterCoded is RegisterData on SSD with a codec.
func (m *Manager) RegisterCoded(id string, data []byte, c blob.Codec) error {
	return m.register(context.Background(), id, uint64(len(data)), nil, func(r *residence) (state, *reservation, error) {
		st, err := m.write(context.Background(), id, data, c)
		return st, nil, err
	})
}

const RuleAllCritical = ruleAllCritical
const RuleHighPressure = ruleHighPressure
const RuleHighVRAM = ruleHighVRAM
const RuleHugeToRAM = ruleHugeToRAM
const RuleNoDevice = ruleNoDevice
const RuleNoReliability = ruleNoReliability
const RuleSafeVRAM = ruleSafeVRAM
const RuleVeryHighRAM = ruleVeryHighRAM

type BudgetError = budgetError

var ErrIO = errIO
var ErrLeased = errLeased
var ErrUnsupported = errUnsupported
var PlacementPressures = placementPressures
