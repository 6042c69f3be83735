package atenia

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"atenia/internal/engine"
	"atenia/internal/exec"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/plan"
	"atenia/internal/plan/pass"
	"atenia/internal/spelling"
)

// A Plan is what runs for a model: typed programs for prefill and decode, the
// states they keep, and what the compiler knew when it made them.
type Plan struct {
	Path   string // of the model, or "atenia-story", the embedded one
	Family string // such as "llama"

	compiled *engine.Plan
}

// OpenPlan compiles the plan of a model from its header alone, without reading
// weights: use it to see what would run, or, with [Plan.Place], whether a model
// fits a machine, before downloading it. A folder may hold config.json alone.
//
// The plan is that of [Open] with the same [Config]. It holds no open file and
// needs no Close.
func OpenPlan(path string, c *Config) (*Plan, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	p, err := guarded(func() (*engine.Plan, error) { return openPlan(path, &cfg) })
	if err != nil {
		return nil, publish(err)
	}
	return newPlan(p), nil
}

func openPlan(path string, c *Config) (*engine.Plan, error) {
	p, err := engine.OpenPlan(path, c.ConfigFile, c.engine(), loadText)
	if err != nil || c.Draft == "" {
		return p, err
	}
	d, err := engine.OpenFiles(path, c.ConfigFile, file.HeaderOnly())
	if err != nil {
		return nil, err
	}
	defer d.Close()
	t, _ := text.Load(d) // without one the numbers of tokens are compared
	return p, checkDraft(c, p, t)
}

// Totals sums up the tensors of the model's files, as [Inspect] does.
func (p *Plan) Totals() Totals { return newTotals(p.compiled.Totals) }

func newPlan(p *engine.Plan) *Plan { return &Plan{p.Path(), p.Model.Family, p} }

// Command names the command of atenia that computes with the model: run, embed, rerank or
// transcribe. Only run keeps an account, see [ReadLastRun].
func (p *Plan) Command() string { return p.compiled.Verb() }

// programs returns the plans of both modes.
func (p *Plan) programs() *plan.ModelPlans { return &p.compiled.Model.Plans }

// ID returns "sha256:" and the hash of the plan without addresses: equal for
// equal plans on any machine.
func (p *Plan) ID() (string, error) { return p.programs().ID() }

// A PlanView chooses what [Plan.WriteText] shows.
type PlanView struct {
	Mode    string // "prefill" or "decode", "vision_encode" or "scatter" of images and sounds, or "" for all
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
	fmt.Fprintf(w, "%s: %s, plan %s\n", spelling.Line(p.Path), p.Family, id)
	for _, mode := range modes {
		c := p.programs().ByMode(mode)
		fmt.Fprintln(w)
		if err := plan.Print(w, c, plan.PrintOptions{Fold: !v.Unfold, Mapping: p.mapping(c)}); err != nil {
			return err
		}
	}
	for _, l := range p.compiled.Adapters() {
		fmt.Fprintf(w, "\n%s", &l)
	}
	fmt.Fprintln(w)
	p.summary(w)
	for _, line := range p.Notes() {
		fmt.Fprintf(w, "note             %s\n", line)
	}
	if v.Explain {
		p.explain(w)
	}
	return nil
}

func (p *Plan) modes(name string) ([]plan.Mode, error) {
	if name == "" {
		return p.programs().Modes(), nil
	}
	mode, err := plan.ParseMode(name)
	if err != nil || p.programs().ByMode(mode) == nil {
		var have []string
		for _, m := range p.programs().Modes() {
			have = append(have, m.String())
		}
		return nil, &ConfigError{"Mode", name, "one of " + strings.Join(have, ", ")}
	}
	return []plan.Mode{mode}, nil
}

