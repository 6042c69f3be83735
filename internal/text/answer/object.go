package answer

import (
	"encoding/json"
	"strings"
)

// maxDepth bounds the nesting of arguments.
const maxDepth = 64

// bareCalls reads calls without a mark where the answer begins. Only objects that name
// a function of the tools and its arguments, and nothing else, are calls.
func (p *Parser) bareCalls() {
	for {
		p.good = p.at
		before := p.calls
		p.spaces()
		if p.calls > 0 && p.skip(";") {
			p.spaces()
		}
		if c, ok := p.peek(); !ok || c != '{' {
			p.at, p.good = p.good, -1
			return
		}
		if !p.object(&syntax{}, true, 0) || p.calls == before {
			p.fail()
			return
		}
		p.good, p.lead = -1, true
	}
}

// objects reads an object of a call, several, or a list of them.
func (p *Parser) objects(s *syntax) bool {
	if p.skip("[") {
		for first := true; ; first = false {
			p.spaces()
			if p.skip("]") {
				return true
			}
			if !first {
				if !p.skip(",") {
					return false
				}
				p.spaces()
			}
			if !p.object(s, false, 0) {
				return false
			}
		}
	}
	for {
		if !p.object(s, false, 0) {
			return false
		}
		place := p.at
		p.spaces()
		if p.skip(",") || p.skip(";") {
			p.spaces()
		}
		if c, _ := p.peek(); c != '{' {
			p.at = place
			return true
		}
	}
}

// object reads an object that is a call. A strict one has no other members and names a
// function that there is.
func (p *Parser) object(s *syntax, strict bool, depth int) bool {
	if depth > 1 || !p.skip("{") {
		return false
	}
	name, id, late := "", "", ""
	began := false
	p.spaces()
	for first := true; !p.skip("}"); first = false {
		if !first && !p.skip(",") {
			return false
		}
		key, ok := p.key()
		if !ok {
			return false
		}
		c, _ := p.peek()
		switch {
		case s.keyed:
			if name != "" || c != '{' || !proper(key) {
				return false
			}
			name, began = key, true
			p.begin(name, "")
			ok = p.streamed()
		case (key == "name" || key == "tool_name") && c == '"':
			name, ok = p.quoted()
			ok = ok && proper(name) && (!strict || p.types[name] != nil)
		case key == "function" && c == '{' && !strict:
			if !p.object(s, strict, depth+1) {
				return false
			}
			began, name = true, "."
		case key == "arguments" || key == "parameters":
			if began || late != "" {
				return false
			}
			if c == '{' && name != "" {
				began = true
				p.begin(name, id)
				ok = p.streamed()
				break
			}
			late, ok = p.written()
		case key == "id" && c == '"':
			id, ok = p.quoted()
		case strict && key != "type":
			return false
		default:
			ok = p.value(0)
		}
		if !ok {
			return false
		}
		p.spaces()
	}
	switch {
	case name == "":
		return false
	case !began && strict && late == "":
		return false
	case !began:
		if late == "" {
			late = "{}"
		}
		p.begin(name, id)
		p.arguments(late)
	}
	p.complete()
	return true
}

// key reads a member's name and the colon.
func (p *Parser) key() (string, bool) {
	p.spaces()
	key, ok := p.quoted()
	if !ok {
		return "", false
	}
	p.spaces()
	if !p.skip(":") {
		return "", false
	}
	p.spaces()
	return key, true
}

// written reads arguments whose name is not known yet, or which are JSON in a text.
func (p *Parser) written() (string, bool) {
	start := p.at
	if !p.value(0) {
		return "", false
	}
	raw := p.from(start)
	if raw == "null" || raw == `""` {
		return "{}", true
	}
	if raw[0] == '"' && json.Unmarshal([]byte(raw), &raw) != nil {
		return "", false
	}
	raw = strings.TrimSpace(raw)
	return raw, strings.HasPrefix(raw, "{") && json.Valid([]byte(raw))
}

// streamed reads arguments and passes them on as they are.
func (p *Parser) streamed() bool {
	p.streaming = p.at
	ok := p.value(0)
	if ok {
		p.flow()
	}
	p.streaming = -1
	return ok
}

// quoted reads a text of JSON and returns what it says.
func (p *Parser) quoted() (string, bool) {
	start := p.at
	if !p.string() {
		return "", false
	}
	var text string
	err := json.Unmarshal([]byte(p.from(start)), &text)
	return text, err == nil
}

// value reads a value of JSON (RFC 8259), strictly.
func (p *Parser) value(depth int) bool {
	c, ok := p.peek()
	switch {
	case !ok || depth > maxDepth:
		return false
	case c == '"':
		return p.string()
	case c == '{' || c == '[':
		return p.container(c, depth)
	}
	start := p.at
	for {
		c, ok := p.peek()
		if !ok || p.at-start > 400 {
			break
		}
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == 'E' || c == '+' || c == '-' || c == '.') {
			break
		}
		p.at++
	}
	return json.Valid([]byte(p.from(start)))
}

func (p *Parser) container(c byte, depth int) bool {
	p.at++
	end := "}"
	if c == '[' {
		end = "]"
	}
	p.spaces()
	if p.skip(end) {
		return true
	}
	for {
		p.spaces()
		if c == '{' {
			if !p.string() {
				return false
			}
			p.spaces()
			if !p.skip(":") {
				return false
			}
			p.spaces()
		}
		if !p.value(depth + 1) {
			return false
		}
		p.spaces()
		if p.skip(end) {
			return true
		}
		if !p.skip(",") {
			return false
		}
	}
}

// string reads a text of JSON.
func (p *Parser) string() bool {
	if !p.skip(`"`) {
		return false
	}
	for {
		c, ok := p.peek()
		switch {
		case !ok || c < ' ':
			return false
		case c == '"':
			p.at++
			return true
		case c == '\\':
			p.at++
			e, ok := p.peek()
			if !ok || strings.IndexByte(`"\/bfnrtu`, e) < 0 {
				return false
			}
			if e == 'u' {
				for range 4 {
					p.at++
					h, ok := p.peek()
					if !ok || strings.IndexByte("0123456789abcdefABCDEF", h) < 0 {
						return false
					}
				}
			}
		}
		p.at++
	}
}
