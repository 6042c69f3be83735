package answer

import (
	"encoding/json"
	"strconv"
	"strings"
)

// called reads the calls that a mark begins. What is none becomes text.
func (p *Parser) called(mark string) {
	held := p.held
	p.held = ""
	p.good = p.at
	before := p.calls
	p.at += len(mark)
	ok := p.choose(mark)
	if ok {
		p.good = -1
		p.lead = true
		return
	}
	if p.calls == before || p.open && p.calls == before+1 {
		p.held = held // the space belongs to the text
	}
	p.fail()
}

// fail makes text of what was read of calls since the last complete one.
func (p *Parser) fail() {
	p.streaming = -1
	if p.open {
		p.emit(Event{Call: &Part{Index: p.calls - 1, Broken: true}})
		p.open = false
	}
	raw := p.from(p.good)
	p.good, p.over, p.lead = -1, false, false
	p.say(raw, false)
}

// choose reads calls in the first syntax that begins with mark and fits what follows.
func (p *Parser) choose(mark string) bool {
	p.spaces()
	for _, s := range p.d.calls {
		switch {
		case mark == s.section:
			if p.fits(s) {
				return p.section(s)
			}
		case mark == s.open:
			if p.fitsBody(s) {
				return p.one(s)
			}
		}
	}
	return false
}

// fits reports whether the input goes on as a syntax does after its section's mark.
func (p *Parser) fits(s *syntax) bool {
	if s.open == "" {
		return p.fitsBody(s)
	}
	if s.lead != "" {
		return p.has(s.open + s.lead)
	}
	return p.has(s.open)
}

// fitsBody reports whether a call of a syntax may come next.
func (p *Parser) fitsBody(s *syntax) bool {
	c, ok := p.peek()
	switch {
	case !ok:
		return false
	case s.body == jsonBody:
		return c == '{' || c == '[' && p.listed()
	case s.body == pythonBody:
		return c == '[' || letter(c)
	case s.body == namedBody && s.lead != "":
		return p.has(s.lead)
	case s.body == taggedBody && s.tags.name != "" && s.open != s.tags.name:
		return p.has(s.tags.name)
	}
	return c != '{' && c != '['
}

// listed reports whether a list of objects comes next.
func (p *Parser) listed() bool {
	place := p.at
	p.at++
	p.spaces()
	c, _ := p.peek()
	p.at = place
	return c == '{' || c == ']'
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }

// section reads calls up to the section's end.
func (p *Parser) section(s *syntax) bool {
	for {
		p.spaces()
		if p.skip(s.sectionEnd) {
			p.good = p.at
			return true
		}
		if _, more := p.peek(); !more && !p.over && p.good == p.at {
			return true
		}
		if s.open == "" {
			if !p.fitsBody(s) || !p.body(s) {
				return p.good == p.at
			}
		} else if !p.skip(s.open) || !p.one(s) {
			return false
		}
		p.spaces()
		if !p.open {
			p.good = p.at
		}
	}
}

// one reads what follows a call's opening mark, with the closing one.
func (p *Parser) one(s *syntax) bool {
	p.spaces()
	if !p.body(s) {
		return false
	}
	if s.close != "" {
		place := p.at
		p.spaces()
		if !p.skip(s.close) {
			p.at = place
		}
	}
	p.good = p.at
	return true
}

func (p *Parser) body(s *syntax) bool {
	switch s.body {
	case jsonBody:
		return p.objects(s)
	case namedBody:
		return p.named(s)
	case taggedBody:
		return p.tagged(s)
	case pythonBody:
		return p.python()
	}
	return p.braces(s.quote)
}

// begin passes a call's beginning on.
func (p *Parser) begin(name, id string) {
	if id == "" {
		if p.o.NewID != nil {
			id = p.o.NewID()
		} else {
			id = "call_" + strconv.Itoa(p.calls)
		}
	}
	p.emit(Event{Call: &Part{Index: p.calls, ID: id, Name: name}})
	p.calls++
	p.open = true
}

// arguments passes on a part of the arguments of the call that began last.
func (p *Parser) arguments(text string) {
	p.emit(Event{Call: &Part{Index: p.calls - 1, Arguments: text}})
}

// complete ends a call.
func (p *Parser) complete() {
	p.open = false
	p.good = p.at
}

// named reads name, sep and arguments.
func (p *Parser) named(s *syntax) bool {
	if s.lead != "" && !p.skip(s.lead) {
		return false
	}
	ends := []string{s.sep}
	if s.idMark != "" {
		ends = append(ends, s.idMark)
	}
	name, ok := p.until(ends...)
	if !ok {
		return false
	}
	id := ""
	if s.idMark != "" && p.skip(s.idMark) {
		second, ok := p.until(s.sep)
		if !ok {
			return false
		}
		if id = second; s.idFirst {
			name, id = second, name
		}
	}
	p.at += len(s.sep)
	name, id = strings.TrimSpace(name), strings.TrimSpace(id)
	if s.dotted { // functions.name:0
		id = name
		name = strings.TrimPrefix(name, "functions.")
		if i := strings.LastIndexByte(name, ':'); i >= 0 {
			name = name[:i]
		}
	}
	if !proper(name) {
		return false
	}
	p.spaces()
	fence := s.fence && p.skip("```json")
	p.spaces()
	if c, _ := p.peek(); c != '{' {
		return false
	}
	p.begin(name, id)
	if !p.streamed() {
		return false
	}
	if fence {
		p.spaces()
		p.skip("```")
	}
	p.complete()
	return true
}