// mapping returns the buffers a plan takes with the configuration's sizes; that of a tower
// is for the largest image, or the longest sound, that has room in the context.
func (p *Plan) mapping(c *plan.CompiledPlan) *plan.PhysicalMapping {
	if c.Plan.Mode != plan.ModeVisionEncode {
		return mapped(c, &p.compiled.Config)
	}
	size, err := exec.TowerSizing(c, p.compiled.Model.Config.TowerRows(p.Context()))
	if err != nil { // a plan that was compiled has parameters that can be read
		size = plan.Sizing{}
	}
	m := pass.Map(c, size, pass.Inputs(c))
	return &m
}

// mapped returns the buffers a plan takes with a configuration's sizes.
func mapped(p *plan.CompiledPlan, c *engine.Config) *plan.PhysicalMapping {
	rows := uint64(c.MaxLogits()) // a decode step has as many rows as logits are wanted
	sizing := plan.Sizing{Tokens: uint64(c.BatchTokens), Slots: rows, Requested: rows}
	m := pass.Map(p, sizing, pass.Inputs(p))
	return &m
}

func (p *Plan) summary(w io.Writer) {
	fmt.Fprintf(w, "parameters       %d\n", p.parameters())
	for _, t := range p.compiled.Totals.Types {
		fmt.Fprintf(w, "weights %-8s %s in %s\n", t.DType, spelling.Count(t.Bytes, "byte"), spelling.Count(t.Tensors, "tensor"))
	}
	for _, l := range p.compiled.Adapters() {
		fmt.Fprintf(w, "adapter %-8s %s in %s\n", l.Name, spelling.Count(l.Bytes(), "byte"), spelling.Count(len(l.Updates), "update"))
	}
	fixed, token := p.StateBytes()
	fmt.Fprintf(w, "state            %d bytes fixed, %d bytes a token\n", fixed, token)
	for _, mode := range p.programs().Modes() {
		if c := p.programs().ByMode(mode); c != nil {
			m := p.mapping(c)
			fmt.Fprintf(w, "%-16s %s, %s, %d bytes (one each: %d)\n",
				mode, spelling.Count(len(c.Plan.Instructions), "instruction"), spelling.Count(len(m.Buffers), "buffer"), m.Bytes, m.NaiveBytes)
		}
	}
	for _, h := range p.programs().Handoffs {
		fmt.Fprintf(w, "hand-off         %s r%d → %s r%d: %s, %s, free after instruction %d\n",
			h.From, h.FromReg, h.To, h.ToReg, strings.ToLower(h.DType.String()), spelling.Count(int(h.Cols), "column"), h.ReleaseAfter)
	}
}

// Notes are lines about the model's files and the context that the user should know.
func (p *Plan) Notes() []string { return p.compiled.Noted() }

// parameters returns how many numbers the model's files hold; without files,
// how many they must hold.
func (p *Plan) parameters() (n int64) {
	if p.compiled.Totals.Parameters > 0 {
		return p.compiled.Totals.Parameters
	}
	for _, w := range p.compiled.Model.Weights {
		if size, ok := w.Shape.Size(); ok && len(w.Sources) > 0 {
			n += int64(size)
		}
	}
	return n
}

// Context returns how many tokens a sequence may have.
func (p *Plan) Context() int { return p.compiled.Context() }

// Trained returns how many tokens of a sequence the model was made for; 0 = any number.
func (p *Plan) Trained() int { return p.compiled.Trained() }

// StateBytes returns what one sequence keeps: a fixed part, and bytes for each
// token.
func (p *Plan) StateBytes() (fixed, perToken uint64) { return p.compiled.StateBytes() }

// Instructions returns how many instructions run for a step of each mode: none
// decode in a model that does not generate text.
func (p *Plan) Instructions() (prefill, decode int) {
	if d := p.programs().Decode; d != nil {
		decode = len(d.Plan.Instructions)
	}
	return len(p.programs().Prefill.Plan.Instructions), decode
}

