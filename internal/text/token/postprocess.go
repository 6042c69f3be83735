package token

// Post-processors: the special tokens around the tokens of a text or a pair of
// texts, and the trimming of offsets.

import (
	"unicode"
	"unicode/utf8"
)

// An encoding is the tokens of one text, or of a part of the result. off and
// texts are nil if offsets are not requested.
type encoding struct {
	ids   []int32
	types []int32  // 0 or 1: the text of a pair, as set by the template
	off   []Span   // in code points of the original
	texts []string // each token's text, for trimming

	longest int // bytes of the longest word
}

func (e *encoding) add(id, kind int32) {
	e.ids, e.types = append(e.ids, id), append(e.types, kind)
}

// addSpecial appends a token without text.
func (e *encoding) addSpecial(id, kind int32, offsets bool) {
	e.add(id, kind)
	if offsets {
		e.off, e.texts = append(e.off, Span{}), append(e.texts, "")
	}
}

func (e *encoding) join(o encoding) {
	e.ids, e.types = append(e.ids, o.ids...), append(e.types, o.types...)
	e.off, e.texts = append(e.off, o.off...), append(e.texts, o.texts...)
}

func (e *encoding) setTypes(kind int32) {
	for i := range e.types {
		e.types[i] = kind
	}
}

// A postProcessor turns the encodings of one or two texts into parts of the
// result. It adds special tokens only if special is set.
type postProcessor interface {
	process(parts []encoding, special, offsets bool) []encoding
}

type (
	// postProcessors is "Sequence".
	postProcessors []postProcessor

	// trimmer is "ByteLevel": offsets exclude white space.
	trimmer struct{ trim, prefixSpace bool }

	// enclosure is "BertProcessing" and "RobertaProcessing".
	enclosure struct {
		cls, sep int32
		roberta  bool
		trimmer
	}

	// template is "TemplateProcessing".
	template struct{ single, pair []slot }
)

// A slot is an element of a template: a text, or special tokens.
type slot struct {
	text  int     // 0 or 1, if ids is nil
	ids   []int32 // of a special token
	types int32
}

func (ps postProcessors) process(parts []encoding, special, offsets bool) []encoding {
	for _, p := range ps {
		parts = p.process(parts, special, offsets)
	}
	return parts
}

func (t trimmer) process(parts []encoding, _, _ bool) []encoding {
	if !t.trim {
		return parts
	}
	for _, e := range parts {
		for i := range e.off {
			lead, trail := spaces(e.texts[i])
			o := &e.off[i]
			if lead == 1 && t.prefixSpace && (i == 0 || o.A == 0) {
				lead = 0 // the space was added by the tokenizer
			}
			if lead > 0 {
				o.A = min(o.A+lead, o.B)
			}
			if trail > 0 && o.B >= trail {
				o.B = max(o.B-trail, o.A)
			}
		}
	}
	return parts
}

// spaces counts the white space at the start and the end of a token, including
// the byte-level form of a space.
func spaces(s string) (lead, trail int32) {
	white := func(r rune) bool { return r == byteChar[' '] || unicode.IsSpace(r) }
	for _, r := range s {
		if !white(r) {
			break
		}
		lead++
	}
	for len(s) > 0 {
		r, n := utf8.DecodeLastRuneInString(s)
		if !white(r) {
			break
		}
		trail++
		s = s[:len(s)-n]
	}
	return lead, trail
}

func (c enclosure) process(parts []encoding, special, offsets bool) []encoding {
	if c.roberta {
		parts = c.trimmer.process(parts, special, offsets)
		for i := range parts {
			parts[i].setTypes(0)
		}
	}
	if !special {
		return parts
	}
	out := make([]encoding, len(parts))
	for i, p := range parts {
		kind := int32(0)
		switch {
		case i == 0:
			out[i].addSpecial(c.cls, 0, offsets)
		case c.roberta:
			out[i].addSpecial(c.sep, 0, offsets)
		default:
			kind = 1
		}
		out[i].join(p)
		out[i].addSpecial(c.sep, kind, offsets)
	}
	return out
}

func (t template) process(parts []encoding, special, offsets bool) []encoding {
	slots := t.single
	if len(parts) > 1 {
		slots = t.pair
	}
	var out []encoding
	for _, s := range slots {
		switch {
		case s.ids == nil && s.text < len(parts):
			var e encoding
			e.join(parts[s.text])
			e.setTypes(s.types)
			out = append(out, e)
		case special:
			var e encoding
			for _, id := range s.ids {
				e.addSpecial(id, s.types, offsets)
			}
			out = append(out, e)
		}
	}
	return out
}
