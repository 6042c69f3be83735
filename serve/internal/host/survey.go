package host

// What a body may hold, which is looked at before anything of it is kept: a value of two
// bytes may take hundreds once it is decoded.

import "strings"

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
)

// tokens reports whether numbers in a list are tokens: of a field, or of lists in its list.
func tokens(field []byte) bool {
	switch string(field) {
	case "prompt", "input", "inputs", "tokens", "context":
		return true
	}
	return false
}

// mostOf returns how many elements a list may have that is the value of a field.
func mostOf(field []byte) int {
	switch string(field) {
	case "prompt", "input", "inputs", "documents", "texts":
		return mostInputs
	case "stop", "stop_sequences":
		return mostStops
	case "tools", "functions":
		return mostTools
	case "enum", "required", "anyOf", "oneOf", "allOf":
		return mostNames
	}
	return mostMessages
}

// A level is a list or an object that the survey is in.
type level struct {
	list  bool
	count int    // elements of a list, but for tokens
	most  int    // of them
	field []byte // that has the list
	token bool   // its numbers are tokens
}

// survey fails if a body holds more than it may. It allocates nothing but an error, and
// leaves what is no JSON to the decoder.
func survey(body []byte) error {
	var levels [mostDepth]level
	depth, objects, values, ids := 0, 0, 0, 0
	var name []byte // of the field whose value comes next
	key := false    // a string is a name
	for i := 0; i < len(body); i++ {
		switch c := body[i]; c {
		case ' ', '\t', '\r', '\n', ':':
			continue
		case ',':
			key = depth > 0 && !levels[depth-1].list
			continue
		case ']', '}':
			if depth--; depth < 0 {
				return nil
			}
			name, key = nil, false
			continue
		case '"':
			end := i + 1
			for ; end < len(body) && body[end] != '"'; end++ {
				if body[end] == '\\' {
					end++
				}
			}
			at := i + 1
			i = end
			if key {
				if values++; values > mostValues {
					return tooMany(i)
				}
				name, key = body[at:min(end, len(body))], false
				continue
			}
		}
		// A value; of a word or a number it is the first byte.
		number := strings.IndexByte("-0123456789", body[min(i, len(body)-1)]) >= 0
		if depth > 0 && levels[depth-1].list {
			l := &levels[depth-1]
			if number && l.token {
				if ids++; ids > mostTokens {
					return Invalid(string(l.field), "there are more than %d tokens (byte %d of the body)", mostTokens, i)
				}
			} else if values++; values > mostValues {
				return tooMany(i)
			} else if l.count++; l.count > l.most {
				field := string(l.field)
				if field == "" {
					field = "a list"
				}
				return Invalid(field, "%s has at most %d elements, here are more (byte %d of the body): send them in several requests", field, l.most, i)
			}
		}
		switch c := body[min(i, len(body)-1)]; c {
		case '{', '[':
			if depth == mostDepth {
				return Invalid("", "lists and objects are nested more than %d deep at byte %d of the body", mostDepth, i)
			}
			within := depth > 0 && levels[depth-1].list && levels[depth-1].token
			levels[depth] = level{list: c == '[', most: mostOf(name), field: name, token: c == '[' && (tokens(name) || within)}
			if depth++; c == '{' {
				if objects++; objects > mostObjects {
					return Invalid("", "the body has more than %d objects, at byte %d", mostObjects, i)
				}
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

func tooMany(at int) error {
	return Invalid("", "the body has more than %d values, at byte %d", mostValues, at)
}
