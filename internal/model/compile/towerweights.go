package compile

import "strings"

// tower returns a weight of an image tower with its names in Hugging Face
// files, of which the first that exists is used.
func tower(id, shape, cond, gguf string, hf ...string) WeightSpec {
	s := WeightSpec{ID: id, Shape: shape, If: cond, GGUF: []Origin{{Name: gguf}}}
	for _, n := range hf {
		s.HF = append(s.HF, Origin{Name: n})
	}
	return s
}

// exchanged gives a part of a feed-forward layer the name that old GGUF files have
// for it.
func (s WeightSpec) exchanged() WeightSpec {
	name := s.GGUF[0].Name
	before, after, down := strings.Cut(name, "ffn_down")
	other := before + "ffn_up" + after
	if !down {
		before, after, _ = strings.Cut(name, "ffn_up")
		other = before + "ffn_down" + after
	}
	s.GGUF = []Origin{{Name: name, If: "v.straight"}, {Name: other, If: "v.exchanged"}}
	return s
}

func (s WeightSpec) hf(names ...string) WeightSpec {
	s.HF = nil
	for _, n := range names {
		s.HF = append(s.HF, Origin{Name: n})
	}
	return s
}

// of sets the shape that all origins have in their files.
func (s WeightSpec) of(hf, gguf string) WeightSpec {
	for i := range s.HF {
		s.HF[i].Of = hf
	}
	for i := range s.GGUF {
		s.GGUF[i].Of = gguf
	}
	return s
}

func (s WeightSpec) rows(lo, hi, hf, gguf string) WeightSpec {
	s = s.of(hf, gguf)
	for i := range s.HF {
		s.HF[i].Rows = [2]string{lo, hi}
	}
	if gguf != "" {
		for i := range s.GGUF {
			s.GGUF[i].Rows = [2]string{lo, hi}
		}
	}
	return s
}

// turned returns origins whose files have the given shape, rows and columns
// exchanged.
func turned(shape string, names ...string) (os []Origin) {
	for _, n := range names {
		os = append(os, Origin{Name: n, Of: shape, Turn: true})
	}
	return os
}

const (
	vBlock = "v.blk.{l}."
)

// qwenV returns the names of a tensor of qwen's towers.
func qwenV(name string) []string { return []string{"visual." + name, "model.visual." + name} }

func siglipV(name string) []string {
	return []string{"vision_tower.vision_model." + name, "model.vision_tower.vision_model." + name, "model.vision_tower." + name, "vision_tower." + name}
}

// qwenTowerWeights are what qwen's towers share.
var qwenTowerWeights = WeightMap{
	tower("v.patch", "v.d,v.p", "", "v.patch_embd.weight", qwenV("patch_embed.proj.weight")...).of("v.d,v.c,v.t,v.P,v.P", "v.d,v.c,v.P,v.P").frames(),
	tower("v.patch_bias", "v.d", "v.any", "v.patch_embd.bias", qwenV("patch_embed.proj.bias")...),
	tower("v.pos", "v.g,v.d", "v.pos", "v.position_embd.weight", qwenV("pos_embed.weight")...),
	tower("v.ln1", "v.d", "", vBlock+"ln1.weight", qwenV("blocks.{l}.norm1.weight")...),
	tower("v.ln2", "v.d", "", vBlock+"ln2.weight", qwenV("blocks.{l}.norm2.weight")...),
	tower("v.ln1_bias", "v.d", "v.any", vBlock+"ln1.bias", qwenV("blocks.{l}.norm1.bias")...),
	tower("v.ln2_bias", "v.d", "v.any", vBlock+"ln2.bias", qwenV("blocks.{l}.norm2.bias")...),
	tower("v.q", "v.d,v.d", "", vBlock+"attn_q.weight", qwenV("blocks.{l}.attn.qkv.weight")...).rows("0", "v.d", "3*v.d,v.d", ""),
	tower("v.k", "v.d,v.d", "", vBlock+"attn_k.weight", qwenV("blocks.{l}.attn.qkv.weight")...).rows("v.d", "2*v.d", "3*v.d,v.d", ""),
	tower("v.v", "v.d,v.d", "", vBlock+"attn_v.weight", qwenV("blocks.{l}.attn.qkv.weight")...).rows("2*v.d", "3*v.d", "3*v.d,v.d", ""),
	tower("v.q_bias", "v.d", "", vBlock+"attn_q.bias", qwenV("blocks.{l}.attn.qkv.bias")...).rows("0", "v.d", "3*v.d", ""),
	tower("v.k_bias", "v.d", "", vBlock+"attn_k.bias", qwenV("blocks.{l}.attn.qkv.bias")...).rows("v.d", "2*v.d", "3*v.d", ""),
	tower("v.v_bias", "v.d", "", vBlock+"attn_v.bias", qwenV("blocks.{l}.attn.qkv.bias")...).rows("2*v.d", "3*v.d", "3*v.d", ""),
	tower("v.o", "v.d,v.d", "", vBlock+"attn_out.weight", qwenV("blocks.{l}.attn.proj.weight")...),
	tower("v.o_bias", "v.d", "", vBlock+"attn_out.bias", qwenV("blocks.{l}.attn.proj.bias")...),
}

