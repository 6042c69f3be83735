package chat

import (
	"maps"
	"strings"
	"sync/atomic"
	"time"
)

// A Template is a parsed chat template. It does not change and may be used
// from several goroutines at once.
type Template struct {
	name   string
	source string
	prog   *program
	own    string // characters of private use in the source: they stand for nothing else

	texts []string // of the source: see [textsOf]
	dyed  atomic.Pointer[dyed]
}

// Parse reads a template; name is for messages. An invalid template is a
// [*SyntaxError] with line and column.
func Parse(name, source string) (*Template, error) {
	body, err := parseTemplate(name, source)
	if err != nil {
		return nil, err
	}
	texts := textsOf(body)
	p, err := resolve(name, body, &library{Filters: filters, Tests: tests, Unknown: unknown})
	if err != nil {
		return nil, err
	}
	own := strings.Map(func(r rune) rune {
		if r < privateFirst {
			return -1
		}
		return r
	}, source)
	return &Template{name: name, source: source, prog: p, own: own, texts: texts}, nil
}

// Source returns what was parsed.
func (t *Template) Source() string { return t.source }

// A Context holds the variables of a conversation. The four named ones always
// exist; values may be [Value]s or anything that [ValueOf] converts.
type Context struct {
	Messages            any // nil: no messages
	Tools               any // nil: None
	Documents           any // nil: None
	AddGenerationPrompt bool
	Vars                *Map            // further variables by name: bos_token, enable_thinking …
	Asked               *Map            // the same, of whoever asks: what they say is the conversation's, and what Vars say the template's
	Now                 time.Time       // for strftime_now; zero: the clock
	Limits              Limits          // zero: the defaults
	Done                <-chan struct{} // rendering gives up with an error when it is closed; nil: never
	// Control is what must not come from the conversation; nil: anything may. See
	// [Result.Said].
	Control *Control
}

// A Result is a rendered conversation.
type Result struct {
	Text string
	// Assistant holds [start, end) in code points of Text for each {%
	// generation %} block: the model's own text.
	Assistant [][2]int
	// Said holds bytes of Text that the template did not write, in order: each control
	// token of Context.Control that is not the template's alone, but for a role or a number
	// in it, has one of them. It is nil without Control.
	Said []int
}

// Render runs the template. The error is a [*RaiseError] if the template
// rejects the conversation, else a [*RuntimeError]. A nil ctx is an empty one.
func (t *Template) Render(ctx *Context) (Result, error) {
	if ctx == nil {
		ctx = &Context{}
	}
	machine := newMachine(ctx.Limits)
	machine.done = ctx.Done
	vars, err := ctx.variables(machine, t)
	if err != nil {
		return Result{}, err
	}
	root := &sink{root: true, said: []int{}}
	root.b.Grow(int(min(int64(machine.texts+machine.texts/8), machine.Limits.Output)))
	m := &interp{Machine: machine, name: t.name, now: ctx.Now, out: root, root: root, blocks: t.prog.Blocks}
	vars["strftime_now"] = &function{Name: "strftime_now", Call: m.strftimeNow}
	if err := m.template(t.prog, &scope{vars: vars}); err != nil {
		return Result{}, m.told(m.at(Pos{Line: 1, Col: 1}, err))
	}
	r := Result{Assistant: m.spans}
	if r.Text = root.b.String(); m.Control != nil {
		r.Said = root.said
	}
	return r, nil
}

func (m *interp) template(p *program, ctx *scope) error {
	f, err := m.newFrame(p.Fn, nil, ctx)
	if err != nil {
		return err
	}
	if p.Self >= 0 {
		f.slots[p.Self] = &templateRef{m, f}
	}
	_, err = m.within(f, p.Scope, p.Body)
	return err
}

func (c *Context) variables(m *Machine, t *Template) (map[string]Value, error) {
	vars := maps.Clone(globals)
	names := [3]string{"messages", "tools", "documents"}
	var said [3]Value
	for i, v := range [3]any{c.Messages, c.Tools, c.Documents} {
		var err error
		if said[i], err = ValueOf(v); err != nil {
			return nil, err
		}
	}
	if err := m.trace(t, c.Control, c.Vars, said[0], said[1], said[2], c.Asked); err != nil {
		return nil, err
	}
	if err := named(vars, c.Vars, m.dye); err != nil {
		return nil, err
	}
	if err := named(vars, c.Asked, func(s string) string { return s }); err != nil {
		return nil, err
	}
	var err error
	if said[0], err = m.roles(said[0]); err != nil {
		return nil, err
	}
	vars["messages"] = NewList()
	vars["add_generation_prompt"] = c.AddGenerationPrompt
	for i, v := range said {
		if v != nil || names[i] != "messages" {
			vars[names[i]] = v
		}
	}
	return vars, nil
}

// named gives vars what a map has by name, its texts through f.
func named(vars map[string]Value, of *Map, f func(string) string) error {
	for k, v := range of.All() {
		name, ok := k.(string)
		if !ok {
			return typeError("variable name of type %s", typeName(k))
		}
		if s, ok := text(v); ok {
			v = like(v, f(s))
		}
		vars[name] = v
	}
	return nil
}
