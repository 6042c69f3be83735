package atenia

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"atenia/internal/compile"
	"atenia/internal/exec"
	"atenia/internal/modelfile"
	"atenia/internal/placement"
	"atenia/internal/spelling"
	"atenia/plan"
	"atenia/plan/pass"
	"atenia/tier/decision"
)

// A Plan is what runs for a model: typed programs for prefill and decode, the
// states they keep, and what the compiler knew when it made them.
type Plan struct {
	Path, Family string
	Plans        *plan.ModelPlans

	cfg    Config
	model  *compile.Model
	totals modelfile.Summary

	place     *placement.Model
	listeners []decision.Listener // of what is decided
}

// OpenPlan compiles the plan of a model from its header alone: no weight is
// read and no device is needed. A folder may hold config.json and nothing else.
func OpenPlan(path string, c *Config) (*Plan, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	d, err := describe(path, cfg.ConfigFile, modelfile.HeaderOnly())
	if err != nil {
		return nil, err
	}
	defer d.Close()
	m, err := compile.Compile(d, cfg.compileOptions())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", display(path), err)
	}
	return newPlan(display(path), cfg, m, d), nil
}

// newPlan reads from the headers where weights lie, too, as long as they are
// open.
func newPlan(path string, cfg Config, m *compile.Model, d *modelfile.Description) *Plan {
	return &Plan{
		Path: path, Family: m.Family, Plans: &m.Plans, cfg: cfg, model: m, totals: d.Summary(),
		place: placement.Describe(path, m, d),
	}
}

// Plan returns the plan the model runs.
func (m *Model) Plan() *Plan { return m.plan }

// ID returns "sha256:" and the hash of the plan without addresses: equal for
// equal plans on any machine.
func (p *Plan) ID() (string, error) { return p.Plans.ID() }

// A PlanView chooses what [Plan.WriteText] shows.
type PlanView struct {
	Mode    string // "prefill", "decode", or "" for both
	Unfold  bool   // print every layer instead of naming those that repeat
	Explain bool   // where each scalar came from, and what the compiler did
}