func (s WeightSpec) frames() WeightSpec {
	for i := range s.GGUF {
		s.GGUF[i].Frames = true
	}
	return s
}

// fusedQKV is the projections of qwen's later towers, which GGUF keeps in one
// tensor, too.
var fusedQKV = func() (m WeightMap) {
	for i, id := range []string{"q", "k", "v"} {
		lo, hi := []string{"0", "v.d", "2*v.d"}[i], []string{"v.d", "2*v.d", "3*v.d"}[i]
		m = append(m,
			tower("v."+id, "v.d,v.d", "", vBlock+"attn_qkv.weight", qwenV("blocks.{l}.attn.qkv.weight")...).rows(lo, hi, "3*v.d,v.d", "3*v.d,v.d"),
			tower("v."+id+"_bias", "v.d", "", vBlock+"attn_qkv.bias", qwenV("blocks.{l}.attn.qkv.bias")...).rows(lo, hi, "3*v.d", "3*v.d"))
	}
	return m
}()

// plainFFN and gatedFFN are feed-forward layers of qwen's towers.
func plainFFN(up, down string) WeightMap {
	return WeightMap{
		tower("v.up", "v.I,v.d", "", vBlock+"ffn_up.weight", qwenV("blocks.{l}."+up+".weight")...).exchanged(),
		tower("v.up_bias", "v.I", "", vBlock+"ffn_up.bias", qwenV("blocks.{l}."+up+".bias")...).exchanged(),
		tower("v.down", "v.d,v.I", "", vBlock+"ffn_down.weight", qwenV("blocks.{l}."+down+".weight")...).exchanged(),
		tower("v.down_bias", "v.d", "", vBlock+"ffn_down.bias", qwenV("blocks.{l}."+down+".bias")...).exchanged(),
	}
}

var gatedFFN = append(plainFFN("mlp.up_proj", "mlp.down_proj"),
	tower("v.gate", "v.I,v.d", "", vBlock+"ffn_gate.weight", qwenV("blocks.{l}.mlp.gate_proj.weight")...),
	tower("v.gate_bias", "v.I", "", vBlock+"ffn_gate.bias", qwenV("blocks.{l}.mlp.gate_proj.bias")...),
)

// merger is qwen's projector: a norm of each patch and two products of the
// joined ones.
func merger(norm, fc1, fc2 string) WeightMap {
	return WeightMap{
		tower("mm.norm", "v.d", "", "v.post_ln.weight", qwenV(norm+".weight")...),
		tower("mm.norm_bias", "v.d", "v.any", "v.post_ln.bias", qwenV(norm+".bias")...),
		tower("mm.fc1", "v.h,v.m", "", "mm.0.weight", qwenV(fc1+".weight")...),
		tower("mm.fc1_bias", "v.h", "", "mm.0.bias", qwenV(fc1+".bias")...),
		tower("mm.fc2", "d,v.h", "", "mm.2.weight", qwenV(fc2+".weight")...),
		tower("mm.fc2_bias", "d", "", "mm.2.bias", qwenV(fc2+".bias")...),
	}
}

