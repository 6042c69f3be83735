package compile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"atenia/internal/model/file"
)

// What sentence-transformers keeps beside a model: the list of modules that
// follow it, their configurations, and the prompts.
const (
	modulesFile = "modules.json"
	poolingFile = "1_Pooling/config.json"
	lengthFile  = "sentence_bert_config.json"
	promptsFile = "config_sentence_transformers.json"
)

// poolKeys maps the modes of 1_Pooling/config.json to Pools.
var poolKeys = []struct{ key, pool string }{
	{"pooling_mode_cls_token", poolFirst}, {"pooling_mode_mean_tokens", poolMean}, {"pooling_mode_lasttoken", poolLast},
	{"pooling_mode_max_tokens", ""}, {"pooling_mode_mean_sqrt_len_tokens", ""}, {"pooling_mode_weightedmean_tokens", ""},
}

// poolTypes maps Pools to the values of the GGUF key pooling_type.
var poolTypes = map[string]int{poolNone: 0, poolMean: 1, poolFirst: 2, poolLast: 3}

// poolRank is the value of pooling_type for classifiers. How they pool is another key's
// value, of the same numbers.
const (
	poolRank         = 4
	classifierPool   = "classifier.pooling_type"
	classifierLabels = "classifier.output_labels"
)

// tokenTypes is the key of the number of token types, which belongs to no architecture.
const tokenTypes = "tokenizer.ggml.token_type_count"

