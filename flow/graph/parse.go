package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	maxRatio   = 1 << 16
	maxInteger = 1<<31 - 1
)

// features are the names that required_features may list.
var features = []string{"oversample_ratio", "declared_delay", "supports_v2", "delay_frames", "synchrony_gates", "delay_kind",
	"capacity_frames", "prefill_frames", "pdc", "gates", "ipls", "modulation"}

// The known keys of each object; other keys are preserved.
var (
	graphKeys  = []string{"descriptor_version", "nodes", "edges", "gates", "ipls", "required_features", heatBudget}
	nodeKeys   = []string{"name", "type", "oversample_ratio", "declared_delay", "supports_v2", "pdc", "params", "prefill_frames", "executor", "oversample", "declared_delay_frames"}
	edgeKeys   = []string{"source", "target", "delay_frames", "synchrony_gates", "delay_kind", "capacity_frames", "mode", "scale", "channel"}
	gateKeys   = []string{"id", "kind", "period_frames"}
	cohortKeys = []string{"type", "oversample_ratio", "nodes"}
	tensorKeys = []string{"shape", "data"}
)

// Extended fields were introduced with version 2: in a plan of version 1,
// values under their names are ignored.
var (
	extended  = []string{"oversample_ratio", "oversample", "declared_delay", "declared_delay_frames", "supports_v2", "pdc", "delay_frames", "synchrony_gates", "delay_kind", "capacity_frames"}
	graphOnly = []string{"gates", "ipls", "required_features"}
)

const (
	heatBudget = "heat_budget_joules_per_second"
	heatParam  = "thermo.heat"
)

// Parse reads a plan's JSON, checks syntax, types and ranges, and fills in
// defaults. Names are not resolved: see [Link].
//
// Every error is an [Error] of code [Malformed] with the path of the first
// fault. For a JSON syntax error the path is $ and the text has the offset.
func Parse(text []byte) (*Plan, error) {
	top, warn, err := scanJSON(text)
	if err != nil {
		return nil, &Error{Code: Malformed, Path: "$", Text: err.Error()}
	}
	r := &reader{in: text, p: &Plan{Root: "$", Warnings: warn}}
	if r.object(top, "$"); r.err != nil {
		return nil, r.err
	}
	g := top
	if in := top.Get("graph"); in != nil {
		r.p.Root, r.p.Outer = "$.graph", r.extra(top, []string{"graph"})
		g = in
	}
	if r.object(g, r.p.Root); r.err == nil {
		r.graph(g)
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.p, nil
}

// A reader converts JSON to a plan. It keeps the first error; after it, methods
// return zero values.
type reader struct {
	in  []byte
	p   *Plan
	old bool // the plan says version 1
	err error
}

func (r *reader) bad(path, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Code: Malformed, Path: path, Text: fmt.Sprintf(format, args...)}
	}
}

func (r *reader) warn(format string, args ...any) {
	r.p.Warnings = append(r.p.Warnings, fmt.Sprintf(format, args...))
}

func (r *reader) object(v *jsonValue, path string) {
	if v.Kind != jsonObject {
		r.bad(path, "want an object")
	}
}

// field returns the member, or nil for an extended field of an old plan.
func (r *reader) field(o *jsonValue, key string) *jsonValue {
	if r.old && slices.Contains(extended, key) {
		return nil
	}
	return o.Get(key)
}

func (r *reader) integer(o *jsonValue, key, path string, lo, hi, absent int) int {
	v := r.field(o, key)
	if v == nil {
		return absent
	}
	if v.Kind == jsonNumber && integral(v.Text) {
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil && int64(lo) <= n && n <= int64(hi) {
			return int(n)
		}
	}
	r.bad(path+"."+key, "want an integer in %d..%d, without fraction or exponent", lo, hi)
	return absent
}

func integral(number string) bool { return !strings.ContainsAny(number, ".eE") }

// number returns the value as a finite float64.
func number(v *jsonValue) (float64, bool) {
	if v.Kind != jsonNumber {
		return 0, false
	}
	x, err := strconv.ParseFloat(v.Text, 64)
	return x, err == nil && !math.IsInf(x, 0)
}

