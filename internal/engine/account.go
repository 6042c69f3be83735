package engine

// What the account of a run asks about its model.

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"atenia/internal/memory"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/model/quant"
	"atenia/internal/policy/decide"
	"atenia/internal/spelling"
	"atenia/tensor"
)

// A Lesser is a configuration in which a model needs less memory, or reads less of it from
// the disk.
type Lesser struct {
	What  string
	Flags []Flag // of "atenia run"
	Type  string // that weights are quantized to, in place of Flags; "" = as they are
	RAM   int64  // the least in which it is streamed, or a larger budget; 0 = that of the run
	Read  int64  // bytes of weights that a token reads then, see [Plan.Fewer]
}

// AnyPass returns the bytes of weights that tokens pass through the processor, whichever
// experts they choose: [Plan.Pass] has those of one token.
func (p *Plan) AnyPass() (bytes int64) {
	for i := range p.footprint.tensors {
		if t := &p.footprint.tensors[i]; t.Multiplied() {
			bytes += t.Bytes
		}
	}
	return bytes
}

// StreamFloor returns the least memory of the process in which the model is streamed; 0 =
// its weights cannot be read while it runs.
func (p *Plan) StreamFloor() int64 {
	if !p.footprint.streams() {
		return 0
	}
	c := p.placeConfig()
	c.File, c.Measure, c.Recorder, c.Budget.RAM, c.Budget.Auto = "", nil, decide.Recorder{}, 1, false
	_, err := p.placed(p.footprint, c)
	if low, ok := errors.AsType[*place.FloorError](err); ok {
		return low.Floor
	}
	return 0
}

// PacksHere reports whether weights within the budget are packed where they are read to,
// unless a flag says not to.
func (p *Plan) PacksHere(pl *place.Placement) bool {
	c := p.placeConfig()
	if pl.Spills() {
		c.Exec.Pack.Mode = pack.Auto
		return slices.ContainsFunc(pl.Tensors, func(t place.Placed) bool { return t.Tier == memory.RAM && p.footprint.inPlace(&t.Tensor, &c) })
	}
	c.Exec.Pack.Mode, c.Exec.Pack.Available = pack.Auto, max(1, pl.Input().RAM-pl.RAM())
	need, err := p.footprint.Need(p.footprint.within(c, pl).Exec)
	return err == nil && p.footprint.holds(&c, pl, &need.Packing)
}

// PackBudget returns a budget in which the weights would be packed, of which the model's own
// is too small for that; 0 = there is none. More memory also lets steps be longer, so that
// it is looked for by placing the model in it.
func (p *Plan) PackBudget(ram int64) int64 {
	c, asked := p.placeConfig(), p.Config.exec(&p.Model.Config) // whose steps the model's own budget may have shortened
	c.Exec.MaxTokens, c.Exec.MaxLogits = asked.MaxTokens, asked.MaxLogits
	c.Measure, c.Recorder, c.Budget.Auto, c.Exec.Pack.Mode = nil, decide.Recorder{}, false, pack.Auto
	for range 8 {
		c.Budget.RAM = ram
		pl, err := p.placed(p.footprint, c)
		if err != nil {
			return 0
		}
		need, err := p.footprint.Need(p.footprint.within(c, pl).Exec)
		if err != nil || need.Packing.Bytes == 0 {
			return 0
		}
		if need.Packing.Mode != pack.Off {
			return ram + programMoves
		}
		if ram += max(1<<20, need.Packing.Bytes+need.Packing.Reserve-need.Packing.Available); pl.Spills() {
			ram += pl.Bytes(memory.SSD)
		}
	}
	return 0
}

// programMoves is by how much the program itself takes more or less from run to run.
const programMoves = 4 << 20

// again opens the plan of a changed configuration. file is the configuration's in a folder.
func (p *Plan) again(file string, change func(c *Config)) (*Plan, error) {
	c := p.Config
	c.Observer, c.Notes, c.NoStream = nil, nil, false
	change(&c)
	q, err := OpenPlan(p.path, file, c, nil)
	if err == nil {
		q.program = p.program // the text is the same
	}
	return q, err
}

// free yields the configuration without the flag that only lets more be read from the disk,
// if there is one: --no-stream has no pins beside it. file is the configuration's in a folder.
func (p *Plan) free(file string) iter.Seq2[string, *Plan] {
	return func(yield func(string, *Plan) bool) {
		flag := "--pin"
		if p.Config.NoStream {
			flag = "--no-stream"
		} else if len(p.Config.Rules.Pins) == 0 {
			return
		}
		if q, err := p.again(file, func(c *Config) { c.Rules.Pins = nil }); err == nil {
			yield("no "+flag, q)
		}
	}
}

// sparer yields configurations in which the model needs less memory, in the order in which
// [Advise] tries them: smaller keys and values, a shorter context, both. file is the
// configuration's in a folder.
func (p *Plan) sparer(file string) iter.Seq2[string, *Plan] {
	return func(yield func(string, *Plan) bool) {
		try := func(what string, change func(c *Config)) bool {
			q, err := p.again(file, change)
			return err != nil || yield(what, q) // the model's heads are no whole blocks
		}
		types := slices.DeleteFunc(slices.Clone(cacheTypes), func(t tensor.DType) bool { return t == p.Config.Compile.KVType })
		for _, to := range types {
			if !try("keys and values in "+strings.ToLower(to.String()), func(c *Config) { c.Compile.KVType = to }) {
				return
			}
		}
		for _, n := range p.shorterContexts() {
			if !try(p.inContext(n), func(c *Config) { c.Context = n }) {
				return
			}
		}
		n := p.leastContext()
		for _, to := range types {
			if n >= p.Context() {
				return
			}
			what := fmt.Sprintf("keys and values in %s and a context of %s", strings.ToLower(to.String()), spelling.Count(n, "token"))
			if !try(what, func(c *Config) { c.Compile.KVType, c.Context = to, n }) {
				return
			}
		}
	}
}

