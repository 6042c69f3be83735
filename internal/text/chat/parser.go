package chat

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxSource = 4 << 20 // bytes
	maxNest   = 200     // brackets and blocks inside each other
	maxParams = 1000    // of a macro, or named in a call
)

// A parser builds the tree, as jinja2.parser does; the grammar of expressions
// is in parseexpr.go.
type parser struct {
	lex   *lexer
	cur   token
	ahead []token
	nest  int
}

// parseTemplate reads a template into a tree whose names are not yet resolved.
func parseTemplate(name, source string) (body []stmt, err error) {
	if len(source) > maxSource {
		return nil, &SyntaxError{Name: name, Line: 1, Col: 1, Msg: fmt.Sprintf("template of %d bytes, at most %d", len(source), maxSource)}
	}
	p := &parser{lex: newLexer(name, source)}
	if err := p.advance(); err != nil {
		return nil, err
	}
	body, _, err = p.body("")
	return body, err
}

func (p *parser) errorAt(at Pos, construct, format string, args ...any) error {
	return &SyntaxError{Name: p.lex.name, Line: int(at.Line), Col: int(at.Col), Construct: construct, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) advance() (err error) {
	if len(p.ahead) > 0 {
		p.cur, p.ahead = p.ahead[0], p.ahead[1:]
		return nil
	}
	p.cur, err = p.lex.next()
	return err
}

// look returns the token after the current one.
func (p *parser) look() (token, error) {
	if len(p.ahead) == 0 {
		t, err := p.lex.next()
		if err != nil {
			return t, err
		}
		p.ahead = append(p.ahead, t)
	}
	return p.ahead[0], nil
}

func (p *parser) is(kind tokenKind) bool  { return p.cur.kind == kind }
func (p *parser) isName(name string) bool { return p.cur.kind == tokName && p.cur.text == name }

func (p *parser) expected(what string) error {
	return p.errorAt(p.cur.pos, p.cur.describe(), "expected %s, got %q", what, p.cur.describe())
}

func (p *parser) expect(kind tokenKind) (token, error) {
	t := p.cur
	if t.kind != kind {
		return t, p.expected(string(kind))
	}
	return t, p.advance()
}

func (p *parser) accept(kind tokenKind) (bool, error) {
	if p.cur.kind != kind {
		return false, nil
	}
	return true, p.advance()
}

func (p *parser) acceptName(name string) (bool, error) {
	if !p.isName(name) {
		return false, nil
	}
	return true, p.advance()
}

// enter guards recursion; each call is paired with leave.
func (p *parser) enter() error {
	if p.nest++; p.nest > maxNest {
		return p.errorAt(p.cur.pos, "nesting", "nested deeper than %d", maxNest)
	}
	return nil
}

func (p *parser) leave() { p.nest-- }

// body parses up to one of the end tags, separated by spaces, consumes it and
// returns it. Without end tags it parses to the end of the source.
func (p *parser) body(ends string) (body []stmt, end string, err error) {
	if err := p.enter(); err != nil {
		return nil, "", err
	}
	defer p.leave()
	for {
		t := p.cur
		if err := p.advance(); err != nil {
			return nil, "", err
		}
		switch t.kind {
		case tokEOF:
			if ends != "" {
				return nil, "", p.errorAt(t.pos, "end of template", "unexpected end of template, looking for %s", strings.ReplaceAll(ends, " ", " or "))
			}
			return body, "", nil
		case tokData:
			body = append(body, &outputStmt{Pos: t.pos, Text: t.text})
		case tokVarBegin:
			x, err := p.tuple(tupleOpts{cond: true})
			if err != nil {
				return nil, "", err
			}
			body = append(body, &outputStmt{Pos: t.pos, X: x})
			if _, err := p.expect(tokVarEnd); err != nil {
				return nil, "", err
			}
		case tokTagBegin:
			if ends != "" && p.is(tokName) && slices.Contains(strings.Fields(ends), p.cur.text) {
				end := p.cur.text
				return body, end, p.advance()
			}
			s, err := p.statement(ends)
			if err != nil {
				return nil, "", err
			}
			body = append(body, s...)
			if _, err := p.expect(tokTagEnd); err != nil {
				return nil, "", err
			}
		default:
			return nil, "", p.errorAt(t.pos, t.describe(), "unexpected %q", t.describe())
		}
	}
}

// block parses the rest of an opening tag and the body behind it.
func (p *parser) block(ends string) ([]stmt, string, error) {
	if _, err := p.accept(":"); err != nil {
		return nil, "", err
	}
	if _, err := p.expect(tokTagEnd); err != nil {
		return nil, "", err
	}
	return p.body(ends)
}

// statement parses one tag, the current token being its name.
func (p *parser) statement(ends string) ([]stmt, error) {
	t := p.cur
	if t.kind != tokName {
		return nil, p.errorAt(t.pos, t.describe(), "expected a tag name, got %q", t.describe())
	}
	if why, ok := refusedTags[t.text]; ok {
		return nil, p.errorAt(t.pos, t.text, "the tag %q is not supported: %s", t.text, why)
	}
	f, ok := statements[t.text]
	if !ok {
		msg := fmt.Sprintf("unknown tag %q", t.text)
		if ends != "" {
			msg += ", looking for " + strings.ReplaceAll(ends, " ", " or ")
		}
		return nil, p.errorAt(t.pos, t.text, "%s", msg)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return f(p, t.pos)
}

// refusedTags are Jinja tags that need other templates or an HTML environment.
var refusedTags = map[string]string{
	"include": "a chat template stands alone",
	"import":  "a chat template stands alone",
	"from":    "a chat template stands alone",
	"extends": "a chat template stands alone",
}

// statements holds the parser of each tag; it starts after the tag's name.
var statements map[string]func(*parser, Pos) ([]stmt, error)

func init() { // a literal would be an initialization cycle
	statements = map[string]func(*parser, Pos) ([]stmt, error){
		"if": (*parser).ifTag, "for": (*parser).forTag, "set": (*parser).setTag, "print": (*parser).printTag,
		"macro": (*parser).macroTag, "call": (*parser).callTag, "filter": (*parser).filterTag, "with": (*parser).withTag,
		"block": (*parser).blockTag, "generation": (*parser).generationTag, "autoescape": (*parser).autoescapeTag,
		"break": (*parser).breakTag, "continue": (*parser).continueTag,
	}
}

func (p *parser) ifTag(at Pos) ([]stmt, error) {
	s := &ifStmt{Pos: at}
	for {
		x, err := p.tuple(tupleOpts{})
		if err != nil {
			return nil, err
		}
		body, end, err := p.block("elif else endif")
		if err != nil {
			return nil, err
		}
		s.Tests, s.Bodies = append(s.Tests, x), append(s.Bodies, body)
		if end == "elif" {
			continue
		}
		if end == "else" {
			body, _, err := p.block("endif")
			if err != nil {
				return nil, err
			}
			s.Bodies = append(s.Bodies, body)
		}
		return []stmt{s}, nil
	}
}

func (p *parser) forTag(at Pos) ([]stmt, error) {
	s := &forStmt{Pos: at, LoopSlot: -1}
	var err error
	if s.Target, err = p.target(false); err != nil {
		return nil, err
	}
	if ok, err := p.acceptName("in"); err != nil {
		return nil, err
	} else if !ok {
		return nil, p.expected("in")
	}
	if s.Iter, err = p.tuple(tupleOpts{}); err != nil {
		return nil, err
	}
	if ok, err := p.acceptName("if"); err != nil {
		return nil, err
	} else if ok {
		if s.Test, err = p.expression(true); err != nil {
			return nil, err
		}
	}
	if s.Recursive, err = p.acceptName("recursive"); err != nil {
		return nil, err
	}
	var end string
	if s.Body, end, err = p.block("endfor else"); err != nil {
		return nil, err
	}
	if end == "else" {
		if s.Els, _, err = p.block("endfor"); err != nil {
			return nil, err
		}
		if s.Els == nil {
			s.Els = []stmt{}
		}
	}
	return []stmt{s}, nil
}

func (p *parser) setTag(at Pos) ([]stmt, error) {
	t, err := p.target(true)
	if err != nil {
		return nil, err
	}
	if ok, err := p.accept("="); err != nil {
		return nil, err
	} else if ok {
		x, err := p.tuple(tupleOpts{cond: true})
		return []stmt{&assignStmt{Pos: at, Target: t, X: x}}, err
	}
	s := &assignBlockStmt{Pos: at, Target: t}
	x, err := p.filters(nil, false)
	if err != nil {
		return nil, err
	}
	if x != nil {
		s.Filter = x.(*filterExpr)
	}
	s.Body, _, err = p.block("endset")
	return []stmt{s}, err
}

func (p *parser) printTag(Pos) ([]stmt, error) {
	var out []stmt
	for !p.is(tokTagEnd) {
		if len(out) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		at := p.cur.pos
		x, err := p.expression(true)
		if err != nil {
			return nil, err
		}
		out = append(out, &outputStmt{Pos: at, X: x})
	}
	return out, nil
}

// signature parses the parameters of a macro or call block.
func (p *parser) signature(d *macroDef) error {
	if _, err := p.expect("("); err != nil {
		return err
	}
	for !p.is(")") {
		if len(d.Params) > 0 {
			if _, err := p.expect(","); err != nil {
				return err
			}
		}
		t, err := p.expect(tokName)
		if err != nil {
			return err
		}
		if reserved(t.text) {
			return p.errorAt(t.pos, t.text, "cannot assign to %q", t.text)
		}
		if ok, err := p.accept("="); err != nil {
			return err
		} else if ok {
			x, err := p.expression(true)
			if err != nil {
				return err
			}
			d.Defaults = append(d.Defaults, x)
		} else if len(d.Defaults) > 0 {
			return p.errorAt(t.pos, t.text, "the parameter %q without default follows one with a default", t.text)
		}
		if len(d.Params) == maxParams {
			return p.errorAt(t.pos, "parameters", "more than %d parameters", maxParams)
		}
		for _, q := range d.Params {
			if q.Name == t.text {
				return p.errorAt(t.pos, t.text, "duplicate parameter %q", t.text)
			}
		}
		d.Params = append(d.Params, &Target{Pos: t.pos, Name: t.text})
	}
	return p.advance()
}

func newMacroDef(at Pos, name string) *macroDef {
	return &macroDef{Pos: at, Name: name, Caller: -1, Kwargs: -1, VarArg: -1}
}

func (p *parser) macroTag(at Pos) ([]stmt, error) {
	t, err := p.expect(tokName)
	if err != nil {
		return nil, err
	}
	if reserved(t.text) {
		return nil, p.errorAt(t.pos, t.text, "cannot assign to %q", t.text)
	}
	d := newMacroDef(at, t.text)
	if err := p.signature(d); err != nil {
		return nil, err
	}
	d.Body, _, err = p.block("endmacro")
	return []stmt{&macroStmt{Pos: at, Def: d}}, err
}

func (p *parser) callTag(at Pos) ([]stmt, error) {
	d := newMacroDef(at, "")
	if p.is("(") {
		if err := p.signature(d); err != nil {
			return nil, err
		}
	}
	x, err := p.expression(true)
	if err != nil {
		return nil, err
	}
	c, ok := x.(*callExpr)
	if !ok {
		return nil, p.errorAt(at, "call", "expected a call")
	}
	d.Body, _, err = p.block("endcall")
	return []stmt{&callStmt{Pos: at, Call: c, Def: d}}, err
}

func (p *parser) filterTag(at Pos) ([]stmt, error) {
	x, err := p.filters(nil, true)
	if err != nil {
		return nil, err
	}
	s := &filterBlockStmt{Pos: at, Filter: x.(*filterExpr)}
	s.Body, _, err = p.block("endfilter")
	return []stmt{s}, err
}

func (p *parser) withTag(at Pos) ([]stmt, error) {
	s := &withStmt{Pos: at}
	for !p.is(tokTagEnd) {
		if len(s.Targets) > 0 {
			if _, err := p.expect(","); err != nil {
				return nil, err
			}
		}
		t, err := p.target(false)
		if err != nil {
			return nil, err
		}
		if _, err := p.expect("="); err != nil {
			return nil, err
		}
		x, err := p.expression(true)
		if err != nil {
			return nil, err
		}
		s.Targets, s.Values = append(s.Targets, t), append(s.Values, x)
	}
	var err error
	s.Body, _, err = p.block("endwith")
	return []stmt{s}, err
}

func (p *parser) blockTag(at Pos) ([]stmt, error) {
	t, err := p.expect(tokName)
	if err != nil {
		return nil, err
	}
	b := &blockStmt{Pos: at, Name: t.text, Self: -1, Super: -1}
	if b.Scoped, err = p.acceptName("scoped"); err != nil {
		return nil, err
	}
	if b.required, err = p.acceptName("required"); err != nil {
		return nil, err
	}
	if b.Body, _, err = p.block("endblock"); err != nil {
		return nil, err
	}
	if b.required {
		return nil, p.errorAt(at, "block", "required block %q without a template that fills it", b.Name)
	}
	_, err = p.acceptName(b.Name)
	return []stmt{b}, err
}

func (p *parser) generationTag(at Pos) ([]stmt, error) {
	d := newMacroDef(at, "")
	var err error
	d.Body, _, err = p.block("endgeneration")
	return []stmt{&generationStmt{Pos: at, Def: d}}, err
}

func (p *parser) autoescapeTag(at Pos) ([]stmt, error) {
	x, err := p.expression(true)
	if err != nil {
		return nil, err
	}
	if c, ok := x.(*constExpr); !ok || truth(c.Value) {
		return nil, p.errorAt(at, "autoescape", "the tag %q is only supported with false: prompts are not HTML", "autoescape")
	}
	s := &withStmt{Pos: at}
	s.Body, _, err = p.block("endautoescape")
	return []stmt{s}, err
}

func (p *parser) breakTag(at Pos) ([]stmt, error) {
	return []stmt{&loopCtlStmt{Pos: at, Flow: flowBreak}}, nil
}

func (p *parser) continueTag(at Pos) ([]stmt, error) {
	return []stmt{&loopCtlStmt{Pos: at, Flow: flowContinue}}, nil
}

// reserved reports the names that are constants.
func reserved(name string) bool {
	switch name {
	case "true", "false", "none", "True", "False", "None":
		return true
	}
	return false
}
