package exec

//go:generate go run -C ../../tools ./adapters -o ../internal/exec/zadapters.go -package exec

import (
	"atenia/plan"
	"atenia/plan/pass"
)

// cpuTable says what the CPU does for every opcode. Families that need the
// opcodes written nil are refused when a plan is routed, before any weight is
// read.
var cpuTable = NewAdapterTable(
	bindNorm,
	bindAttention,
	bindFFN,
	bindMoE,
	nil, // mamba2
	nil, // shortconv
	nil, // mla
	bindEmbedding,
	bindResidualAdd,
	bindLMHead,
	bindGatherRows,
	nil, // pool
	nil, // vision_patch_embed
	nil, // vision_spatial_merge
	nil, // vision_deepstack_extract
	nil, // vision_scatter
	nil, // deepstack_inject
	nil, // gated_delta
	nil, // mamba1
	nil, // cross_attention
	nil, // conv_stem
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
