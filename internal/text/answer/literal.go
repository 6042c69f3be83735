package answer

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// python reads calls as Python writes them, or a list of them.
func (p *Parser) python() bool {
	list := p.skip("[")
	for {
		p.spaces()
		if !p.pythonCall() {
			return false
		}
		place := p.at
		p.spaces()
		switch {
		case list && p.skip("]"):
			p.good = p.at
			return true
		case list && !p.skip(","):
			return false
		case !list:
			if p.skip(";") {
				p.spaces()
			}
			if c, ok := p.peek(); !ok || !letter(c) {
				p.at = place
				return true
			}
		}
	}
}

// pythonCall reads name(key=value, …). The built-in tools of Llama are written
// name.call(key=value).
func (p *Parser) pythonCall() bool {
	name, ok := p.until("(")
	name = strings.TrimSuffix(strings.TrimSpace(name), ".call")
	if !ok || !proper(name) {
		return false
	}
	p.at++
	args := []byte("{")
	for {
		p.spaces()
		if p.skip(")") {
			break
		}
		if len(args) > 1 {
			if !p.skip(",") {
				return false
			}
			p.spaces()
			if p.skip(")") {
				break
			}
			args = append(args, ", "...)
		}
		key, ok := p.until("=")
		if key = strings.TrimSpace(key); !ok || !proper(key) {
			return false
		}
		p.at++
		p.spaces()
		args = append(append(args, quote(key)...), ": "...)
		if args, ok = p.literal(args, "", 0); !ok {
			return false
		}
	}
	p.begin(name, "")
	p.arguments(string(append(args, '}')))
	p.complete()
	return true
}

// braces reads name{key:value,…}, in which a mark is on both sides of a text.
func (p *Parser) braces(mark string) bool {
	name, ok := p.until("{")
	if name = strings.TrimSpace(name); !ok || !proper(name) {
		return false
	}
	args, ok := p.literal(nil, mark, 0)
	if !ok {
		return false
	}
	p.begin(name, "")
	p.arguments(string(args))
	p.complete()
	return true
}

// literal appends a value to b as JSON. With a mark it is of Gemma's notation, in which
// keys are bare and texts are between marks; without, it is Python's.
func (p *Parser) literal(b []byte, mark string, depth int) ([]byte, bool) {
	c, ok := p.peek()
	switch {
	case !ok || depth > maxDepth:
		return b, false
	case mark != "" && p.has(mark):
		text, ok := p.marked(mark)
		return append(b, quote(text)...), ok
	case c == '{' || c == '[' || c == '(' && mark == "":
		return p.items(b, c, mark, depth)
	case c == '\'' || c == '"':
		text, ok := p.pythonString(c)
		return append(b, quote(text)...), ok
	}
	start := p.at
	for {
		c, ok := p.peek()
		if !ok || strings.IndexByte(",:)]}\n ", c) >= 0 || p.at-start > 400 {
			break
		}
		p.at++
	}
	word := p.from(start)
	switch word {
	case "True", "False":
		word = strings.ToLower(word)
	case "None":
		word = "null"
	}
	return append(b, word...), json.Valid([]byte(word))
}

// marked reads a text between marks.
func (p *Parser) marked(mark string) (string, bool) {
	p.at += len(mark)
	text, ok := p.until(mark)
	if ok {
		p.at += len(mark)
	}
	return text, ok
}

// items appends a mapping or a list.
func (p *Parser) items(b []byte, c byte, mark string, depth int) ([]byte, bool) {
	p.at++
	end := map[byte]string{'{': "}", '[': "]", '(': ")"}[c]
	if c == '(' {
		c = '['
	}
	b = append(b, c)
	for first := true; ; first = false {
		p.spaces()
		if p.skip(end) {
			break
		}
		if !first {
			if !p.skip(",") {
				return b, false
			}
			if p.spaces(); p.skip(end) {
				break
			}
			b = append(b, ", "...)
		}
		ok := false
		if c == '{' {
			if b, ok = p.itemKey(b, mark); !ok {
				return b, false
			}
		}
		if b, ok = p.literal(b, mark, depth+1); !ok {
			return b, false
		}
	}
	return append(b, map[byte]byte{'{': '}', '[': ']'}[c]), true
}

// itemKey appends a key and the colon.
func (p *Parser) itemKey(b []byte, mark string) ([]byte, bool) {
	c, _ := p.peek()
	key, ok := "", false
	switch {
	case mark != "" && p.has(mark):
		key, ok = p.marked(mark)
	case c == '\'' || c == '"':
		key, ok = p.pythonString(c)
	case mark != "":
		key, ok = p.until(":")
	}
	if !ok {
		return b, false
	}
	p.spaces()
	if !p.skip(":") {
		return b, false
	}
	p.spaces()
	return append(append(b, quote(key)...), ": "...), true
}

// pythonString reads a text of Python on one line.
func (p *Parser) pythonString(end byte) (string, bool) {
	p.at++
	var b []byte
	for {
		c, ok := p.peek()
		if !ok {
			return "", false
		}
		p.at++
		if c == end {
			return string(bytes.ToValidUTF8(b, []byte("\uFFFD"))), true
		}
		if c != '\\' {
			b = append(b, c)
			continue
		}
		if c, ok = p.peek(); !ok {
			return "", false
		}
		p.at++
		digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		if i := strings.IndexByte("ntrbf0", c); i >= 0 {
			b = append(b, "\n\t\r\b\f\x00"[i])
		} else if digits > 0 {
			start := p.at
			for range digits {
				if _, ok := p.peek(); !ok {
					return "", false
				}
				p.at++
			}
			n, err := strconv.ParseUint(p.from(start), 16, 32)
			if err != nil {
				return "", false
			}
			b = utf8.AppendRune(b, rune(min(n, utf8.MaxRune+1)))
		} else if strings.IndexByte("\\'\"\n", c) >= 0 {
			b = append(b, c)
		} else { // Python keeps what it does not know
			b = append(b, '\\', c)
		}
	}
}