// str returns a non-empty string, which must be in among unless that is nil.
func (r *reader) str(o *jsonValue, key, path string, among []string) string {
	v := o.Get(key)
	switch {
	case v == nil || v.Kind != jsonString || v.Text == "":
		if r.bad(path+"."+key, "want a string that is not empty"); v == nil || v.Kind != jsonString {
			return ""
		}
	case among != nil && !slices.Contains(among, v.Text):
		r.bad(path+"."+key, "%q is not one of %s", v.Text, strings.Join(among, ", "))
	}
	return v.Text
}

// choice is str for an optional field.
func (r *reader) choice(o *jsonValue, key, path, absent string, among []string) string {
	if r.field(o, key) == nil {
		return absent
	}
	return r.str(o, key, path, among)
}

// list returns the elements of a required array.
func (r *reader) list(o *jsonValue, key, path string) []jsonValue {
	v := o.Get(key)
	if v == nil || v.Kind != jsonArray {
		r.bad(path+"."+key, "want an array")
		return nil
	}
	return v.Items
}

func (r *reader) listOrNone(o *jsonValue, key, path string) []jsonValue {
	if r.field(o, key) == nil {
		return nil
	}
	return r.list(o, key, path)
}

// extra returns the members that are not in known, as written.
func (r *reader) extra(o *jsonValue, known []string) []Extra {
	var out []Extra
	for i := range o.Items {
		if v := &o.Items[i]; !slices.Contains(known, v.Key) {
			out = append(out, Extra{v.Key, slices.Clone(r.in[v.Off:v.End])})
		}
	}
	return out
}

// member returns the path of a member. Keys with characters other than letters,
// digits and underscore are quoted.
func member(path, key string) string {
	other := func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsNumber(c) }
	if key == "" || strings.ContainsFunc(key, other) {
		return path + "[" + strconv.Quote(key) + "]"
	}
	return path + "." + key
}

func (r *reader) graph(g *jsonValue) {
	p, at := r.p, r.p.Root
	p.Version = r.integer(g, "descriptor_version", at, 1, maxInteger, 0)
	nodes, edges := r.list(g, "nodes", at), r.list(g, "edges", at)
	if r.err != nil {
		return
	}
	switch ext := slices.ContainsFunc(nodes, hasExtended) || slices.ContainsFunc(edges, hasExtended) ||
		slices.ContainsFunc(graphOnly, func(k string) bool { return g.Get(k) != nil }); {
	case p.Version == 0 && ext:
		r.warn("%s: descriptor_version is absent; extended fields say that it is 2", at)
	case p.Version == 1 && ext:
		r.warn("%s: extended fields are ignored, since descriptor_version is 1", at)
	case p.Version > 2:
		r.warn("%s: descriptor_version %d is newer than 2, the newest that this program supports", at, p.Version)
	}
	r.old, p.Extra = p.Version == 1, r.extra(g, graphKeys)
	if v := g.Get(heatBudget); v != nil {
		var ok bool
		if p.HeatBudget, ok = number(v); !ok || p.HeatBudget < 0 {
			r.bad(at+"."+heatBudget, "want joules per second, 0 or more")
		}
	}
	for i := range nodes {
		if r.err == nil {
			r.node(&nodes[i], fmt.Sprintf("%s.nodes[%d]", at, i))
		}
	}
	for i := range edges {
		if r.err == nil {
			r.edge(&edges[i], fmt.Sprintf("%s.edges[%d]", at, i))
		}
	}
	if r.err == nil && !r.old {
		r.gates(g, at)
		r.required(g, at)
		r.ipls(g, at+".ipls")
	}
}

func hasExtended(o jsonValue) bool {
	return o.Kind == jsonObject && slices.ContainsFunc(o.Items, func(m jsonValue) bool { return slices.Contains(extended, m.Key) })
}

// aliased moves a node's field written under an older name to its current one.
func (r *reader) aliased(o *jsonValue, name, alias, path string) {
	if v := o.Get(alias); v != nil && o.Get(name) == nil {
		v.Key = name
		r.warn("%s: %s is read as %s", path, alias, name)
	}
}

