package quant

import (
	"fmt"
	"strings"

	"atenia/tensor"
)

// A Mix selects the element type of each tensor of a model. The zero value is
// F32. Names are those of llama.cpp in lower case.
type Mix uint8

// The mixes. S, M and L say how many tensors get more bits than the name says:
// few, some, many.
const (
	MixF32 Mix = iota
	MixF16
	MixBF16
	MixQ8_0
	MixQ4_0
	MixQ4_1
	MixQ5_0
	MixQ5_1
	MixQ2_K
	MixQ3_K_S
	MixQ3_K_M
	MixQ3_K_L
	MixQ4_K_S
	MixQ4_K_M
	MixQ5_K_S
	MixQ5_K_M
	MixQ6_K
	MixIQ4_NL
	MixIQ4_XS
	MixMXFP4
	numMixes
)

// mixes describes every mix. file is llama.cpp's number for it, the
// general.file_type of a GGUF file.
var mixes = [numMixes]struct {
	name string
	base tensor.DType // type of most tensors
	file uint32
}{
	MixF32:    {"f32", tensor.F32, 0},
	MixF16:    {"f16", tensor.F16, 1},
	MixBF16:   {"bf16", tensor.BF16, 32},
	MixQ8_0:   {"q8_0", tensor.Q8_0, 7},
	MixQ4_0:   {"q4_0", tensor.Q4_0, 2},
	MixQ4_1:   {"q4_1", tensor.Q4_1, 3},
	MixQ5_0:   {"q5_0", tensor.Q5_0, 8},
	MixQ5_1:   {"q5_1", tensor.Q5_1, 9},
	MixQ2_K:   {"q2_k", tensor.Q2_K, 10},
	MixQ3_K_S: {"q3_k_s", tensor.Q3_K, 11},
	MixQ3_K_M: {"q3_k_m", tensor.Q3_K, 12},
	MixQ3_K_L: {"q3_k_l", tensor.Q3_K, 13},
	MixQ4_K_S: {"q4_k_s", tensor.Q4_K, 14},
	MixQ4_K_M: {"q4_k_m", tensor.Q4_K, 15},
	MixQ5_K_S: {"q5_k_s", tensor.Q5_K, 16},
	MixQ5_K_M: {"q5_k_m", tensor.Q5_K, 17},
	MixQ6_K:   {"q6_k", tensor.Q6_K, 18},
	MixIQ4_NL: {"iq4_nl", tensor.IQ4_NL, 25},
	MixIQ4_XS: {"iq4_xs", tensor.IQ4_XS, 30},
	MixMXFP4:  {"mxfp4", tensor.MXFP4, 38},
}

// Mixes returns all mixes, in the order of their declaration.
func Mixes() []Mix {
	all := make([]Mix, numMixes)
	for i := range all {
		all[i] = Mix(i)
	}
	return all
}

// String returns the name, "q4_k_m".
func (m Mix) String() string {
	if m < numMixes {
		return mixes[m].name
	}
	return fmt.Sprintf("Mix(%d)", uint8(m))
}

// ParseMix reads what [Mix.String] prints, in any case.
func ParseMix(s string) (Mix, error) {
	low := strings.ToLower(s)
	names := make([]string, numMixes)
	for m := range numMixes {
		if names[m] = mixes[m].name; names[m] == low {
			return m, nil
		}
	}
	return 0, fmt.Errorf("unknown quantization %q, want one of %s", s, strings.Join(names, " "))
}

// MarshalText implements [encoding.TextMarshaler].
func (m Mix) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (m *Mix) UnmarshalText(b []byte) (err error) {
	*m, err = ParseMix(string(b))
	return err
}

// FileType returns llama.cpp's number for the mix, which is stored in a GGUF
// file as general.file_type.
func (m Mix) FileType() uint32 {
	if m < numMixes {
		return mixes[m].file
	}
	return 0
}

// TypeFor returns the element type for a tensor, given its GGUF name, its shape
// with the outermost axis first, and its block layer of layers (ignored for
// tensors outside of blocks).
//
// A model with tied embeddings has no tensor "output.weight"; for its
// "token_embd.weight" the caller passes "output.weight" instead, because the
// matrix is used as both.
func (m Mix) TypeFor(name string, shape tensor.Shape, layer, layers int) tensor.DType {
	if m >= numMixes || !quantizable(name, shape) {
		return tensor.F32
	}
	d := mixes[m].base
	if d.Quantized() {
		d = m.upgrade(d, roleOf(name), shape, layer, layers)
	}
	return fallback(d, shape.Cols())
}

