package chat

import (
	"maps"
	"time"
)

// A Template is a parsed chat template. It does not change and may be used
// from several goroutines at once.
type Template struct {
	name string
	prog *Program
}

// Parse reads a template; name is for messages. An invalid template is a
// [*SyntaxError] with line and column.
func Parse(name, source string) (*Template, error) {
	body, err := ParseTemplate(name, source)
	if err != nil {
		return nil, err
	}
	p, err := Resolve(name, body, &Library{Filters: Filters, Tests: Tests, Unknown: Unknown})
	if err != nil {
		return nil, err
	}
	return &Template{name: name, prog: p}, nil
}

// A Context holds the variables of a conversation. The four named ones always
// exist; values may be [Value]s or anything that [ValueOf] converts.
type Context struct {
	Messages            any // nil: no messages
	Tools               any // nil: None
	Documents           any // nil: None
	AddGenerationPrompt bool
	Vars                *Map      // further variables by name: bos_token, enable_thinking …
	Now                 time.Time // for strftime_now; zero: the clock
	Limits              Limits    // zero: the defaults
}

// A Result is a rendered conversation.
type Result struct {
	Text string
	// Assistant holds [start, end) in code points of Text for each {%
	// generation %} block: the model's own text.
	Assistant [][2]int
}

// Render runs the template. The error is a [*RaiseError] if the template
// rejects the conversation, else a [*RuntimeError]. A nil ctx is an empty one.
func (t *Template) Render(ctx *Context) (Result, error) {
	if ctx == nil {
		ctx = &Context{}
	}
	vars, err := ctx.variables()
	if err != nil {
		return Result{}, err
	}
	root := &sink{root: true}
	m := &interp{Machine: NewMachine(ctx.Limits), name: t.name, now: ctx.Now, out: root, root: root, blocks: t.prog.Blocks}
	vars["strftime_now"] = &Function{Name: "strftime_now", Call: m.strftimeNow}
	if err := m.template(t.prog, &scope{vars: vars}); err != nil {
		return Result{}, m.at(Pos{Line: 1, Col: 1}, err)
	}
	return Result{Text: root.b.String(), Assistant: m.spans}, nil
}

func (m *interp) template(p *Program, ctx *scope) error {
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

func (c *Context) variables() (map[string]Value, error) {
	vars := maps.Clone(globals)
	for k, v := range c.Vars.All() {
		name, ok := k.(string)
		if !ok {
			return nil, TypeError("variable name of type %s", TypeName(k))
		}
		vars[name] = v
	}
	vars["messages"] = NewList()
	vars["add_generation_prompt"] = c.AddGenerationPrompt
	for _, arg := range []struct {
		name string
		v    any
	}{{"messages", c.Messages}, {"tools", c.Tools}, {"documents", c.Documents}} {
		v, err := ValueOf(arg.v)
		if err != nil {
			return nil, err
		}
		if v != nil || arg.name != "messages" {
			vars[arg.name] = v
		}
	}
	return vars, nil
}
