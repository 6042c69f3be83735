package plan

import "fmt"

// An Opcode names one macro-operation. It indexes adapter tables of 256
// entries. The numbers never change: 0–8 and 16–19 are those of the original
// contract, 9–11 and 20 complete whole-model plans, new macro-operations take
// 32–63, and 64–127 stay reserved for primitives.
type Opcode uint8

// The opcodes; see [Specs] for their operands.
const (
	OpNorm        Opcode = 0 // root-mean-square or layer norm, by NormParams.Kind
	OpAttention   Opcode = 1
	OpFFN         Opcode = 2 // gated or plain feed-forward, by FFNParams.Gated
	OpMoE         Opcode = 3
	OpMamba2      Opcode = 4
	OpShortConv   Opcode = 5
	OpMLA         Opcode = 6
	OpEmbedding   Opcode = 7
	OpResidualAdd Opcode = 8
	OpLMHead      Opcode = 9
	OpGatherRows  Opcode = 10
	OpPool        Opcode = 11

	OpPatchEmbed      Opcode = 16
	OpSpatialMerge    Opcode = 17
	OpDeepstackTap    Opcode = 18
	OpVisionScatter   Opcode = 19
	OpDeepstackInject Opcode = 20

	OpGatedDelta Opcode = 32
	OpMamba1     Opcode = 33
	OpCrossAttn  Opcode = 34
	OpConvStem   Opcode = 35

	OpRWKVValue      Opcode = 36 // the first layer's values, which others read
	OpRWKVTimeMix    Opcode = 37
	OpRWKVChannelMix Opcode = 38
)

// String returns the name in [Specs], or "op77" for a number without one.
func (o Opcode) String() string {
	if s := Specs.Get(o); s != nil {
		return s.Name
	}
	return fmt.Sprintf("op%d", uint8(o))
}

// parseOpcode reads what [Opcode.String] prints for a known opcode.
func parseOpcode(name string) (Opcode, bool) {
	for _, s := range Specs {
		if s != nil && s.Name == name {
			return s.Op, true
		}
	}
	return 0, false
}

// A Mode is the stage of a model that a plan runs.
type Mode uint8

// The modes.
const (
	ModeDecode       Mode = iota // one token per slot
	ModePrefill                  // ragged runs of tokens
	ModeVisionEncode             // image patches to image embeddings
	ModeScatter                  // image embeddings into token embeddings
	NumModes
)

var modeNames = [NumModes]string{"decode", "prefill", "vision_encode", "scatter"}

// String returns "decode", "prefill", "vision_encode" or "scatter".
func (m Mode) String() string {
	if m < NumModes {
		return modeNames[m]
	}
	return fmt.Sprintf("mode%d", uint8(m))
}

// A ModeSet is a set of modes.
type ModeSet uint8

// modes returns the set of the given modes.
func modes(ms ...Mode) (s ModeSet) {
	for _, m := range ms {
		s |= 1 << m
	}
	return s
}

// Has reports whether m is in the set.
func (s ModeSet) Has(m Mode) bool { return s&(1<<m) != 0 }