// Lesser returns what lets the model be streamed in a memory that is too small for it as it
// is configured. file is the configuration's in a folder.
func (p *Plan) Lesser(file string, ram int64) (Lesser, bool) {
	for what, q := range p.sparer(file) {
		if n := q.StreamFloor(); n > 0 && n <= ram {
			return Lesser{What: what, Flags: q.Config.RunFlags(file), RAM: n}, true
		}
	}
	return Lesser{}, false
}

// inPlaceOf places a footprint in the memory, and by the rates, of a placement's input.
func (p *Plan) inPlaceOf(in *place.Input, f *footprint) (*place.Placement, error) {
	c := p.placeConfig()
	c.File, c.Measure, c.Recorder, c.Budget.RAM, c.Budget.Auto, c.Known = "", nil, decide.Recorder{}, in.RAM, false, &in.Rates
	pl, _, err := p.fitWhole(f, c)
	return pl, err
}

// Fewer returns what lets fewer bytes, a tenth less at least, be read of a model that is
// streamed as a placement says, with room for texts of so many tokens: without flags that let
// more be read, in larger budgets, and if all is asked for, with smaller keys and values,
// shorter contexts and smaller weights, what costs least first. file is the configuration's in
// a folder.
func (p *Plan) Fewer(file string, pl *place.Placement, tokens int, all bool) (out []Lesser) {
	in, most := pl.Input(), place.LessRead*pl.Decode.SSDBytes
	if p.spare > 0 && (p.Config.Budget.RAM == 0 || p.Config.Budget.Auto) { // which the next run has, too
		in.RAM = min(in.RAM, p.spare)
	}
	add := func(l Lesser, q *Plan, f *footprint) {
		at, err := q.inPlaceOf(&in, f)
		if err != nil { // it is mapped first, and streamed as this run was
			at, err = q.inPlaceOf(new(pl.Input()), f)
		}
		if err == nil && at.Decode.SSDBytes <= most {
			l.Read = at.Decode.Reads()
			out = append(out, l)
		}
	}
	try := func(each iter.Seq2[string, *Plan]) {
		for what, q := range each {
			if q.Context() >= tokens {
				add(Lesser{What: what, Flags: q.Config.RunFlags(file)}, q, q.footprint)
			}
		}
	}
	planned := p.Effective().PlacementFile != "" // which is of this configuration
	if !planned {
		try(p.free(file))
	}
	for i := len(pl.Larger) - 1; i >= 0; i-- {
		if c := &pl.Larger[i]; c.SSDBytes <= most && (p.Config.Rules.Offload == (place.Offload{}) || p.Config.Budget.Auto || c.RAM >= p.Config.Budget.RAM) { // less may be placed in than is given, for a mark of --offload
			what := "a larger budget, " + c.What
			if c.RAM == pl.Input().RAM { // which the plan file leaves unused
				what = c.What
			}
			out = append(out, Lesser{What: what, RAM: c.RAM, Read: int64(c.SSDBytes / float64(max(1, pl.Decode.Tokens)))})
		}
	}
	if !all {
		return out
	}
	if !planned {
		try(p.sparer(file))
	}
	q, without := p.halfCache(file), ""
	if p.Config.NoStream {
		without = ", without --no-stream"
	}
	for _, mix := range readTypes {
		if f, n := q.footprint.quantized(mix); n > 0 {
			add(Lesser{What: fmt.Sprintf("weights of type %s, %s in place of %s%s", mix, spelling.Size(n), spelling.Size(p.footprint.bytes()), without), Type: mix.String()}, q, f)
		}
	}
	return out
}

// readTypes are the types of weights that let less be read.
var readTypes = []quant.Mix{quant.MixQ8_0, quant.MixQ4_K_M, quant.MixQ3_K_M, quant.MixQ2_K}

// halfCache returns the plan with keys and values as a quantized model has them that nobody
// asks for others of. file is the configuration's in a folder.
func (p *Plan) halfCache(file string) *Plan {
	if p.Config.Compile.KVType == tensor.Invalid {
		if q, err := p.again(file, func(c *Config) { c.Compile.KVType = tensor.F16 }); err == nil {
			return q
		}
	}
	return p
}

// SmallerCache returns the next smaller type of keys and values, and how many times smaller
// they are in it; "" if there is none for the model's heads. file is as in [Plan.Lesser].
func (p *Plan) SmallerCache(file string) (name string, times float64) {
	_, now := p.StateBytes()
	for _, to := range cacheTypes {
		q, err := p.again(file, func(c *Config) { c.Compile.KVType = to })
		if err != nil {
			continue
		}
		if _, then := q.StateBytes(); then > 0 && then < now {
			return strings.ToLower(to.String()), float64(now) / float64(then)
		}
	}
	return "", 0
}

// CacheRead returns the bytes of keys and values that a step reads whose sequences, so many,
// have so many tokens together. A state with a window reads no more than that of each.
func (p *Plan) CacheRead(sequences, tokens float64) (bytes float64) {
	if sequences <= 0 {
		return 0
	}
	for _, d := range p.Model.Plans.Prefill.Plan.States {
		if d.PageTokens == 0 {
			continue
		}
		each := tokens / sequences
		if d.Window > 0 {
			each = min(each, float64(d.Window))
		}
		bytes += float64(d.SizeBytes) / float64(d.PageTokens) * each * sequences
	}
	return bytes
}