// keep lists parts of names of tensors that are never quantized: small, or read
// value by value.
var keep = []string{
	"_norm.", "ffn_gate_inp.", "position_embd", "token_types", "rope_freqs", "rope_factors",
	"ssm_conv1d", "shortconv.conv", "ssm_a", "ssm_d.", "attn_rel_b",
	"time_mix_first", "time_mix_w", "time_mix_v0", "time_mix_v1", "time_mix_v2", "time_mix_a", "time_mix_g1", "time_mix_g2", "time_mix_decay_w", "time_mix_lerp",
	"altup", "laurel", "per_layer_model_proj", "patch_embd", "attn_sinks",
}

// quantizable reports whether a tensor may be stored in a type other than F32.
func quantizable(name string, shape tensor.Shape) bool {
	axes := 0
	for _, n := range shape {
		if n > 1 || axes > 0 { // leading axes of length 1 do not count
			axes++
		}
	}
	if axes < 2 || !strings.HasSuffix(name, "weight") {
		return false
	}
	for _, part := range keep {
		if strings.Contains(name, part) {
			return false
		}
	}
	return true
}

// A role is the function of a tensor, as far as mixes distinguish it.
type role uint8

const (
	other role = iota
	output
	embedding
	attnV // also fused matrices that include the values'
	attnOut
	ffnDown
)

func roleOf(name string) role {
	has := func(part string) bool { return strings.Contains(name, part) }
	switch {
	case name == "output.weight":
		return output
	case name == "token_embd.weight", name == "per_layer_token_embd.weight":
		return embedding
	case has("attn_v.weight"), has("attn_qkv.weight"), has("attn_kv_b.weight"):
		return attnV
	case has("attn_output.weight"):
		return attnOut
	case has("ffn_down"):
		return ffnDown
	}
	return other
}

// moreBits selects the blocks whose errors matter most: the first and last
// eighth and every third in between.
func moreBits(layer, layers int) bool {
	return layer < layers/8 || layer >= 7*layers/8 || (layer-layers/8)%3 == 2
}

// upgrade applies the mix's exceptions to the base type d.
func (m Mix) upgrade(d tensor.DType, r role, shape tensor.Shape, layer, layers int) tensor.DType {
	switch {
	case r == output:
		if m == MixMXFP4 || m == MixQ8_0 {
			return tensor.Q8_0
		}
		return tensor.Q6_K
	case m == MixMXFP4: // experts only: the other tensors are small and sensitive
		if len(shape) > 2 {
			return tensor.MXFP4
		}
		return tensor.Q8_0
	case r == embedding:
		return d
	}
	first := layer < layers/8
	// With grouped-query attention the value matrix is small and shared by several
	// query heads, so more bits are cheap.
	shared := shape.Cols() >= 4*shape.Rows()
	switch m {
	case MixQ2_K:
		switch {
		case r == attnV && shared:
			return tensor.Q4_K
		case r != other:
			return tensor.Q3_K
		}
	case MixQ3_K_M:
		switch {
		case r == attnV && layer < 2, r == ffnDown && layer < layers/16:
			return tensor.Q5_K
		case r != other:
			return tensor.Q4_K
		}
	case MixQ3_K_L:
		if r != other {
			return tensor.Q5_K
		}
	case MixQ4_K_S:
		if r == attnV && layer < 4 || r == ffnDown && first {
			return tensor.Q5_K
		}
	case MixQ4_K_M, MixQ5_K_M:
		if (r == attnV || r == ffnDown) && moreBits(layer, layers) {
			return tensor.Q6_K
		}
	case MixIQ4_NL, MixIQ4_XS:
		if r == attnV && shared || r == ffnDown && first {
			return tensor.Q5_K
		}
	}
	return d
}

// smaller maps types with blocks of 256 values to the type with blocks of 32
// that is used if the columns do not divide.
var smaller = map[tensor.DType]tensor.DType{
	tensor.Q2_K:   tensor.IQ4_NL,
	tensor.Q3_K:   tensor.IQ4_NL,
	tensor.IQ4_XS: tensor.IQ4_NL,
	tensor.Q4_K:   tensor.Q5_0,
	tensor.Q5_K:   tensor.Q5_1,
	tensor.Q6_K:   tensor.Q8_0,
}

// fallback returns d, or its replacement for rows of cols values if d does not
// fit.
func fallback(d tensor.DType, cols int) tensor.DType {
	if _, err := d.RowBytes(cols); err == nil {
		return d
	}
	d, ok := smaller[d]
	if _, err := d.RowBytes(cols); ok && err == nil {
		return d
	}
	return tensor.F16
}
