package exec

import (
	"fmt"
	"slices"

	"atenia/internal/plan"
	"atenia/internal/plan/pass"
	"atenia/tensor"
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

// onCPU is the backend for routing.
var onCPU pass.Backend = cpuBackend{}

type cpuBackend struct{}

func (cpuBackend) Name() string { return "cpu" }

// Capability reports an opcode's batch support: the CPU runs any batch of every
// opcode it supports.
func (cpuBackend) Capability(op plan.Opcode) (pass.AdapterCapability, bool) {
	return pass.AdapterCapability{Batch: true, Accept: holds}, cpuTable[op] != nil
}

// holds rejects an instruction with a value that registers cannot hold: they are float32.
// Row numbers are the step's own and need none.
func holds(p *plan.ExecutionPlan, i int) error {
	ins := &p.Instructions[i]
	for _, r := range slices.Concat(ins.In, ins.Out) {
		if s := &p.Registers[r]; s.DType.Float() && s.DType != tensor.F32 {
			return fmt.Errorf("r%d (%s) has type %s, registers hold %s", r, s.Name, s.DType, tensor.F32)
		}
	}
	return nil
}