// explain prints where the configuration came from and what passes noticed.
func (p *Plan) explain(w io.Writer) {
	fmt.Fprintln(w, "\nconfiguration")
	for _, field := range slices.Sorted(maps.Keys(p.compiled.Model.Provenance)) {
		fmt.Fprintf(w, "  %s%s ← %s\n", field, scalar(&p.compiled.Model.Config, field), p.compiled.Model.Provenance[field])
	}
	fmt.Fprintln(w, "\nnotes")
	for _, d := range p.compiled.Model.Diagnostics {
		fmt.Fprintf(w, "  %s: %s\n", d.Code, d.Text)
	}
	for _, mode := range p.programs().Modes() {
		for _, d := range p.programs().ByMode(mode).Diagnostics {
			fmt.Fprintf(w, "  %s: %s: %s\n", mode, d.Code, d.Text)
		}
	}
	fmt.Fprintln(w, "\ninside operations")
	for _, line := range pass.Inside(&p.programs().Prefill.Plan) {
		fmt.Fprintln(w, "  "+line)
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
		Model:   map[string]any{"path": p.Path, "family": p.Family, "parameters": p.parameters(), "config": p.compiled.Model.Config},
		Mapping: map[plan.Mode]*plan.PhysicalMapping{},
	}
	for _, mode := range p.programs().Modes() {
		o.Mapping[mode] = p.mapping(p.programs().ByMode(mode))
	}
	return plan.MarshalPlans(p.programs(), o)
}

// Diff returns how q differs from p, a line for each change, for all modes and the
// types of weights.
func (p *Plan) Diff(q *Plan) []string {
	var out []string
	for _, mode := range p.programs().Modes() {
		if q.programs().ByMode(mode) == nil {
			out = append(out, mode.String()+" is missing")
			continue
		}
		for _, line := range plan.Diff(p.programs().ByMode(mode), q.programs().ByMode(mode)) {
			out = append(out, mode.String()+" "+line)
		}
	}
	return append(out, diffWeights(p, q)...)
}

// diffWeights returns how the types of two plans' weights differ, which no instruction says.
func diffWeights(p, q *Plan) (out []string) {
	types := func(p *Plan) map[string]int64 {
		all := map[string]int64{}
		for _, t := range p.compiled.Totals.Types {
			all[t.DType.String()] = t.Bytes
		}
		return all
	}
	was, is := types(p), types(q)
	if len(was) == 0 || len(is) == 0 { // a configuration alone has no weights
		return nil
	}
	both := maps.Clone(was)
	maps.Copy(both, is)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		if was[name] != is[name] {
			out = append(out, fmt.Sprintf("weights %s: %s, %s", name, spelling.Count(was[name], "byte"), spelling.Count(is[name], "byte")))
		}
	}
	return out
}

// CheckBackend reports whether the named backends, in order of preference as in
// [Config].Backend, run every instruction with the steps of the plan's configuration.
func (p *Plan) CheckBackend(names string) error {
	backends, err := exec.Backends(names)
	if err != nil {
		return &ConfigError{"backend", names, backendNames}
	}
	batches := map[plan.Mode]int{plan.ModePrefill: p.compiled.Config.BatchTokens, plan.ModeScatter: p.compiled.Config.BatchTokens, plan.ModeDecode: p.compiled.Config.Slots}
	for _, mode := range p.programs().Modes() {
		if _, err := pass.Route(p.programs().ByMode(mode), max(1, batches[mode]), backends...); err != nil {
			return err
		}
	}
	return nil
}

// loadText loads what a process has beside the tensors of a model.
func loadText(d *file.Description) any {
	t, _ := text.Load(d) // what has no text takes less
	return t
}

// A CheckedProgram is a program that was read and proved: its structure, its states, and when
// each value is read last. Bytes are for steps of the sizes that a configuration has.
type CheckedProgram struct {
	Mode         string `json:"mode"`
	ID           string `json:"id"` // of the program alone
	Instructions int    `json:"instructions"`
	Registers    int    `json:"registers"`
	Alive        int    `json:"alive"` // registers at once, at most
	Buffers      int    `json:"buffers"`
	Bytes        uint64 `json:"bytes"`       // of the buffers
	NaiveBytes   uint64 `json:"naive_bytes"` // with a buffer for each register
	// What a sequence keeps: bytes whatever its length, and for each token.
	StateBytes    uint64 `json:"state_bytes"`
	StatePerToken uint64 `json:"state_bytes_per_token"`
}

