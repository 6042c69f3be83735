package quant

import (
	"fmt"
	"strings"
	"testing"

	"atenia/tensor"
)

func TestMixText(t *testing.T) {
	for _, m := range Mixes() {
		got, err := ParseMix(strings.ToUpper(m.String()))
		if err != nil || got != m {
			t.Errorf("%s: got %v, %v", m, got, err)
		}
		var u Mix
		if b, _ := m.MarshalText(); u.UnmarshalText(b) != nil || u != m {
			t.Errorf("%s: unmarshalled as %s", m, u)
		}
	}
	if len(Mixes()) != 20 || MixQ4_K_M.FileType() != 15 || MixMXFP4.FileType() != 38 {
		t.Error("numbers of llama.cpp moved")
	}
	_, err := ParseMix("q9")
	if want := `unknown quantization "q9", want one of f32 f16 bf16 q8_0 `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

// TestMixTypes shows a model of 16 blocks, width 1024, two key heads to eight
// query heads: for each role the types by block.
func TestMixTypes(t *testing.T) {
	square, narrow, down := tensor.Shape{1024, 1024}, tensor.Shape{256, 1024}, tensor.Shape{1024, 2816}
	types := func(m Mix, name string, s tensor.Shape) string {
		var out []string
		count := map[string]int{}
		for l := range 16 {
			d := m.TypeFor(fmt.Sprintf("blk.%d.%s", l, name), s, l, 16).String()
			if count[d]++; count[d] == 1 {
				out = append(out, d)
			}
		}
		for i, d := range out {
			out[i] = fmt.Sprintf("%s×%d", d, count[d])
		}
		return strings.Join(out, " ")
	}
	var got strings.Builder
	for _, m := range Mixes() {
		fmt.Fprintf(&got, "%s: out %s, embd %s, q %s, v %s, o %s, down %s\n", m,
			m.TypeFor("output.weight", square, 0, 16), m.TypeFor("token_embd.weight", square, 0, 16),
			types(m, "attn_q.weight", square), types(m, "attn_v.weight", narrow),
			types(m, "attn_output.weight", square), types(m, "ffn_down.weight", down))
	}
	want := `f32: out F32, embd F32, q F32×16, v F32×16, o F32×16, down F32×16
f16: out F16, embd F16, q F16×16, v F16×16, o F16×16, down F16×16
bf16: out BF16, embd BF16, q BF16×16, v BF16×16, o BF16×16, down BF16×16
q8_0: out Q8_0, embd Q8_0, q Q8_0×16, v Q8_0×16, o Q8_0×16, down Q8_0×16
q4_0: out Q6_K, embd Q4_0, q Q4_0×16, v Q4_0×16, o Q4_0×16, down Q4_0×16
q4_1: out Q6_K, embd Q4_1, q Q4_1×16, v Q4_1×16, o Q4_1×16, down Q4_1×16
q5_0: out Q6_K, embd Q5_0, q Q5_0×16, v Q5_0×16, o Q5_0×16, down Q5_0×16
q5_1: out Q6_K, embd Q5_1, q Q5_1×16, v Q5_1×16, o Q5_1×16, down Q5_1×16
q2_k: out Q6_K, embd Q2_K, q Q2_K×16, v Q4_K×16, o Q3_K×16, down Q3_K×16
q3_k_s: out Q6_K, embd Q3_K, q Q3_K×16, v Q3_K×16, o Q3_K×16, down Q3_K×16
q3_k_m: out Q6_K, embd Q3_K, q Q3_K×16, v Q5_K×2 Q4_K×14, o Q4_K×16, down Q5_K×1 Q4_K×15
q3_k_l: out Q6_K, embd Q3_K, q Q3_K×16, v Q5_K×16, o Q5_K×16, down Q5_K×16
q4_k_s: out Q6_K, embd Q4_K, q Q4_K×16, v Q5_K×4 Q4_K×12, o Q4_K×16, down Q5_K×2 Q4_K×14
q4_k_m: out Q6_K, embd Q4_K, q Q4_K×16, v Q6_K×8 Q4_K×8, o Q4_K×16, down Q6_K×8 Q4_K×8
q5_k_s: out Q6_K, embd Q5_K, q Q5_K×16, v Q5_K×16, o Q5_K×16, down Q5_K×16
q5_k_m: out Q6_K, embd Q5_K, q Q5_K×16, v Q6_K×8 Q5_K×8, o Q5_K×16, down Q6_K×8 Q5_K×8
q6_k: out Q6_K, embd Q6_K, q Q6_K×16, v Q6_K×16, o Q6_K×16, down Q6_K×16
iq4_nl: out Q6_K, embd IQ4_NL, q IQ4_NL×16, v Q5_K×16, o IQ4_NL×16, down Q5_K×2 IQ4_NL×14
iq4_xs: out Q6_K, embd IQ4_XS, q IQ4_XS×16, v Q5_K×16, o IQ4_XS×16, down Q5_K×2 IQ4_XS×14
mxfp4: out Q8_0, embd Q8_0, q Q8_0×16, v Q8_0×16, o Q8_0×16, down Q8_0×16
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestMixExceptions(t *testing.T) {
	for _, c := range []struct {
		mix   Mix
		name  string
		shape tensor.Shape
		want  tensor.DType
	}{
		{MixQ4_K_M, "blk.3.attn_norm.weight", tensor.Shape{1024}, tensor.F32},
		{MixQ4_K_M, "blk.3.attn_k.bias", tensor.Shape{1, 1024}, tensor.F32},
		{MixF16, "blk.3.attn_q_norm.weight", tensor.Shape{8, 128}, tensor.F32},
		{MixF16, "blk.3.ffn_gate_inp.weight", tensor.Shape{64, 1024}, tensor.F32},
		{MixQ8_0, "blk.3.ssm_conv1d.weight", tensor.Shape{2048, 32}, tensor.F32},
		{MixQ8_0, "blk.3.time_mix_w1.weight", tensor.Shape{64, 1024}, tensor.F32},
		{MixQ8_0, "blk.3.time_mix_lerp_fused.weight", tensor.Shape{6, 1, 1, 1024}, tensor.F32},
		{MixQ8_0, "blk.3.time_mix_value.weight", tensor.Shape{1024, 1024}, tensor.Q8_0},
		{MixQ4_K_S, "blk.8.attn_q.weight", tensor.Shape{1024, 96}, tensor.Q5_0},
		{MixQ5_K_S, "blk.8.attn_q.weight", tensor.Shape{1024, 96}, tensor.Q5_1},
		{MixQ6_K, "blk.8.attn_q.weight", tensor.Shape{1024, 96}, tensor.Q8_0},
		{MixQ2_K, "blk.8.attn_q.weight", tensor.Shape{1024, 96}, tensor.IQ4_NL},
		{MixQ3_K_S, "blk.8.attn_q.weight", tensor.Shape{1024, 96}, tensor.IQ4_NL},
		{MixIQ4_XS, "blk.8.attn_q.weight", tensor.Shape{1024, 96}, tensor.IQ4_NL},
		{MixQ8_0, "blk.8.attn_q.weight", tensor.Shape{1024, 100}, tensor.F16},
		{MixQ4_K_M, "output.weight", tensor.Shape{1000, 100}, tensor.F16},
		{MixQ4_0, "output.weight", tensor.Shape{1000, 96}, tensor.Q8_0},
		{MixMXFP4, "blk.8.ffn_up_exps.weight", tensor.Shape{8, 512, 1024}, tensor.MXFP4},
		{Mix(99), "output.weight", tensor.Shape{512, 512}, tensor.F32},
	} {
		if got := c.mix.TypeFor(c.name, c.shape, 8, 16); got != c.want {
			t.Errorf("%s %s %v: got %s, want %s", c.mix, c.name, c.shape, got, c.want)
		}
	}
}
