package exec

import (
	"atenia/internal/plan"
	"atenia/internal/plan/pass"
)

// cpuTable says what the CPU does for every opcode that an executor runs.
// Families that need others are refused when a plan is routed, before any
// weight is read.
var cpuTable = plan.NewAdapterTable(
	bindNorm,
	bindAttention,
	bindFFN,
	bindMoE,
	bindEmbedding,
	bindResidualAdd,
	bindLMHead,
	bindGatherRows,
)

// CPU is the backend as routing sees it.
var CPU pass.Backend = cpuBackend{}

type cpuBackend struct{}

func (cpuBackend) Name() string { return "cpu" }

// Capability reports an opcode's batch support: the CPU takes any batch for
// whatever it runs at all.
func (cpuBackend) Capability(op plan.Opcode) (pass.Capability, bool) {
	return pass.Capability{Batch: true}, cpuTable[op] != nil
}
