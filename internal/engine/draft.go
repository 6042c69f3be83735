package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"atenia/internal/engine/residence"
	"atenia/internal/exec"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/pack"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/spelling"
)

// draftRows bounds the rows of a step of the draft model: it reads prompts between steps
// of the target, whose answers wait.
const draftRows = 128

// earlyPart is which part of a model's layers drafts unless a number says so.
const earlyPart = 4

// compileModel compiles a model, with a program of its early layers if they draft.
func compileModel(d *file.Description, c *Config) (*compile.Model, error) {
	m, err := compile.Compile(d, c.Compile)
	if err != nil || !c.Early || m.Plans.Decode == nil {
		return m, err
	}
	layers := len(m.Config.Layers)
	c.Compile.Early = cmp.Or(c.EarlyLayers, max(1, layers/earlyPart))
	if c.Compile.Early >= layers {
		return nil, &FieldError{"Draft", fmt.Sprintf("%s:%d", EarlyLayers, c.Compile.Early), fmt.Sprintf("fewer layers than the model has: %d", layers)}
	}
	return compile.Compile(d, c.Compile)
}

// EarlyLayers is the [Config].Draft of the root package that stands for the model's own
// first layers.
const EarlyLayers = "early"

// A draftPlan is the draft model's plan and what it takes within the target's budget. Its
// weights stay in memory: to read them from disk for a draft would take longer than the
// token that it saves.
type draftPlan struct {
	*Plan
	scratch int64 // bytes of buffers
	cache   int64 // bytes of keys and values, where they are bounded
}

// readDraft compiles the draft model of the configuration from its headers, and gives it
// its part of the memory for keys and values.
func (p *Plan) readDraft() (err error) {
	if p.Config.Draft == "" {
		return nil
	}
	d, err := OpenFiles(p.Config.Draft, "", file.HeaderOnly())
	if err != nil {
		return fmt.Errorf("draft model: %w", err)
	}
	defer d.Close()
	if p.draft, err = p.compileDraft(d); err != nil {
		return err
	}
	own, _ := p.draft.footprint.stateBytes(p.draftConfig())
	c := p.placeConfig()
	_, target := p.footprint.stateBytes(&c)
	share := sum(own)
	split := func(bound *int64) {
		if *bound > 0 {
			p.draft.cache = int64(float64(*bound) * float64(share) / float64(max(1, share+target)))
			*bound -= p.draft.cache
		}
	}
	p.draft.cache = share * int64(max(1, c.Rules.Batch))
	split(&p.Config.CacheBytes)
	split(&p.Config.Budget.Reserve.KV)
	need, err := p.draft.footprint.Need(p.draftConfig().Exec)
	if err != nil {
		return fmt.Errorf("draft model: %w", err)
	}
	p.draft.scratch = need.Registers + need.Work
	return nil
}

func sum(list []int64) (n int64) {
	for _, v := range list {
		n += v
	}
	return n
}

// compileDraft compiles the draft model for sequences of the target.
func (p *Plan) compileDraft(d *file.Description) (*draftPlan, error) {
	t := &p.Config
	c := Config{
		Threads: t.Threads, Slots: t.Slots, BatchTokens: max(t.Slots, min(t.BatchTokens, draftRows)), Compile: t.Compile, Precise: t.Precise,
		Pack: t.Pack, PackDir: t.PackDir, PackVerify: t.PackVerify, NoStream: true, NoMap: t.NoMap, Logger: t.Logger,
	}
	c.Compile.Pool, c.Compile.Early = "", 0
	q, err := Compile(d, c)
	if err != nil {
		return nil, fmt.Errorf("draft model: %w", Named(t.Draft, err))
	}
	q.Config.Context = p.Context()
	if trained := q.Model.Config.Context; trained > 0 {
		q.Config.Context = min(trained, p.Context()) // longer sequences have no drafts
	}
	refuse := func(want string) (*draftPlan, error) { return nil, &FieldError{"Draft", t.Draft, want} }
	if q.Model.Plans.Decode == nil {
		return refuse("a model that generates text")
	}
	for _, s := range q.Model.Plans.Prefill.Plan.States {
		if s.PageTokens == 0 {
			return refuse(fmt.Sprintf("a model with attention layers alone: this one has states that keep no positions apart (%s), and rejected tokens could not be taken out of them", s.Kind))
		}
	}
	return &draftPlan{Plan: q}, nil
}