// proper reports whether a text may be the name of a function.
func proper(name string) bool {
	return name != "" && len(name) <= 256 && !strings.ContainsAny(name, " \t\r\n<>{}[]()\"'`")
}

// tagged reads a name and arguments between marks.
func (p *Parser) tagged(s *syntax) bool {
	t := &s.tags
	if s.open != t.name && !p.skip(t.name) {
		return false
	}
	end := t.end
	if end == "" {
		end = s.close
	}
	ends := []string{t.nameEnd}
	if t.nameEnd == "" {
		ends = []string{t.key, end}
	}
	name, ok := p.until(ends...)
	if !ok || !proper(strings.TrimSpace(name)) {
		return false
	}
	p.at += len(t.nameEnd)
	if t.attrs != "" {
		if _, ok := p.until(t.attrs); !ok {
			return false
		}
		p.at += len(t.attrs)
	}
	name = strings.TrimSpace(name)
	p.begin(name, "")
	p.arguments("{")
	for n := 0; ; n++ {
		p.spaces()
		if p.has(end) {
			if t.end != "" {
				p.at += len(end)
			}
			break
		}
		if _, more := p.peek(); !more && !p.over && n > 0 && t.end == "" {
			break
		}
		member, ok := p.tag(t, name)
		if !ok {
			return false
		}
		if n > 0 {
			member = ", " + member
		}
		p.arguments(member)
	}
	p.arguments("}")
	p.complete()
	return true
}

// tag reads one argument and returns it as a member of an object.
func (p *Parser) tag(t *tags, function string) (member string, ok bool) {
	if !p.skip(t.key) {
		return "", false
	}
	key, ok := p.until(t.keyEnd)
	if !ok {
		return "", false
	}
	p.at += len(t.keyEnd)
	kind := p.types[function][strings.TrimSpace(key)]
	if t.attrs != "" {
		attributes, ok := p.until(t.attrs)
		if !ok {
			return "", false
		}
		p.at += len(t.attrs)
		switch {
		case strings.Contains(attributes, `string="true"`) || strings.Contains(attributes, `type="string"`):
			kind = "string"
		case strings.Contains(attributes, `string="false"`) || strings.Contains(attributes, `type="`):
			kind = "json"
		}
	}
	if t.value != "" {
		p.spaces()
		if !p.skip(t.value) {
			return "", false
		}
	}
	end := strings.ReplaceAll(t.valueEnd, "%", key)
	value, ok := p.until(end)
	if !ok {
		return "", false
	}
	p.at += len(end)
	if t.value == "" { // on lines of its own
		value = strings.TrimPrefix(value, "\n")
		value = strings.TrimSuffix(value, "\n")
	}
	return quote(strings.TrimSpace(key)) + ": " + typed(value, kind), true
}

// typed returns a value as JSON: a text if it must be one or is nothing else.
func typed(value, kind string) string {
	v := strings.TrimSpace(value)
	if data, ok := strings.CutPrefix(v, "<![CDATA["); ok {
		if data, ok = strings.CutSuffix(data, "]]>"); ok {
			return quote(data)
		}
	}
	switch {
	case kind == "string":
		return quote(value)
	case v == "True" || v == "False":
		return strings.ToLower(v)
	case v == "None":
		return "null"
	case v != "" && json.Valid([]byte(v)):
		return v
	case v != "" && strings.IndexByte("[{(", v[0]) >= 0: // a template that prints what Python has
		p := &Parser{d: &Dialect{}, in: []byte(v), good: -1, streaming: -1, ended: true}
		if b, ok := p.literal(nil, "", 0); ok && p.at == len(v) {
			return string(b)
		}
	}
	return quote(value)
}

// quote returns a text as JSON, without the escapes that HTML needs.
func quote(text string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(text)
	return strings.TrimSuffix(b.String(), "\n")
}

// typesOf returns the types of the parameters that tools have; of a schema that says
// none, or several, there is none.
func typesOf(tools []Tool) map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, t := range tools {
		var schema struct {
			Properties map[string]json.RawMessage
		}
		json.Unmarshal(t.Parameters, &schema) // no types are not an error
		types := map[string]string{}
		for name, raw := range schema.Properties {
			var property struct{ Type string }
			if json.Unmarshal(raw, &property) == nil {
				types[name] = property.Type
			}
		}
		all[t.Name] = types
	}
	return all
}
