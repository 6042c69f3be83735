package compile

// mixtureFamilies are mixtures of experts beyond those of qwen and mixtral.
var mixtureFamilies = []*Family{&graniteMoE}

// mixtureTerms are the names that their weight maps use.
var mixtureTerms = vocabulary{}

// mixtureTypes and mixtureArchs are those of them that are refused by name.
var (
	mixtureTypes = map[string]string{
		"gpt_oss": needsMoE,
		"phimoe":  needsMoE,
	}
	mixtureArchs = map[string]string{
		"gpt-oss": needsMoE,
		"phimoe":  needsMoE,
	}
)

// graniteExperts is the weights of granite's mixtures, whose files fuse the gate
// and up projections of all experts, and those of the shared expert.
var graniteExperts = func() []WeightSpec {
	specs := experts("block_sparse_moe", "", "", "")
	set := func(id, name, of string, rows ...string) {
		s := WeightMap(specs).get(id)
		o := Origin{Name: hfLayer + name + ".weight", Of: of}
		if len(rows) > 0 {
			o.Rows, o.Each = [2]string{rows[0], rows[1]}, rows[2]
		}
		s.HF = []Origin{o}
	}
	set("ffn_router", "block_sparse_moe.router.layer", "")
	set("ffn_gate_exps", "block_sparse_moe.input_linear", "E,2*F,d", "0", "F", "E")
	set("ffn_up_exps", "block_sparse_moe.input_linear", "E,2*F,d", "F", "2*F", "E")
	set("ffn_down_exps", "block_sparse_moe.output_linear", "E,d,F")
	set("ffn_gate_shexp", "shared_mlp.input_linear", "2*S,d", "0", "S", "")
	set("ffn_up_shexp", "shared_mlp.input_linear", "2*S,d", "S", "2*S", "")
	set("ffn_down_shexp", "shared_mlp.output_linear", "")
	return specs
}()

// graniteMoE is granite with mixtures in all layers, and with a shared expert
// without a gate if the configuration has its width.
var graniteMoE = Family{
	ID: "granitemoe", ModelTypes: []string{"granitemoe", "granitemoeshared"},
	Arch: "granitemoe", ReadsArch: true, Reorders: true,
	Defaults: Defaults{
		Hidden: 4096, Layers: 32, Heads: 32, FFN: 11008, Vocab: 32000, Context: 2048,
		NormEps: 1e-6, Theta: 1e4, Act: "silu", FFNBias: Absent,
		Mixture: Mixture{Gate: gateTop, SharedPlain: true},
	},
	HF: func(o *object, c *Config) {
		graniteScales(o, c)
		o.readMixture(c, Mixture{Experts: 8, TopK: 2, Width: c.FFN, Gate: gateTop, SharedPlain: true})
		c.Mixture.Width = c.FFN
		c.Mixture.Shared = o.Int("shared_width", 0, maxWidth, "shared_intermediate_size")
	},
	GGUF:     graniteLogits,
	Prologue: embedText, Mixers: preMixers, FFNs: sparseFFNs, Epilogue: headText, Weights: llamaWeights.with(graniteExperts...),
}
