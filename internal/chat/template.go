package chat

import (
	"maps"
	"time"
)

// A Template is a parsed chat template. It does not change and may be used
// from several goroutines at once.
type Template struct {
	name string
	prog *program
}

// Parse reads a template; name is for messages. What it refuses it reports as
// a [*SyntaxError] with line and column.
func Parse(name, source string) (*Template, error) {
	body, err := parse(name, source)
	if err != nil {
		return nil, err
	}
	p, err := resolve(name, body)
	if err != nil {
		return nil, err
	}
	return &Template{name: name, prog: p}, nil
}

// A Context holds what a conversation passes to its template. The four named
// variables always exist; values may be [Value]s or anything [ValueOf] takes.
type Context struct {
	Messages            any // nil: no messages
	Tools               any // nil: None
	Documents           any // nil: None
	AddGenerationPrompt bool
	Vars                *Map      // further variables by name: bos_token, enable_thinking …
	Now                 time.Time // for strftime_now; zero: the clock
	Limits              Limits    // zero: the defaults
}

// Limits bound a rendering. A field that is zero has its default.
type Limits struct {
	Steps  int64 // nodes visited and 32-byte pieces of text touched; 20 million
	Bytes  int64 // text and lists created in all, alive or not; 256 MiB
	Output int64 // bytes of the result; 32 MiB
	Calls  int   // macros and recursive loops inside each other; 200
}

func (l Limits) withDefaults() Limits {
	if l.Steps == 0 {
		l.Steps = 20_000_000
	}
	if l.Bytes == 0 {
		l.Bytes = 256 << 20
	}
	if l.Output == 0 {
		l.Output = 32 << 20
	}
	if l.Calls == 0 {
		l.Calls = 200
	}
	return l
}

// A Result is a rendered conversation.
type Result struct {
	Text string
	// Assistant holds [start, end) in code points of Text for each
	// {% generation %} block: what the model itself said.
	Assistant [][2]int
}

// Render runs the template. The error is a [*RaiseError] when the template
// refuses the conversation, else a [*RuntimeError]. A nil ctx is an empty one.
func (t *Template) Render(ctx *Context) (Result, error) {
	if ctx == nil {
		ctx = &Context{}
	}
	vars, err := ctx.variables()
	if err != nil {
		return Result{}, err
	}
	root := &sink{root: true}
	m := &machine{
		name: t.name, lim: ctx.Limits.withDefaults(), now: ctx.Now, out: root, root: root,
		blocks: t.prog.blocks,
	}
	m.steps, m.bytes = m.lim.Steps, m.lim.Bytes
	f := &frame{slots: newSlots(t.prog.fn), ctx: &scope{vars: vars}}
	if t.prog.self >= 0 {
		f.slots[t.prog.self] = &templateRef{f}
	}
	m.open(f, t.prog.scope)
	if _, err := m.run(f, t.prog.body); err != nil {
		return Result{}, m.at(pos{1, 1}, err)
	}
	return Result{Text: root.b.String(), Assistant: m.spans}, nil
}

func (c *Context) variables() (map[string]Value, error) {
	vars := maps.Clone(globals)
	for k, v := range c.Vars.All() {
		name, ok := k.(string)
		if !ok {
			return nil, typeError("variable name of type %s", typeName(k))
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