// readModules reads the modules of a sentence-transformers model, whose decoder, if
// it is one, is used without its head. A folder without them keeps c.
func (o *object) readModules(d *file.Description, c *Config) {
	if c.Encoder != nil && c.Encoder.Labels > 0 {
		o.limit(d, c.Encoder)
		return
	}
	list, has := d.Files[modulesFile]
	if !has {
		if _, pooled := d.Files[poolingFile]; !pooled || c.Encoder == nil {
			return
		}
	}
	if c.Encoder == nil {
		c.Encoder = &Encoder{Pool: poolLast, Causal: true}
	}
	e := c.Encoder
	o.pooling(d, e)
	var modules []struct{ Path, Type string }
	if has {
		if err := json.Unmarshal(list, &modules); err != nil {
			o.fault(modulesFile, "a list of modules", err)
		}
	}
	for _, m := range modules {
		_, kind, _ := cutLast(m.Type, ".")
		switch kind {
		case "Transformer", "Pooling", "Dropout":
		case "Normalize":
			e.Normalize = true
		case "Dense":
			o.dense(d, m.Path, e)
		default:
			o.fault(modulesFile, "modules Transformer, Pooling, Dense and Normalize", m.Type)
		}
	}
	o.limit(d, e)
	o.prompts(d, e)
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

func (o *object) fault(name, want string, got any) {
	o.Faults.Add(&configError{File: name, Want: want, Got: fmt.Sprint(got)})
}

// companion returns a file of the folder as an object, nil if there is none.
func (o *object) companion(d *file.Description, name string) *object {
	b, ok := d.Files[name]
	if !ok {
		return nil
	}
	m, err := parseConfig(name, b)
	if err != nil {
		o.Faults.Add(err)
		return nil
	}
	return &object{&Object{File: name, M: m, Faults: o.Faults, Prov: o.Prov}}
}

func (o *object) pooling(d *file.Description, e *Encoder) {
	p := o.companion(d, poolingFile)
	if p == nil {
		return
	}
	var modes []string
	for _, k := range poolKeys {
		if p.Bool("pooling", false, k.key) {
			if modes = append(modes, k.key); k.pool != "" {
				e.Pool = k.pool
			} else {
				p.Bad(k.key, "false: only the first, last and mean token are supported", true)
			}
		}
	}
	if mode := p.Text("pooling", "", "pooling_mode"); mode != "" && len(modes) == 0 {
		names := map[string]string{"cls": poolFirst, "mean": poolMean, "lasttoken": poolLast, "last": poolLast}
		if e.Pool = names[mode]; e.Pool == "" {
			p.Bad("pooling_mode", "cls, mean or lasttoken", mode)
		}
		modes = []string{mode}
	}
	if len(modes) > 1 {
		p.Bad(modes[1], "one mode of pooling", strings.Join(modes, " and "))
	}
	o.Prov["pooling"] = "file " + poolingFile
}

// dense reads one projection after pooling.
func (o *object) dense(d *file.Description, path string, e *Encoder) {
	at := len(e.Dense) + 2 // modules 0 and 1 are the model and its pooling
	if want := fmt.Sprintf("%d_Dense", at); path != want || at > 3 {
		o.fault(modulesFile, "projections 2_Dense and 3_Dense", path)
		return
	}
	m := o.companion(d, path+"/config.json")
	if m == nil {
		o.fault(path+"/config.json", "the configuration of a projection", "no such file")
		return
	}
	_, act, _ := cutLast(m.Text("dense", "Tanh", "activation_function"), ".")
	names := map[string]string{"Identity": "", "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu"}
	name, ok := names[act]
	if !ok {
		m.Bad("activation_function", "Identity, Tanh, ReLU or GELU", act)
	}
	e.Dense = append(e.Dense, Projection{Out: m.Int("dense", 0, maxWidth, "out_features"), Act: name})
}

func (o *object) limit(d *file.Description, e *Encoder) {
	if m := o.companion(d, lengthFile); m != nil {
		e.MaxTokens = m.Int("max_tokens", 0, maxLength, "max_seq_length")
	}
}

func (o *object) prompts(d *file.Description, e *Encoder) {
	m := o.companion(d, promptsFile)
	if m == nil {
		return
	}
	if all := m.sub("prompts"); all != nil {
		for name := range all.M {
			if text := all.Text("prompts", "", name); text != "" {
				if e.Prompts == nil {
					e.Prompts = map[string]string{}
				}
				e.Prompts[name] = text
			}
		}
	}
	e.Prompt = m.Text("prompt", "", "default_prompt_name")
}

// classifier makes a classifier of an encoder that was saved as one.
func (o *object) classifier(c *Config, act string) {
	archs, _ := o.Strings("architectures", "architectures")
	if !slices.ContainsFunc(archs, func(s string) bool { return strings.HasSuffix(s, "ForSequenceClassification") }) {
		return
	}
	e := c.Encoder
	e.Pool, e.Labels = poolFirst, o.Int("labels", 2, maxVocab, "num_labels")
	if ids := o.sub("id2label"); ids != nil {
		e.Labels = len(ids.M)
		o.Prov["labels"] = "file id2label"
	}
	if _, ok := headActs[act]; !ok {
		o.Bad("classifier_activation", "tanh, gelu or relu", act)
	}
	e.Dense = []Projection{{Out: c.Hidden, Act: act}}
}

// encoder reads what GGUF files of encoders have in common.
func (h *header) encoder(c *Config) {
	c.NormKind, c.TiedHead = layerNorm, true
	if h.has(layerEpsilon) {
		c.NormEps = h.float("norm_eps", 0, layerEpsilon)
	} else if c.NormEps == 0 { // llama.cpp's converter may have named it after the other kind of norm
		c.NormEps = 1e-12
	}
	c.Encoder = &Encoder{Pool: poolMean, Normalize: true}
	h.encoderTensors(c)
}

// encoderTensors reads what only the tensors of a file tell.
func (h *header) encoderTensors(c *Config) {
	e := c.Encoder
	rows := func(name string) int {
		if t := h.tensors[name+".weight"]; t != nil && len(t.View.Shape) == 2 {
			return t.View.Shape[0]
		}
		return 0
	}
	e.Types, e.Labels = rows("token_types"), rows("cls.output")
	if e.Labels > 0 {
		e.Pool, e.Normalize, e.Dense = poolFirst, false, []Projection{{Out: c.Hidden, Act: "tanh"}}
		e.HeadNorm = h.tensors["cls.norm.weight"] != nil
		h.key(classifierLabels) // names of scores, as many as rows
		switch kind := h.int("classifier_pooling", poolTypes[poolFirst], 255, classifierPool); kind {
		case poolTypes[poolFirst]:
		case poolTypes[poolMean]:
			e.Pool = poolMean
		default:
			h.bad(classifierPool, "1 or 2", kind)
		}
		return
	}
	for _, id := range denseIDs {
		h.key(id + "_feat_in") // the tensor has both
		h.key(id + "_feat_out")
		if n := rows(id); n > 0 {
			e.Dense = append(e.Dense, Projection{Out: n})
		}
	}
}

// readPooling reads the key that makes an encoder of a decoder, or says how one
// pools.
func (h *header) readPooling(c *Config) {
	const key, causal = "pooling_type", "attention.causal"
	kind, both := 0, false
	if h.has(key) {
		kind = h.int("pooling", 0, 255, key)
	}
	if h.has(causal) {
		v, found, err := h.meta.Bool(h.key(causal))
		both = h.note("causal", causal, found, err) && !v
	}
	if c.Encoder == nil {
		if kind == 0 && !both {
			return
		}
		c.Encoder = &Encoder{Pool: poolMean, Causal: !both, Normalize: true}
		h.encoderTensors(c)
	}
	if kind == poolRank {
		if c.Encoder.Labels == 0 {
			h.bad(key, "0 to 3: the file has no classifier", kind)
		}
		return
	}
	for _, name := range Pools {
		if poolTypes[name] == kind && kind > 0 {
			c.Encoder.Pool = name
			return
		}
	}
	if kind > poolRank {
		h.bad(key, "0 to 4", kind)
	}
}

// encoderKeys returns the standard keys of an encoder.
func (c *Config) encoderKeys(reader *Family, u32 func(string, int), put func(string, file.Value)) {
	e := c.Encoder
	kind := poolTypes[e.Pool]
	if e.Labels > 0 {
		u32(classifierPool, kind)
		kind = poolRank
	}
	if e.Labels > 1 { // without names llama.cpp takes it for one
		names := make([]string, e.Labels)
		for i := range names {
			names[i] = fmt.Sprintf("LABEL_%d", i)
		}
		put(classifierLabels, file.ArrayOf(names))
	}
	u32("pooling_type", kind)
	put("attention.causal", file.ValueOf(e.Causal))
	for i, in := 0, c.Hidden; i < len(e.Dense) && e.Labels == 0; i++ {
		u32(denseIDs[i]+"_feat_in", in)
		u32(denseIDs[i]+"_feat_out", e.Dense[i].Out)
		in = e.Dense[i].Out
	}
	if reader.StatesAct {
		name := c.Act
		if name == "gelu_erf" {
			name = "gelu"
		}
		put(hiddenAct, file.ValueOf(name))
	}
}

// otherHeads are the prefixes of tensors for other tasks than vectors; poolHeads are
// those of what follows pooling.
var (
	otherHeads = []string{"pooler.", "cls.predictions.", "cls.seq_relationship.", "lm_head.", "vocab_transform.", "vocab_layer_norm.", "vocab_projector.", "decoder.", "head."}
	poolHeads  = []string{"classifier.", "pre_classifier.", "2_Dense/", "3_Dense/", "dense_2.", "dense_3.", "cls."}
)

// leaves reports whether a tensor may be unused: the heads of other tasks, positions
// that can be derived, and what follows pooling if there is none.
func (e *Encoder) leaves(name string) bool {
	begins := func(prefix string) bool {
		return strings.HasPrefix(name, prefix) || strings.HasPrefix(name, "bert."+prefix) || strings.HasPrefix(name, "roberta."+prefix) || strings.HasPrefix(name, "model."+prefix)
	}
	return slices.ContainsFunc(otherHeads, begins) || e.Pool == poolNone && slices.ContainsFunc(poolHeads, begins) ||
		strings.HasSuffix(name, ".position_ids") || name == "output.weight"
}
