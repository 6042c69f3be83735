package atenia

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"atenia/internal/compile"
	"atenia/internal/embedded"
	"atenia/internal/exec"
	"atenia/internal/lora"
	"atenia/internal/modelfile"
	"atenia/internal/observe"
	"atenia/internal/sched"
	"atenia/internal/text"
	"atenia/internal/token"
	"atenia/plan"
	"atenia/tensor"
)

// A Model is an open model. Its methods may be called from any goroutine.
type Model struct {
	cfg   Config
	desc  *modelfile.Description
	model *compile.Model
	plan  *Plan
	text  *text.Text
	// textErr says why text is incomplete: no tokenizer, or a chat template
	// that cannot be run. It is returned by what needs the missing part.
	textErr error
	sched   *sched.Scheduler
	totals  modelfile.Summary // of the file
	scratch int64
	packing Packing
	// tokenBytes is what one decoded token reads of the weights.
	tokenBytes int64
	promptOps  PromptOps
	memory     *memory
	watch      *observe.Observer // nil if nobody looks
	unmerge    func() error      // removes weights that were merged
	close      sync.Once
}

// Open opens a .gguf file, a Hugging Face folder or its configuration, or the
// embedded model for the path "" or its name, "atenia-story". Weights are mapped,
// not read; the first tokens bring them in.
//
// Errors say what is damaged and where: they name the tensor or the file
// offset, what was expected, and what to do.
func Open(ctx context.Context, path string, c *Config) (*Model, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	watch, err := openObserver(ctx, cfg.Observe)
	if err != nil {
		return nil, err
	}
	desc, err := describe(path, cfg.ConfigFile)
	if err != nil {
		return nil, errors.Join(err, watch.Close())
	}
	m := &Model{cfg: cfg, desc: desc, totals: desc.Summary(), watch: watch}
	if m.unmerge, err = lora.Load(desc, cfg.Adapter); err != nil {
		return nil, errors.Join(err, watch.Close(), desc.Close())
	}
	if err := m.load(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", display(path), err), watch.Close(), desc.Close(), m.unmerge())
	}
	return m, nil
}

// describe opens the files of a model.
func describe(path, configFile string, opts ...modelfile.Option) (*modelfile.Description, error) {
	if path == "" || path == embedded.Name {
		return modelfile.OpenBytes(embedded.Name, embedded.Story())
	}
	if configFile == "" && filepath.Ext(path) == ".json" && isFile(path) { // a configuration stands for its folder
		path, configFile = filepath.Split(path)
		path = filepath.Clean(path)
	}
	if configFile != "" {
		opts = append(opts, modelfile.ConfigName(configFile))
	}
	return modelfile.Open(path, opts...)
}

func display(path string) string {
	if path == "" {
		return embedded.Name
	}
	return path
}

