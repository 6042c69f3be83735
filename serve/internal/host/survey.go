package host

// What a body may hold, which is looked at before anything of it is kept: a value of two
// bytes may take hundreds once it is decoded.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"atenia/internal/spelling"
)

// The most that a body may have of each.
const (
	mostMessages = 4096    // of a list, unless another limit is named
	mostInputs   = 2048    // prompts, inputs and documents
	mostStops    = 64      // stop texts
	mostTools    = 256     // tools
	mostDepth    = 64      // lists and objects in each other
	mostObjects  = 65536   // in all
	mostNames    = 65536   // choices of an enumeration in a schema
	mostValues   = 1 << 18 // elements of lists and fields of objects in all, but for tokens
	mostTokens   = 1 << 20 // numbers of lists that are tokens

	// MostStopBytes is how long a stop text may be: the end of an answer is compared with
	// all of it.
	MostStopBytes = 4096
)

// Survey fails if a body holds more than it may. It leaves what is no JSON to the decoder.
// Arguments of calls are a text that is JSON itself, which is decoded for the chat template:
// what it holds counts as what the body holds.
func Survey(body []byte) error {
	var s counts
	return s.add(body)
}

// tokens reports whether numbers in a list are tokens: of a field, or of lists in its list.
func tokens(field []byte) bool {
	switch string(field) {
	case "prompt", "input", "inputs", "tokens", "context", "answer":
		return true
	}
	return false
}

func stops(field []byte) bool { return string(field) == "stop" || string(field) == "stop_sequences" }

// mostOf returns how many elements a list may have that is the value of a field.
func mostOf(field []byte) int {
	switch string(field) {
	case "prompt", "input", "inputs", "documents", "texts":
		return mostInputs
	case "stop", "stop_sequences":
		return mostStops
	case "tools", "functions":
		return mostTools
	case "enum", "required", "anyof", "oneof", "allof":
		return mostNames
	}
	return mostMessages
}

// longestName is how many bytes a name may have that is read as the decoder reads it, which
// takes letters of either case and escapes for the name of a field.
const longestName = 128

// folded returns the name of a field in lower case, without escapes.
func folded(name []byte) []byte {
	odd := func(r rune) bool { return !(r >= 'a' && r <= 'z' || r == '_') }
	if len(name) > longestName || bytes.IndexFunc(name, odd) < 0 {
		return name
	}
	var s string
	if json.Unmarshal([]byte(`"`+string(name)+`"`), &s) != nil {
		return name
	}
	return []byte(strings.ToLower(strings.ToUpper(s))) // "\u017f" is an s, too
}

// A level is a list or an object that the survey is in.
type level struct {
	list  bool
	count int    // elements of a list, but for tokens
	most  int    // of them
	field []byte // that has the list
	token bool   // its numbers are tokens
}

// counts are what a survey has seen so far.
type counts struct {
	levels               [mostDepth]level
	depth                int
	objects, values, ids int
	within               int // where the text of the body begins that is looked at; 0 = none is
}

// add counts what a text of JSON holds.
func (s *counts) add(body []byte) error {
	outer := s.depth
	var name []byte // of the field whose value comes next
	key := false    // a string is a name
	for i := 0; i < len(body); i++ {
		switch c := body[i]; c {
		case ' ', '\t', '\r', '\n', ':':
			continue
		case ',':
			key = s.depth > outer && !s.levels[s.depth-1].list
			continue
		case ']', '}':
			if s.depth == outer {
				return nil
			}
			s.depth--
			name, key = nil, false
			continue
		case '"':
			at := i
			if i = endOfString(body, i); key {
				if s.values++; s.values > mostValues {
					return s.tooMany(i)
				}
				name, key = folded(body[at+1:min(i, len(body))]), false
				continue
			}
			if err := s.text(name, body, at, min(i+1, len(body))); err != nil {
				return err
			}
		}
		// A value; of a word or a number it is the first byte.
		number := strings.IndexByte("-0123456789", body[min(i, len(body)-1)]) >= 0
		if err := s.element(number, i); err != nil {
			return err
		}
		switch c := body[min(i, len(body)-1)]; c {
		case '{', '[':
			if err := s.enter(c == '[', name, i); err != nil {
				return err
			}
			name, key = nil, c == '{'
		case 't', 'f', 'n':
			for i+1 < len(body) && strings.IndexByte("abcdefghijklmnopqrstuvwxyz", body[i+1]) >= 0 {
				i++
			}
		default:
			for number && i+1 < len(body) && strings.IndexByte("0123456789+-.eE", body[i+1]) >= 0 {
				i++
			}
		}
	}
	return nil
}