// qwen3TowerWeights are the mergers of inner layers.
var qwen3TowerWeights = WeightMap{
	tower("v.deep_norm", "v.m", "", "v.deepstack.{l}.norm.weight", qwenV("deepstack_merger_list.{k}.norm.weight")...),
	tower("v.deep_norm_bias", "v.m", "", "v.deepstack.{l}.norm.bias", qwenV("deepstack_merger_list.{k}.norm.bias")...),
	tower("v.deep_fc1", "v.m,v.m", "", "v.deepstack.{l}.fc1.weight", qwenV("deepstack_merger_list.{k}.linear_fc1.weight")...),
	tower("v.deep_fc1_bias", "v.m", "", "v.deepstack.{l}.fc1.bias", qwenV("deepstack_merger_list.{k}.linear_fc1.bias")...),
	tower("v.deep_fc2", "d,v.m", "", "v.deepstack.{l}.fc2.weight", qwenV("deepstack_merger_list.{k}.linear_fc2.weight")...),
	tower("v.deep_fc2_bias", "d", "", "v.deepstack.{l}.fc2.bias", qwenV("deepstack_merger_list.{k}.linear_fc2.bias")...),
}

// lastChannels returns s for folders that list the channels of each pixel; here,
// and in GGUF files, the pixels of each channel are listed.
func lastChannels(s WeightSpec) WeightSpec {
	for i := range s.HF {
		s.HF[i].View, s.HF[i].Turn = "v.d,v.P*v.P,v.c", true
	}
	return s
}

// siglipWeights are the layers of SigLIP.
var siglipWeights = func() WeightMap {
	const l = "encoder.layers.{l}."
	m := WeightMap{
		tower("v.pos", "v.g,v.d", "v.pos", "v.position_embd.weight", siglipV("embeddings.position_embedding.weight")...),
		tower("v.patch_bias", "v.d", "v.any", "v.patch_embd.bias", siglipV("embeddings.patch_embedding.bias")...),
		tower("v.post_ln", "v.d", "", "v.post_ln.weight", siglipV("post_layernorm.weight")...),
		tower("v.post_ln_bias", "v.d", "", "v.post_ln.bias", siglipV("post_layernorm.bias")...),
	}
	for _, x := range []struct{ id, rows, cols, gguf, hf string }{
		{"v.ln1", "v.d", "", "ln1", "layer_norm1"}, {"v.ln2", "v.d", "", "ln2", "layer_norm2"},
		{"v.q", "v.d", "v.d", "attn_q", "self_attn.q_proj"}, {"v.k", "v.d", "v.d", "attn_k", "self_attn.k_proj"},
		{"v.v", "v.d", "v.d", "attn_v", "self_attn.v_proj"}, {"v.o", "v.d", "v.d", "attn_out", "self_attn.out_proj"},
		{"v.up", "v.I", "v.d", "ffn_up", "mlp.fc1"}, {"v.down", "v.d", "v.I", "ffn_down", "mlp.fc2"},
	} {
		shape := x.rows
		if x.cols != "" {
			shape += "," + x.cols
		}
		weight := tower(x.id, shape, "", vBlock+x.gguf+".weight", siglipV(l+x.hf+".weight")...)
		bias := tower(x.id+"_bias", x.rows, "", vBlock+x.gguf+".bias", siglipV(l+x.hf+".bias")...)
		if strings.HasPrefix(x.gguf, "ffn_") {
			weight, bias = weight.exchanged(), bias.exchanged()
		}
		m = append(m, weight, bias)
	}
	return m
}()

