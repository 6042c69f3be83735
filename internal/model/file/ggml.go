package file

import (
	"fmt"
	"slices"
	"strconv"

	"atenia/tensor"
)

// ggmlTypes maps the type numbers of GGUF files (enum ggml_type of ggml.h) to
// element types. Missing numbers were removed from the format or are newer.
var ggmlTypes = [...]tensor.DType{
	0: tensor.F32, 1: tensor.F16, 2: tensor.Q4_0, 3: tensor.Q4_1,
	6: tensor.Q5_0, 7: tensor.Q5_1, 8: tensor.Q8_0, 9: tensor.Q8_1,
	10: tensor.Q2_K, 11: tensor.Q3_K, 12: tensor.Q4_K, 13: tensor.Q5_K, 14: tensor.Q6_K, 15: tensor.Q8_K,
	16: tensor.IQ2_XXS, 17: tensor.IQ2_XS, 18: tensor.IQ3_XXS, 19: tensor.IQ1_S, 20: tensor.IQ4_NL,
	21: tensor.IQ3_S, 22: tensor.IQ2_S, 23: tensor.IQ4_XS,
	24: tensor.I8, 25: tensor.I16, 26: tensor.I32, 27: tensor.I64, 28: tensor.F64,
	29: tensor.IQ1_M, 30: tensor.BF16, 34: tensor.TQ1_0, 35: tensor.TQ2_0, 39: tensor.MXFP4,
}

// ggmlRemoved names types that ggml has dropped but old files may have, and what
// to convert from.
var ggmlRemoved = map[uint32]string{
	4: "Q4_2", 5: "Q4_3",
	31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8",
	36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8",
}

// elementType converts a type number, read at off, to a DType.
func (p *parser) elementType(off int, id uint32) (tensor.DType, error) {
	if int64(id) < int64(len(ggmlTypes)) && ggmlTypes[id] != tensor.Invalid {
		return ggmlTypes[id], nil
	}
	if name, ok := ggmlRemoved[id]; ok {
		return 0, p.errorAt(off, "element type", "a type of the current format", fmt.Sprintf("%d (%s, removed)", id, name), "quantize the model again from its source")
	}
	return 0, p.errorAt(off, "element type", "a type number that ggml defines (0 to 39)", strconv.FormatUint(uint64(id), 10), "the file is damaged, or its type needs a newer Atenia")
}

// ggmlType returns the number of a type in a GGUF file; false if it has none.
func ggmlType(d tensor.DType) (uint32, bool) {
	i := slices.Index(ggmlTypes[:], d)
	return uint32(max(i, 0)), i >= 0 && d != tensor.Invalid
}
