package nested

import (
	"atenia/grad"

	"atenia/nested/rule"
)

// Float is an element type: float32 to run and train, float64 to check
// gradients.
type Float interface{ float32 | float64 }

// A Model is a configuration with its parameters, made by [New]. Several goroutines, each with
// its own [Runner], may compute passes at the same time as long as no parameter
// changes meanwhile.
type Model[F Float] struct {
	cfg    Config
	layout *rule.Layout
	plan   *parameters
	values []F
	grads  []F
	params []*grad.Param[F]
	reg    grad.Registry[F]

	initial [][]F // states at the start of a document, [layer·levels + level]
}

// stateSeed separates the random numbers of initial states from those of
// parameters.
const stateSeed = 77

// New returns a model with parameters initialized from the configuration's
// seed. Its error lists every fault of the configuration.
func New[F Float](c Config) (*Model[F], error) {
	c = c.WithDefaults()
	if err := c.Check(); err != nil {
		return nil, err
	}
	b, err := rule.New[F](c.Rule, c.Width, c.Memory)
	if err != nil {
		return nil, err
	}
	m := &Model[F]{cfg: c, layout: b.Layout, plan: arrange(&c, b.Layout)}
	m.values, m.grads = make([]F, m.plan.size), make([]F, m.plan.size)
	initialise(m.plan, &c, m.layout, m.values)
	for layer := range uint64(c.Layers) {
		for level := range c.Periods {
			s := make([]F, m.layout.StateLen)
			b.InitState(s, rule.NewRand(c.Seed+stateSeed+layer<<32+uint64(level)))
			m.initial = append(m.initial, s)
		}
	}
	m.params = views(m.plan, m.values, m.grads)
	m.reg.Register(attentionKey, attentionBack[F])
	m.reg.Register(tapsKey, tapsBack[F])
	m.reg.Register(coreKey, coreBack[F])
	rule.Register(&m.reg)
	return m, nil
}

// Config returns the configuration with its defaults filled in.
func (m *Model[F]) Config() Config { return m.cfg }

// Layout returns the layout of a level's parameters and state.
func (m *Model[F]) Layout() *rule.Layout { return m.layout }

// Params returns the parameters with their gradients, always the same in the
// same order, as [grad.NewOptimizer] takes them. Values may be changed between passes.
func (m *Model[F]) Params() []*grad.Param[F] { return m.params }

// Param returns the parameter with that name.
func (m *Model[F]) Param(name string) (*grad.Param[F], bool) {
	for _, p := range m.params {
		if p.Name == name {
			return p, true
		}
	}
	return nil, false
}

// levelRange returns where a level's parameters are in the flat vector.
func (m *Model[F]) levelRange(layer, level int) (at, n int) {
	return m.plan.layers[layer].levels[level], m.layout.ParamLen
}