// WriteText prints the plan as text: instructions with their registers,
// weights, parameters and buffers, then a summary.
func (p *Plan) WriteText(w io.Writer, v PlanView) error {
	modes, err := p.modes(v.Mode)
	if err != nil {
		return err
	}
	id, err := p.ID()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s, plan %s\n", p.Path, p.Family, id)
	for _, mode := range modes {
		c := p.Plans.ByMode(mode)
		fmt.Fprintln(w)
		if err := plan.Print(w, c, plan.PrintOptions{Fold: !v.Unfold, Mapping: p.mapping(c)}); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	p.summary(w)
	if v.Explain {
		p.explain(w)
	}
	return nil
}

func (p *Plan) modes(name string) ([]plan.Mode, error) {
	if name == "" {
		return []plan.Mode{plan.ModePrefill, plan.ModeDecode}, nil
	}
	mode, err := plan.ParseMode(name)
	if err != nil || p.Plans.ByMode(mode) == nil {
		return nil, &ConfigError{"Mode", name, "prefill or decode"}
	}
	return []plan.Mode{mode}, nil
}

// mapping returns the buffers a plan takes with the configuration's sizes.
func (p *Plan) mapping(c *plan.CompiledPlan) *plan.PhysicalMapping {
	rows := uint64(p.cfg.maxLogits()) // a decode step has as many rows as logits are wanted
	sizing := plan.Sizing{Tokens: uint64(p.cfg.BatchTokens), Slots: rows, Requested: rows}
	m := pass.Map(c, sizing, pass.Inputs(c))
	return &m
}

func (p *Plan) summary(w io.Writer) {
	fmt.Fprintf(w, "parameters       %d\n", p.parameters())
	for _, t := range p.totals.Types {
		fmt.Fprintf(w, "weights %-8s %s in %s\n", t.DType, spelling.Count(t.Bytes, "byte"), spelling.Count(t.Tensors, "tensor"))
	}
	fixed, token := p.StateBytes()
	fmt.Fprintf(w, "state            %d bytes fixed, %d bytes a token\n", fixed, token)
	for _, mode := range []plan.Mode{plan.ModePrefill, plan.ModeDecode} {
		if c := p.Plans.ByMode(mode); c != nil {
			m := p.mapping(c)
			fmt.Fprintf(w, "%-8s         %s, %s, %d bytes (one each: %d)\n",
				mode, spelling.Count(len(c.Plan.Instructions), "instruction"), spelling.Count(len(m.Buffers), "buffer"), m.Bytes, m.NaiveBytes)
		}
	}
}

// parameters returns how many numbers the model's files hold; without files,
// how many they must hold.
func (p *Plan) parameters() (n int64) {
	if p.totals.Parameters > 0 {
		return p.totals.Parameters
	}
	for _, w := range p.model.Weights {
		if size, ok := w.Shape.Size(); ok && len(w.Sources) > 0 {
			n += int64(size)
		}
	}
	return n
}

// StateBytes returns what one sequence keeps: a fixed part, and bytes for each
// token.
func (p *Plan) StateBytes() (fixed, perToken uint64) {
	for _, d := range p.Plans.Prefill.Plan.States {
		if d.PageTokens == 0 {
			fixed += d.SizeBytes
		} else {
			perToken += d.SizeBytes / uint64(d.PageTokens)
		}
	}
	return fixed, perToken
}

// explain prints where the configuration came from and what passes noticed.
func (p *Plan) explain(w io.Writer) {
	fmt.Fprintln(w, "\nconfiguration")
	for _, field := range slices.Sorted(maps.Keys(p.model.Provenance)) {
		fmt.Fprintf(w, "  %s%s ← %s\n", field, scalar(&p.model.Config, field), p.model.Provenance[field])
	}
	fmt.Fprintln(w, "\nnotes")
	for _, d := range p.model.Diagnostics {
		fmt.Fprintf(w, "  %s: %s\n", d.Code, d.Text)
	}
	for _, mode := range []plan.Mode{plan.ModePrefill, plan.ModeDecode} {
		for _, d := range p.Plans.ByMode(mode).Diagnostics {
			fmt.Fprintf(w, "  %s: %s: %s\n", mode, d.Code, d.Text)
		}
	}
}

// scalar returns a space and the value that a configuration has for a field of
// its provenance, such as "norm_eps" or "rope.full.theta"; "" for those that
// are spread over layers.
func scalar(c *compile.Config, field string) string {
	v := reflect.ValueOf(c).Elem()
	if rope, ok := strings.CutPrefix(field, "rope."); ok {
		name, rest, _ := strings.Cut(rope, ".")
		v, field = reflect.ValueOf(struct{}{}), rest
		for _, t := range c.Ropes {
			if t.Name == name {
				v = reflect.ValueOf(t)
			}
		}
	}
	plain := strings.ReplaceAll(field, "_", "")
	v = v.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, plain) })
	if !v.IsValid() || v.Kind() == reflect.Slice || v.Kind() == reflect.String && v.String() == "" {
		return ""
	}
	return fmt.Sprintf(" %v", v.Interface())
}

// MarshalJSON returns the plans in the JSON form of package plan, schema 1.
func (p *Plan) MarshalJSON() ([]byte, error) {
	o := plan.JSONOptions{
		Model:   map[string]any{"path": p.Path, "family": p.Family, "parameters": p.parameters(), "config": p.model.Config},
		Mapping: map[plan.Mode]*plan.PhysicalMapping{},
	}
	for _, mode := range []plan.Mode{plan.ModePrefill, plan.ModeDecode} {
		o.Mapping[mode] = p.mapping(p.Plans.ByMode(mode))
	}
	return plan.MarshalPlans(p.Plans, o)
}

// Diff returns how q differs from p, a line for each change, for both modes.
func (p *Plan) Diff(q *Plan) []string {
	var out []string
	for _, mode := range []plan.Mode{plan.ModePrefill, plan.ModeDecode} {
		for _, line := range plan.Diff(p.Plans.ByMode(mode), q.Plans.ByMode(mode)) {
			out = append(out, mode.String()+" "+line)
		}
	}
	return out
}

// CheckBackend reports whether the named backend runs every instruction; the
// only one so far is "cpu".
func (p *Plan) CheckBackend(name string) error {
	if !strings.EqualFold(name, exec.CPU.Name()) {
		return &ConfigError{"backend", name, fmt.Sprintf("%q, the only one in this binary", exec.CPU.Name())}
	}
	for _, mode := range []plan.Mode{plan.ModePrefill, plan.ModeDecode} {
		if _, err := pass.Route(p.Plans.ByMode(mode), p.cfg.Slots, exec.CPU); err != nil {
			return err
		}
	}
	return nil
}
