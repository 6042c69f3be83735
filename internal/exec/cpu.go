package exec

import (
	"atenia/internal/plan"
	"atenia/internal/plan/pass"
)

// cpuTable has the CPU's adapter for every opcode. Families that need others
// are rejected when a plan is routed, before any weight is read.
var cpuTable = plan.NewAdapterTable(
	bindNorm,
	bindAttention,
	bindFFN,
	bindMoE,
	bindMamba2,
	bindShortConv,
	bindMLA,
	bindEmbedding,
	bindResidualAdd,
	bindLMHead,
	bindGatherRows,
	bindPool,
	bindPatchEmbed,
	bindSpatialMerge,
	bindDeepstackTap,
	bindVisionScatter,
	bindDeepstackInject,
	bindGatedDelta,
	bindMamba1,
	bindCrossAttention,
	bindConvStem,
	bindRWKVValue,
	bindRWKVTimeMix,
	bindRWKVChannelMix,
)

// Devices returns the ids of the devices on which a backend of this binary computes: none
// does yet.
func Devices() []string { return nil }

// CPU is the backend for routing.
var CPU pass.Backend = cpuBackend{}

type cpuBackend struct{}

func (cpuBackend) Name() string { return "cpu" }

// Capability reports an opcode's batch support: the CPU runs any batch of every
// opcode it supports.
func (cpuBackend) Capability(op plan.Opcode) (pass.Capability, bool) {
	return pass.Capability{Batch: true}, cpuTable[op] != nil
}