func (r *reader) node(o *jsonValue, path string) {
	if r.object(o, path); r.err != nil {
		return
	}
	r.aliased(o, "oversample_ratio", "oversample", path)
	r.aliased(o, "declared_delay", "declared_delay_frames", path)
	n := Node{Path: path, Name: r.str(o, "name", path, nil)}
	n.Type = r.choice(o, "type", path, n.Name, nil)
	n.OversampleRatio = r.integer(o, "oversample_ratio", path, 1, maxRatio, 1)
	if n.OversampleRatio&(n.OversampleRatio-1) != 0 {
		r.bad(path+".oversample_ratio", "want a power of two, got %d", n.OversampleRatio)
	}
	n.DeclaredDelay = r.integer(o, "declared_delay", path, 0, maxInteger, 0)
	n.PrefillFrames = r.integer(o, "prefill_frames", path, 0, maxInteger, 0)
	if v := r.field(o, "supports_v2"); v != nil {
		if n.SupportsV2 = v.Flag; v.Kind != jsonBool {
			r.bad(path+".supports_v2", "want true or false")
		}
	}
	n.PDC = r.choice(o, "pdc", path, "", []string{"trim", "pad"})
	n.Executor = r.choice(o, "executor", path, "", nil)
	if v := o.Get("params"); v != nil {
		r.object(v, path+".params")
		r.aliased(v, heatParam, heatParam+"_param", path+".params")
		for i := range v.Items {
			if r.err == nil {
				n.Params = append(n.Params, r.param(&v.Items[i], member(path+".params", v.Items[i].Key)))
			}
		}
	}
	n.Extra = r.extra(o, nodeKeys)
	r.p.Nodes = append(r.p.Nodes, n)
}

// param reads a number or a tensor, or a string or bool, which is a setting.
func (r *reader) param(v *jsonValue, path string) Param {
	p := Param{Name: v.Key}
	switch v.Kind {
	case jsonString:
		p.Text = &v.Text
	case jsonBool:
		p.Flag = &v.Flag
	case jsonObject:
		p.Value, p.Extra = r.tensor(v, path), r.extra(v, tensorKeys)
	default:
		x, ok := number(v)
		if !ok {
			r.bad(path, "want a finite number, a tensor, a string, true or false")
		}
		p.Value, p.Integer = &Tensor{1, 1, 1, []float64{x}}, integral(v.Text)
	}
	return p
}

func (r *reader) tensor(v *jsonValue, path string) *Tensor {
	shape := r.list(v, "shape", path)
	if r.err != nil {
		return nil
	}
	var d [3]int
	size := 1
	for i := range shape {
		n, err := strconv.ParseInt(shape[i].Text, 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			err = nil // n saturates
		}
		if len(shape) != 3 || shape[i].Kind != jsonNumber || err != nil || n < 1 {
			r.bad(path+".shape", "want three positive integers: batches, channels, frames")
			return nil
		}
		d[i] = int(min(n, maxInteger+1))
		size = min(size*d[i], maxInteger+1) // no text has as many numbers
	}
	if len(shape) != 3 {
		r.bad(path+".shape", "want three positive integers: batches, channels, frames")
	}
	list := r.list(v, "data", path)
	t := &Tensor{d[0], d[1], d[2], make([]float64, len(list))}
	for i := range list {
		var ok bool
		if t.Data[i], ok = number(&list[i]); !ok {
			r.bad(fmt.Sprintf("%s.data[%d]", path, i), "want a finite number")
			return nil
		}
	}
	if len(list) != size {
		r.bad(path+".data", "want %d values for shape [%d, %d, %d], got %d", size, d[0], d[1], d[2], len(list))
	}
	return t
}