// String is a line such as "prefill: 21 instructions, …".
func (p *CheckedProgram) String() string {
	return fmt.Sprintf("%s: %s, %s, at most %d at once in %s of %d bytes (one each: %d), state %d bytes fixed, %d bytes a token, %s",
		p.Mode, spelling.Count(p.Instructions, "instruction"), spelling.Count(p.Registers, "register"), p.Alive,
		spelling.Count(p.Buffers, "buffer"), p.Bytes, p.NaiveBytes, p.StateBytes, p.StatePerToken, p.ID)
}

// CheckPlan reads plans in the form that [Plan.WriteText] writes with [PlanView.Unfold], or
// [Plan.MarshalJSON], also edited by hand, proves them as the compiler's own are, and says what
// they take. Of the configuration it reads Slots and BatchTokens. Errors name the line and
// column of a text, or the byte of JSON, or the instruction that is wrong.
func CheckPlan(data []byte, c *Config) ([]CheckedProgram, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	var all []*plan.CompiledPlan
	if t := bytes.TrimSpace(data); len(t) > 0 && t[0] == '{' {
		m, err := pass.LoadJSON(data)
		if err != nil {
			return nil, err
		}
		modes := m.TextModes() // in the order of texts, then what no text shows
		for mode := range plan.NumModes {
			if !slices.Contains(modes, mode) {
				modes = append(modes, mode)
			}
		}
		for _, mode := range modes {
			if p := m.ByMode(mode); p != nil {
				all = append(all, p)
			}
		}
	} else if all, err = loadPlanTexts(data); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no plan: want what \"atenia plan --unfold\" or \"atenia plan --json\" printed")
	}
	e := cfg.engine()
	out := make([]CheckedProgram, len(all))
	for i, p := range all {
		id, err := p.ID()
		if err != nil {
			return nil, err
		}
		m := mapped(p, &e)
		fixed, token := p.Plan.StateBytes()
		out[i] = CheckedProgram{
			Mode: p.Plan.Mode.String(), ID: id, Instructions: len(p.Plan.Instructions), Registers: len(p.Plan.Registers),
			Alive: int(p.PeakRegisters), Buffers: len(m.Buffers), Bytes: m.Bytes, NaiveBytes: m.NaiveBytes,
			StateBytes: fixed, StatePerToken: token,
		}
	}
	return out, nil
}

// loadPlanTexts reads the plans of a text, which begin with a line of their mode and end with
// an empty one; what is around them is for people.
func loadPlanTexts(data []byte) (all []*plan.CompiledPlan, err error) {
	var from int // the first line of a plan; 0 = between plans
	var text bytes.Buffer
	load := func() error {
		if from == 0 {
			return nil
		}
		// Empty lines before it keep the numbers of its own.
		p, err := pass.LoadText(io.MultiReader(bytes.NewReader(bytes.Repeat([]byte{'\n'}, from-1)), &text))
		if err != nil {
			return fmt.Errorf("the plan of line %d: %w", from, err)
		}
		all, from = append(all, p), 0
		text.Reset()
		return nil
	}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		switch trimmed := bytes.TrimSpace(line); {
		case bytes.HasPrefix(trimmed, []byte("plan mode=")):
			if err := load(); err != nil {
				return nil, err
			}
			from = n
		case len(trimmed) == 0:
			if err := load(); err != nil {
				return nil, err
			}
		case from > 0 && bytes.HasPrefix(trimmed, []byte("layer")):
			return nil, fmt.Errorf("line %d: %.60q stands for instructions that the text does not have: print the plan with --unfold", n, trimmed)
		}
		if from > 0 {
			text.Write(line)
		}
	}
	return all, load()
}