// endOfString returns where the string ends that begins at a byte: at its quote, or behind
// the body.
func endOfString(body []byte, at int) int {
	end := at + 1
	for ; end < len(body) && body[end] != '"'; end++ {
		if body[end] == '\\' {
			end++
		}
	}
	return end
}

// text looks at a string, bytes from to end of the body, that is the value of a field or in
// its list.
func (s *counts) text(field, body []byte, from, end int) error {
	if s.depth > 0 && s.levels[s.depth-1].list {
		field = s.levels[s.depth-1].field
	}
	switch n := end - from - 2; { // a conversation's own words are deeper than 3
	case stops(field) && s.depth <= 3 && s.within == 0 && n > MostStopBytes:
		return Invalid(string(field), "%s has a text of %d bytes, the most is %d", field, n, MostStopBytes)
	case string(field) != "arguments" || s.within > 0 || n <= 0:
		return nil
	}
	var inner string
	if json.Unmarshal(body[from:end], &inner) != nil {
		return nil
	}
	s.within = from
	depth := s.depth
	err := s.add([]byte(inner))
	s.depth, s.within = depth, 0
	return err
}

// element counts an element of a list.
func (s *counts) element(number bool, at int) error {
	if s.depth == 0 || !s.levels[s.depth-1].list {
		return nil
	}
	l := &s.levels[s.depth-1]
	if number && l.token {
		if s.ids++; s.ids > mostTokens {
			return Invalid(string(l.field), "there are more than %d tokens (byte %d of the body)", mostTokens, at)
		}
	} else if s.values++; s.values > mostValues {
		return s.tooMany(at)
	} else if l.count++; l.count > l.most {
		field := cmp.Or(spelling.Quotable(string(l.field)), "a list")
		return Invalid(field, "%s has at most %d elements, here are more (byte %d of %s): send them in several requests", field, l.most, at, s.where())
	}
	return nil
}

// enter counts a list or an object, which begins. Lists of tokens are fields of the body.
func (s *counts) enter(list bool, field []byte, at int) error {
	if s.depth == mostDepth {
		return Invalid("", "lists and objects are nested more than %d deep at byte %d of %s", mostDepth, at, s.where())
	}
	token := list && (s.depth == 1 && s.within == 0 && tokens(field) || s.depth > 0 && s.levels[s.depth-1].list && s.levels[s.depth-1].token)
	most := mostOf(field)
	if s.within > 0 { // whose fields have names of their own
		most = mostValues
	}
	s.levels[s.depth] = level{list: list, most: most, field: field, token: token}
	s.depth++
	if !list {
		if s.objects++; s.objects > mostObjects {
			return Invalid("", "the body has more than %d objects, at byte %d of %s", mostObjects, at, s.where())
		}
	}
	return nil
}

func (s *counts) tooMany(at int) error {
	return Invalid("", "the body has more than %d values, at byte %d of %s", mostValues, at, s.where())
}

// where names the text that places of faults are in.
func (s *counts) where() string {
	if s.within > 0 {
		return fmt.Sprintf("the arguments at byte %d of the body", s.within)
	}
	return "the body"
}