func (m *Model) load(ctx context.Context) (err error) {
	if m.model, err = compile.Compile(m.desc, m.cfg.compileOptions()); err != nil {
		return err
	}
	m.plan = newPlan(display(m.Path()), m.cfg, m.model, m.desc)
	m.plan.listeners = m.watch.Listeners()
	if err := m.loadText(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.memory, err = m.settle(ctx); err != nil {
		return err
	}
	if err := m.begin(); err != nil {
		return errors.Join(err, m.memory.close())
	}
	return nil
}

// begin runs the model on the weights where they are now.
func (m *Model) begin() (err error) {
	w, c := m.memory.weights, m.plan.execConfig()
	c.Pack, c.Stream = m.memory.pack, m.memory.stream
	x, err := exec.New(&m.model.Plans, w, c)
	if err != nil {
		return err
	}
	m.packing = x.Packing()
	if m.packing.Fault != nil {
		if m.cfg.Strict {
			x.Close()
			return strictly("packing", m.packing.Fault.Error())
		}
		m.cfg.Logger.Warn("packed weights on disk", "err", m.packing.Fault)
	}
	m.scratch, m.tokenBytes = x.ScratchBytes(), tokenBytes(&m.model.Plans.Decode.Plan, w)
	m.promptOps = promptOps(&m.model.Plans.Prefill.Plan, w, m.cfg.Precise)
	m.sched, err = sched.New(x, m.schedule())
	if err != nil {
		x.Close()
		return err
	}
	m.cfg.Logger.Info("model open", "path", display(m.desc.Path), "family", m.model.Family,
		"threads", m.cfg.Threads, "context", m.context(), "scratch_bytes", m.scratch,
		"pack", m.packing)
	return nil
}

// loadText loads what the model needs for text. Without it, or with a
// tokenizer that cannot be run, a model still computes with token ids; what
// needs text returns the reason. Damage is an error.
func (m *Model) loadText() (err error) {
	if m.text, err = text.Load(m.desc); err == nil {
		return nil
	}
	_, unknown := errors.AsType[*token.UnknownError](err)
	// The vocabulary of a GGUF file was made from the model's own tokenizer, and
	// not every converter leaves one that can be run.
	_, unfit := errors.AsType[*token.FormatError](err)
	switch {
	case text.Partial(err):
	case unknown, unfit && m.desc.Format == modelfile.GGUF:
		m.text = &text.Text{Sampling: text.Usual}
	default:
		return err
	}
	m.textErr = fmt.Errorf("%s: %w", display(m.Path()), err)
	m.cfg.Logger.Warn("text is incomplete", "err", m.textErr)
	return nil
}

// tokenBytes adds up the weights that a decode step reads whole: all but a
// table that is only looked up.
func tokenBytes(p *plan.ExecutionPlan, w map[string]tensor.View) int64 {
	whole := map[string]bool{}
	for i := range p.Instructions {
		ins := &p.Instructions[i]
		for _, ref := range ins.Weights {
			if ref != plan.NoWeight && ins.Op != plan.OpEmbedding {
				whole[p.Weights[ref].Name] = true
			}
		}
	}
	var n int64
	for name := range whole {
		n += int64(len(w[name].Data))
	}
	return n
}

// allRows is how many rows of logits a step may hold when every row's are
// wanted.
const allRows = 16

// usualContext bounds the context when none is asked for: long contexts cost
// memory that most uses never need.
const usualContext = 4096

func (m *Model) context() int { return m.cfg.context(&m.model.Config) }

// context returns how many tokens a sequence of a model may have.
func (c *Config) context(model *compile.Config) int {
	made := model.Context
	for _, r := range model.Ropes {
		if r.Scaling == "dynamic" { // made to go beyond what it was trained for
			made = max(made, int(float64(model.Context)*float64(r.Factor)))
		}
	}
	switch {
	case c.Context > 0:
		return c.Context
	case made > 0:
		return min(made, usualContext)
	}
	return usualContext
}

func (c *Config) compileOptions() compile.Options {
	kv, _ := cacheType(c.CacheType) // checked by withDefaults
	return compile.Options{KVType: kv, PageTokens: c.PageTokens, NoFuse: c.NoFuse}
}

// Close ends all requests, waits for the step in flight, unmaps the weights and
// completes what was observed. If the configuration is strict it fails when
// the process had more memory than its budget. It is idempotent.
func (m *Model) Close() error {
	var err error
	m.close.Do(func() {
		m.sched.Close()
		err = errors.Join(m.memory.close(), m.watch.Close(), m.desc.Close(), m.unmerge(), m.withinBudget())
	})
	return err
}

// Path returns the path the model was opened with, "" for the embedded one.
func (m *Model) Path() string {
	if m.desc.Path == embedded.Name {
		return ""
	}
	return m.desc.Path
}

// Context returns how many tokens a sequence may have.
func (m *Model) Context() int { return m.context() }

// Vocab returns the number of tokens, the width of a row of logits.
func (m *Model) Vocab() int { return m.model.Config.Vocab }

// Family returns the name of the model's family, such as "llama".
func (m *Model) Family() string { return m.model.Family }

// Memory returns the bytes of mapped weights, of cached keys and values, and
// of scratch.
func (m *Model) Memory() (weights, cache, scratch int64) {
	return m.totals.Bytes, m.sched.CacheBytes(), m.scratch
}