// The first is a convolution, the second a product of pixels, channels last.
var (
	siglipPatches = WeightMap{tower("v.patch", "v.d,v.p", "", "v.patch_embd.weight", siglipV("embeddings.patch_embedding.weight")...).of("v.d,v.c,v.P,v.P", "v.d,v.c,v.P,v.P")}
	naflexPatches = WeightMap{lastChannels(tower("v.patch", "v.d,v.p", "", "v.patch_embd.weight", siglipV("embeddings.patch_embedding.weight")...).of("v.d,v.p", "v.d,v.c,v.P,v.P"))}
)

// pixtralWeights have no biases but the projector's.
var pixtralWeights = func() WeightMap {
	names := func(name string) []string { return []string{name, "model." + name} }
	const t, p = "vision_tower.", "multi_modal_projector."
	merge := tower("mm.merge", "v.d,v.m", "", "mm.patch_merger.weight", names(p+"patch_merger.merging_layer.weight")...).of("v.d,v.m", "v.d,v.m")
	for _, os := range [][]Origin{merge.HF, merge.GGUF} { // the patches of each feature are listed
		for i := range os {
			os[i].View, os[i].Turn = "v.d,v.d,v.k", true
		}
	}
	m := WeightMap{
		tower("v.patch", "v.d,v.p", "", "v.patch_embd.weight", names(t+"patch_conv.weight")...).of("v.d,v.c,v.P,v.P", "v.d,v.c,v.P,v.P"),
		tower("v.pre_ln", "v.d", "", "v.pre_ln.weight", names(t+"ln_pre.weight")...),
		tower("mm.norm", "v.d", "", "mm.input_norm.weight", names(p+"norm.weight")...),
		merge,
		tower("mm.fc1", "d,v.d", "", "mm.1.weight", names(p+"linear_1.weight")...),
		tower("mm.fc1_bias", "d", "v.any", "mm.1.bias", names(p+"linear_1.bias")...),
		tower("mm.fc2", "d,d", "", "mm.2.weight", names(p+"linear_2.weight")...),
		tower("mm.fc2_bias", "d", "v.any", "mm.2.bias", names(p+"linear_2.bias")...),
	}
	for _, x := range []struct{ id, shape, gguf, hf string }{
		{"v.ln1", "v.d", "ln1", "attention_norm"}, {"v.ln2", "v.d", "ln2", "ffn_norm"},
		{"v.q", "v.d,v.d", "attn_q", "attention.q_proj"}, {"v.k", "v.d,v.d", "attn_k", "attention.k_proj"},
		{"v.v", "v.d,v.d", "attn_v", "attention.v_proj"}, {"v.o", "v.d,v.d", "attn_out", "attention.o_proj"},
		{"v.gate", "v.I,v.d", "ffn_gate", "feed_forward.gate_proj"}, {"v.up", "v.I,v.d", "ffn_up", "feed_forward.up_proj"},
		{"v.down", "v.d,v.I", "ffn_down", "feed_forward.down_proj"},
	} {
		s := tower(x.id, x.shape, "", vBlock+x.gguf+".weight", names(t+"transformer.layers.{l}."+x.hf+".weight")...)
		if x.id == "v.q" || x.id == "v.k" {
			s.Heads, s.GGUF[0].Pick = "v.H", halves
		}
		m = append(m, s)
	}
	return m
}()

// halves returns the rows of a projection of a tower in the order of [pairHalves].
func halves(c *Config) [][2]int { return pairHalves(c.Vision.Heads, c.Vision.HeadDim) }

// pairHalves returns the rows of a projection to heads of width rows whose pairs are
// neighbours in the file, first those of all pairs, then the others, head by head: the
// inverse of PermuteHeads.
func pairHalves(heads, width int) (out [][2]int) {
	for head := range heads {
		for k := range 2 {
			for i := range width / 2 {
				row := head*width + 2*i + k
				out = append(out, [2]int{row, row + 1})
			}
		}
	}
	return out
}