// DraftVocab returns the number of tokens of the draft model, 0 without one.
func (p *Plan) DraftVocab() int {
	if p.draft == nil {
		return 0
	}
	return p.draft.Model.Config.Vocab
}

// draftConfig is what the footprint of the draft model depends on.
func (p *Plan) draftConfig() *PlaceConfig {
	return &PlaceConfig{Exec: p.draft.Config.exec(&p.draft.Model.Config)}
}

// draftBytes is what the draft model takes within a budget, 0 without one.
func (p *Plan) draftBytes() int64 {
	if p.draft == nil {
		return 0
	}
	return p.draft.footprint.bytes() + p.draft.scratch + p.draft.cache
}

// draftNote says what the draft model takes.
func (p *Plan) draftNote() string {
	if p.Config.Early {
		return fmt.Sprintf("draft    %d of the model's own %d layers; they draft where that is measured to pay", p.Config.Compile.Early, len(p.Model.Config.Layers))
	}
	return fmt.Sprintf("draft    %s: %s of weights, %s of buffers, %s of keys and values; it drafts where that is measured to pay",
		p.draft.path, spelling.Size(p.draft.footprint.bytes()), spelling.Size(p.draft.scratch), spelling.Size(p.draft.cache))
}

// A draftModel is the draft model's weights in memory.
type draftModel struct {
	files   *file.Description
	weights *modelWeights
	held    ledger.Reservation // of mapped weights, within a budget
	mapped  int64              // bytes of weights that nothing is reserved for
}

// openDraft brings the draft model of the plan into memory and binds an executor to it,
// nil if there is none. Within a budget its weights are not packed, so that they take what
// the placement has reserved.
func (e *Engine) openDraft(ctx context.Context) (x *exec.Executor, err error) {
	p := e.Plan
	if p.draft == nil {
		return nil, nil
	}
	m := &draftModel{}
	if m.files, err = OpenFiles(p.Config.Draft, "", file.Copied(p.Config.NoMap)); err != nil {
		return nil, fmt.Errorf("draft model: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("draft model: %w", Named(p.Config.Draft, err)), m.close())
		}
	}()
	// Compiled again: what the file says now is what is bound.
	q, err := p.compileDraft(m.files)
	if err != nil {
		return nil, err
	}
	q.account = p.account
	w := newWeights()
	w.packing = q.packingOf(m.files)
	if e.weights.placement != nil {
		w.packing.Mode, w.packing.Because = pack.Off, "the model has a budget"
		if m.held, err = p.account.Reserve(ledger.Weights, q.footprint.bytes()); err != nil {
			return nil, err
		}
	}
	if err := q.bring(ctx, w, m.files, nil, true, residence.Open); err != nil {
		return nil, err
	}
	m.weights = w
	c := q.Config.exec(&q.Model.Config)
	c.Pack, c.Stream, c.Account = w.packing, w.Stream, p.account
	if x, err = exec.New(&q.Model.Plans, w.Weights, c); err != nil {
		return nil, err
	}
	if e.weights.placement == nil && x.Packing().Mode != pack.InMemory {
		m.mapped = q.footprint.bytes()
	}
	e.draft = m
	p.Config.Logger.Info("draft model open", "path", p.Config.Draft, "family", q.Model.Family, "context", q.Config.Context, "pack", x.Packing())
	return x, nil
}

// close gives the memory back. No step runs any more.
func (m *draftModel) close() (err error) {
	if m == nil {
		return nil
	}
	if m.weights != nil {
		err = m.weights.close()
	}
	m.held.Release()
	return errors.Join(err, m.files.Close())
}
