package compile

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/model/file"
	"atenia/internal/plan"
	"atenia/tensor"
)

// Weight ids of rotary tables and of the slopes of biases on distance. They are computed constants and not in any weight
// map.
const (
	ropeShortID = "rope"
	ropeLongID  = "rope_long"
	slopesID    = "slopes"
)

// A prefix is what precedes the tensor names of the decoder and of the head in a
// model file; it depends on the class from which the model was saved.
type prefix struct{ body, head string }

// prefixes is sorted from the longest to the shortest: the first that matches is
// used.
var prefixes = []prefix{
	{"model.language_model.", ""},
	{"language_model.model.", "language_model."},
	{"distilbert.", ""},
	{"transformer.", ""},
	{"gpt_neox.", ""},
	{"backbone.", ""},
	{"roberta.", ""},
	{"model.", ""},
	{"bert.", ""},
	{"", ""},
}

// ignorable reports whether a tensor may remain unused: older releases saved
// tables that can be derived from the configuration, and layers that predict several
// tokens are not built.
func ignorable(name string) bool {
	for _, s := range []string{".rotary_emb.inv_freq", ".attn.masked_bias", ".attn.bias", ".attention.masked_bias", ".attention.bias", ".rotary_emb.cos_cached", ".rotary_emb.sin_cached", ".attn_rot_embd.weight"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return strings.HasPrefix(name, "mtp.") || slices.Contains(ropeTensors, name)
}

// emptyBias reports whether a tensor is a bias that adds nothing: tools that
// quantize write one for every matrix.
func emptyBias(t *file.Tensor) bool {
	return strings.HasSuffix(t.Name, ".bias") && len(t.View.Data) > 0 && !slices.ContainsFunc(t.View.Data, func(b byte) bool { return b != 0 })
}

// ropeTensors lists the tensors of GGUF files that hold frequency divisors.
var ropeTensors = []string{ropeFreqs, ropeShort, ropeLongF}

const (
	ropeFreqs = "rope_freqs.weight"
	ropeShort = "rope_factors_short.weight"
	ropeLongF = "rope_factors_long.weight"
)

// OwnHead is the code of the diagnostic about a head that should be tied and is there.
const OwnHead = "own_head"

// A binder finds the file's tensors for every weight that the programs name.
type binder struct {
	c       *Config
	fam     *Family
	tensors map[string]*file.Tensor // nil = only the configuration is available, and names are taken from the family's map
	prefix  prefix
	used    map[string]bool
	out     map[string]Weight
	faults  *faults
	notes   []plan.PlanDiagnostic
}

// bind returns the recipe of every weight, or all faults of the file.
func bind(c *Config, fam *Family, tower *imageTower, tensors map[string]*file.Tensor) (map[string]Weight, []plan.PlanDiagnostic, error) {
	b := &binder{c: c, fam: fam, tensors: tensors, used: map[string]bool{}, out: map[string]Weight{}, faults: &faults{}}
	b.prefix = prefix{body: "model."}
	ids, err := b.ids()
	if err != nil {
		return nil, nil, err
	}
	if len(tensors) > 0 && c.Source == HuggingFace {
		if err := b.findPrefix(ids); err != nil {
			return nil, nil, err
		}
	}
	more, err := b.towerIDs(tower)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range append(ids, more...) {
		b.weight(id.spec, id.layer)
	}
	b.constants()
	if len(tensors) > 0 {
		b.unused()
	}
	if err := b.faults.Err(); err != nil {
		return nil, nil, err
	}
	b.writeBack()
	return b.out, b.notes, nil
}

type weightID struct {
	spec  *WeightSpec
	layer int
}

// ids returns the weights of the model's programs, layers in order.
func (b *binder) ids() ([]weightID, error) {
	var out []weightID
	var missing error
	add := func(p plan.Program, layer int) {
		for i := range p {
			for _, slot := range slices.Sorted(maps.Keys(p[i].W)) {
				id := p[i].W[slot]
				spec := b.fam.Weights.get(id)
				if spec == nil && b.c.Encoder != nil {
					spec = denseWeights.get(id)
				}
				_, optional := slotOf(p[i].Op, slot)
				switch {
				case id == ropeShortID || id == ropeLongID || id == slopesID:
				case spec == nil && optional: // the family never has it
				case spec == nil:
					missing = fmt.Errorf("family %s: no weight %q in its map", b.fam.ID, id)
				default:
					out = append(out, weightID{spec, layer})
				}
			}
		}
	}
	add(b.fam.Prologue, -1)
	for i, l := range b.c.Layers {
		mix, okMix := b.fam.Mixers[l.Mixer]
		ffn, okFFN := b.fam.FFNs[l.FFN]
		if !okMix || !okFFN {
			return nil, &configError{File: string(b.c.Source), Field: fmt.Sprintf("layer %d", i), Want: "a kind of layer that family " + b.fam.ID + " has", Got: l.Mixer + "+" + l.FFN}
		}
		add(mix, i)
		add(ffn, i)
	}
	all, _, chosen := b.c.epilogues(b.fam)
	add(all, -1)
	add(chosen, -1)
	if s := b.fam.Sound; s != nil && b.c.Audio != nil {
		add(s.Stem, -1)
		for i := range b.c.Audio.Layers {
			add(s.Layer, i)
		}
		add(s.End, -1)
	}
	return out, missing
}

// towerIDs returns the weights of a tower's programs.
func (b *binder) towerIDs(t *imageTower) ([]weightID, error) {
	if t == nil {
		return nil, nil
	}
	var out []weightID
	var missing error
	add := func(p plan.Program, layer int) {
		for i := range p {
			for _, slot := range slices.Sorted(maps.Keys(p[i].W)) {
				id := p[i].W[slot]
				if spec := t.Weights.get(id); spec != nil {
					out = append(out, weightID{spec, layer})
				} else if _, optional := slotOf(p[i].Op, slot); !optional {
					missing = fmt.Errorf("tower %s: no weight %q in its map", t.ID, id)
				}
			}
		}
	}
	add(t.Prologue, -1)
	for i := range b.c.Vision.Layers {
		add(t.Block, i)
		if slices.Contains(b.c.Vision.Deepstack, i) {
			add(t.Tap, i)
		}
	}
	add(t.Epilogue, -1)
	return out, missing
}

// slotOf returns a slot's number, and whether it may be empty.
func slotOf(op plan.Opcode, slot string) (int, bool) {
	s := plan.Specs.Get(op)
	i, _ := s.SlotIndex(slot)
	_, optional := s.Slot(i)
	return i, optional
}

// findPrefix chooses the longest prefix under which the file has every required
// weight of the first layer. If there is none, it keeps the closest, so that the
// errors name what is missing.
func (b *binder) findPrefix(ids []weightID) error {
	best, bestHits := b.prefix, -1
	found := ""
	for _, p := range prefixes {
		b.prefix = p
		hits, all := 0, true
		for _, id := range ids {
			if id.layer > 0 || b.c.presence(id.spec.If) != Present || id.spec.ID == "output" {
				continue
			}
			if _, _, ok := b.origin(id.spec, id.layer); ok {
				hits++
			} else {
				all = false
			}
		}
		switch {
		case all && found != "" && len(found) == len(p.body):
			return &weightBindingError{Family: b.fam.ID, Tensor: p.body, Layer: -1, Why: fmt.Sprintf("the file holds two whole models, under %q and %q", found, p.body)}
		case all && found == "":
			best, bestHits, found = p, math.MaxInt, p.body
		case hits > bestHits && hits > 0:
			best, bestHits = p, hits
		}
	}
	if bestHits < 0 {
		best = prefix{body: "model."}
	}
	b.prefix = best
	return nil
}

// origin returns where the file keeps a weight: the first alternative that
// exists, or else the first one.
func (b *binder) origin(s *WeightSpec, layer int) (o Origin, name string, ok bool) {
	origins := s.HF
	if b.c.Source == GGUF {
		origins = s.GGUF
	}
	origins = slices.DeleteFunc(slices.Clone(origins), func(o Origin) bool { return b.c.presence(o.If) == Absent })
	for _, o := range origins {
		name := b.name(o.Name, layer)
		if _, there := b.tensors[name]; there {
			return o, name, true
		}
	}
	return origins[0], b.name(origins[0].Name, layer), false
}

func (b *binder) name(template string, layer int) string {
	// Three passes, because building a strings.Replacer takes more than a fifth of
	// a compilation.
	template = strings.ReplaceAll(template, "{p}", b.prefix.body)
	template = strings.ReplaceAll(template, "{q}", b.prefix.head)
	template = strings.ReplaceAll(template, "{l}", strconv.Itoa(layer))
	if v := b.c.Vision; v != nil && strings.Contains(template, "{k}") {
		template = strings.ReplaceAll(template, "{k}", strconv.Itoa(slices.Index(v.Deepstack, layer)))
	}
	return strings.Replace(template, "{e}", "0", 1)
}

// sources lists the tensors that are joined for an origin.
func (b *binder) sources(o Origin, layer int) []string {
	if o.Frames {
		names := []string{b.name(o.Name, layer)}
		for i := 1; i < b.c.Vision.Temporal; i++ {
			names = append(names, fmt.Sprintf("%s.%d", names[0], i))
		}
		return names
	}
	before, after, many := strings.Cut(o.Name, "{e}")
	if !many {
		return []string{b.name(o.Name, layer)}
	}
	n := b.c.Mixture.Experts
	if o.Many != "" {
		n, _ = b.c.eval(o.Many) // an unknown size is reported with the weight's shape
	}
	names := make([]string, n)
	for e := range names {
		names[e] = b.name(before+strconv.Itoa(e)+after, layer)
	}
	return names
}

// canonical returns a weight's name in plans.
func canonical(id string, layer int) string {
	if layer < 0 {
		return id
	}
	if rest, ok := strings.CutPrefix(id, "v."); ok {
		return fmt.Sprintf("v.blk.%d.%s", layer, rest)
	}
	return fmt.Sprintf("blk.%d.%s", layer, id)
}

func (b *binder) weight(s *WeightSpec, layer int) {
	o, name, there := b.origin(s, layer)
	if s.ID == "output" && b.c.TiedHead {
		if !there {
			return
		}
		// Some files have both. Transformers 5 ties them only if they are equal
		// (PreTrainedModel.tie_weights), and then reading either is the same.
		b.c.TiedHead = false
		b.notes = append(b.notes, plan.PlanDiagnostic{Code: OwnHead, Text: "the head is " + name + ", though tie_word_embeddings says that it is the embedding table: the file has both"})
	}
	want, err := b.c.shape(s.Shape)
	if err != nil {
		b.faults.Add(err)
		return
	}
	has := b.c.presence(s.If)
	switch {
	case has == Absent, has == ByTensor && !there:
		return // if the file has it nevertheless, it is reported as unused
	case !there && len(b.tensors) > 0:
		e := &weightBindingError{Family: b.fam.ID, Tensor: name, Layer: layer, Want: want}
		if s.ID == "output" {
			e.Why = "the head is not tied to the embedding table (tie_word_embeddings)"
		}
		if s.ID == "cls" && b.c.Source == GGUF {
			e.Why = "llama.cpp's converter leaves out what BERT's classifiers do before their scores: convert the original folder with quantize"
		}
		b.faults.Add(e)
		return
	}
	w := Weight{Name: canonical(s.ID, layer), Shape: want, Sources: b.sources(o, layer)}
	inFile := want
	if o.Of != "" {
		if inFile, err = b.c.shape(o.Of); err != nil {
			b.faults.Add(err)
			return
		}
	}
	if n := len(w.Sources); n > 1 && !o.Frames {
		inFile = slices.Clone(want)
		inFile[0] /= n
	}
	if n := len(w.Sources); o.Frames && n > 1 {
		w.Transform = joinFrames(inFile, want, n)
	} else if w.Transform, err = o.taken(b.c, inFile, want); err != nil {
		b.faults.Add(fmt.Errorf("rows of weight %s: %v", s.ID, err))
		return
	}
	for _, name := range w.Sources {
		if there && !b.fits(s.ID, name, layer, inFile) {
			return
		}
	}
	b.out[w.Name] = w
}

// fits reports whether a tensor has the wanted shape, and adds a fault
// otherwise.
func (b *binder) fits(id, name string, layer int, want tensor.Shape) bool {
	e := &weightBindingError{Family: b.fam.ID, Tensor: name, Layer: layer, Want: want}
	t, ok := b.tensors[name]
	seen := b.used[name]
	if ok {
		b.used[name] = true
		if t.View.Shape.Equal(want) {
			return true
		}
		e.Have = slices.Clone(t.View.Shape)
		if have := e.Have; (id == "token_embd" || id == "output") && len(have) == 2 && have[0] != want[0] && have[1] == want[1] {
			e.Why = fmt.Sprintf("vocab_size is %d, the table has %d rows", b.c.Vocab, have[0])
		}
	}
	if !seen { // report a fused tensor only once
		b.faults.Add(e)
	}
	return false
}

// constants adds the rotary tables that layers use, and slopes.
func (b *binder) constants() {
	if b.c.Alibi != 0 {
		b.constant(slopesName, slopes(b.c.Heads, float64(b.c.Alibi)))
	}
	if v := b.c.Vision; v != nil && v.Theta != 0 {
		b.constant(towerRopeName, v.frequencies())
	}
	for i := range b.c.Ropes {
		r := &b.c.Ropes[i]
		if !slices.ContainsFunc(b.c.Layers, func(l Layer) bool { return l.Rope == r.Name }) {
			continue
		}
		if b.c.Source == GGUF && r.Short != nil { // read together with the configuration
			for _, name := range ropeTensors {
				b.used[name] = true
			}
		}
		inv, long := r.Frequencies()
		b.constant(ropeName(r.Name), inv)
		if long != nil {
			b.constant(ropeName(r.Name)+".long", long)
		}
	}
}

func (b *binder) constant(name string, v []float32) {
	b.out[name] = Weight{Name: name, Shape: tensor.Shape{len(v)}, Const: v}
}

func ropeName(table string) string { return "const.rope." + table }

// unused reports every tensor that no weight uses.
func (b *binder) unused() {
	for _, name := range slices.Sorted(maps.Keys(b.tensors)) {
		if b.used[name] || name == breakTensor || slices.Contains(rwkvDummies, name) {
			continue
		}
		if ignorable(name) || b.later(name) || emptyBias(b.tensors[name]) || b.c.Encoder != nil && b.c.Encoder.leaves(name) {
			b.notes = append(b.notes, plan.PlanDiagnostic{Code: "ignored_tensor", Text: name})
			continue
		}
		shape := slices.Clone(b.tensors[name].View.Shape)
		if shape == nil {
			shape = tensor.Shape{}
		}
		b.faults.Add(&weightBindingError{Family: b.fam.ID, Tensor: name, Layer: layerOf(name), Have: shape})
	}
}

// later reports whether a tensor belongs to a layer after the model's last.
func (b *binder) later(name string) bool {
	rest, ok := strings.CutPrefix(name, b.prefix.body+"layers.")
	n := layerOf(rest)
	return ok && n >= len(b.c.Layers) && n < len(b.c.Layers)+b.c.Later
}

// layerOf returns the first number between dots in a tensor's name.
func layerOf(name string) int {
	for part := range strings.SplitSeq(name, ".") {
		if n, err := strconv.Atoi(part); err == nil {
			return n
		}
	}
	return -1
}

// writeBack writes what the tensors determine back to the configuration.
func (b *binder) writeBack() {
	for _, x := range []struct {
		p  *Presence
		id string
	}{{&b.c.QKVBias, "attn_q_bias"}, {&b.c.OutBias, "attn_o_bias"}, {&b.c.FFNBias, "ffn_up_bias"}} {
		if *x.p != ByTensor {
			continue
		}
		*x.p = Absent
		for i := range b.c.Layers {
			if _, ok := b.out[canonical(x.id, i)]; ok {
				*x.p = Present
			}
		}
	}
}