func (r *reader) edge(o *jsonValue, path string) {
	if r.object(o, path); r.err != nil {
		return
	}
	e := Edge{Path: path, Source: r.str(o, "source", path, nil), Target: r.str(o, "target", path, nil), Scale: 1}
	e.DelayFrames = r.integer(o, "delay_frames", path, 0, maxInteger, 0)
	e.CapacityFrames = r.integer(o, "capacity_frames", path, 1, maxInteger, 0)
	e.DelayKind = r.choice(o, "delay_kind", path, "", []string{"hold", "prefill"})
	for i, v := range r.listOrNone(o, "synchrony_gates", path) {
		n, err := strconv.ParseInt(v.Text, 10, 64)
		if v.Kind != jsonNumber || !integral(v.Text) || err != nil || n < 0 || n > maxInteger {
			r.bad(fmt.Sprintf("%s.synchrony_gates[%d]", path, i), "want a gate's id, an integer in 0..%d", maxInteger)
			return
		}
		e.Gates = append(e.Gates, int(n))
	}
	e.Mode = r.choice(o, "mode", path, "", []string{"add", "mul"})
	if v := o.Get("scale"); v != nil {
		var ok bool
		if e.Scale, ok = number(v); !ok {
			r.bad(path+".scale", "want a finite number")
		}
	}
	e.Channel = r.integer(o, "channel", path, 0, maxInteger, -1)
	e.Extra = r.extra(o, edgeKeys)
	r.p.Edges = append(r.p.Edges, e)
}

func (r *reader) gates(g *jsonValue, at string) {
	seen := map[int]bool{}
	for i, o := range r.listOrNone(g, "gates", at) {
		path := fmt.Sprintf("%s.gates[%d]", at, i)
		if r.object(&o, path); r.err != nil {
			return
		}
		if o.Get("id") == nil {
			r.bad(path+".id", "want a gate's id")
		}
		x := Gate{ID: r.integer(&o, "id", path, 0, maxInteger, 0)}
		kind := slices.Index(gateKinds, r.choice(&o, "kind", path, "barrier", gateKinds))
		x.Kind, x.PeriodFrames = GateKind(max(kind, 0)), r.integer(&o, "period_frames", path, 1, maxInteger, 0)
		if x.Kind == Tempo && x.PeriodFrames == 0 {
			r.bad(path+".period_frames", "a tempo gate needs a period")
		}
		if seen[x.ID] {
			r.bad(path+".id", "gate %d is declared twice", x.ID)
		}
		seen[x.ID] = true
		x.Extra = r.extra(&o, gateKeys)
		r.p.Gates = append(r.p.Gates, x)
	}
}

func (r *reader) required(g *jsonValue, at string) {
	for i, f := range r.listOrNone(g, "required_features", at) {
		if f.Kind != jsonString || !slices.Contains(features, f.Text) {
			r.bad(fmt.Sprintf("%s.required_features[%d]", at, i), "the plan requires the unknown feature %q", f.Text)
			return
		}
		r.p.RequiredFeatures = append(r.p.RequiredFeatures, f.Text)
	}
}

func (r *reader) ipls(g *jsonValue, path string) {
	o := g.Get("ipls")
	if o == nil || r.err != nil {
		return
	}
	if r.object(o, path); r.err != nil {
		return
	}
	r.p.IPLS = &IPLS{Extra: r.extra(o, []string{"stages"})}
	for i, s := range r.list(o, "stages", path) {
		at := fmt.Sprintf("%s.stages[%d]", path, i)
		if r.object(&s, at); r.err != nil {
			return
		}
		stage := Stage{Extra: r.extra(&s, []string{"cohorts"})}
		for j, c := range r.list(&s, "cohorts", at) {
			q := fmt.Sprintf("%s.cohorts[%d]", at, j)
			if r.object(&c, q); r.err != nil {
				return
			}
			stage.Cohorts = append(stage.Cohorts, r.cohort(&c, q))
		}
		r.p.IPLS.Stages = append(r.p.IPLS.Stages, stage)
	}
}

func (r *reader) cohort(c *jsonValue, path string) Cohort {
	out := Cohort{Path: path, Extra: r.extra(c, cohortKeys), Type: r.str(c, "type", path, nil),
		OversampleRatio: r.integer(c, "oversample_ratio", path, 1, maxRatio, 1)}
	for k, m := range r.list(c, "nodes", path) {
		if m.Kind != jsonString {
			r.bad(fmt.Sprintf("%s.nodes[%d]", path, k), "want a node's name")
			break
		}
		out.Nodes = append(out.Nodes, m.Text)
	}
	return out
}
