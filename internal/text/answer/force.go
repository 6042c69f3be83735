package answer

import "strings"

// A Forced is how an answer is made to be a call: Begin follows the prompt, and the
// model writes the rest, as JSON that a schema constrains.
type Forced struct {
	Begin string
	// NameAt is where in Begin the function's name stands; 0 if it is not there.
	NameAt int
	// Arguments says that Begin has the function's name, so that the rest is its
	// arguments; otherwise it is an object with "name" and [Forced.Key].
	Arguments bool
	// Key is the name of the arguments in the object.
	Key string
	// Read is what the parser is given before the answer, in Dialect.
	Read    string
	Dialect *Dialect
}

// Force returns how an answer to a prompt is made to be a call, of the function with
// the given name, or with "" of one that the model chooses. A model whose calls are
// not written as JSON gets no mark of its own: the object alone is the answer.
func (d *Dialect) Force(prompt, name string) Forced {
	f := Forced{Key: "arguments", Dialect: d}
	for _, t := range d.thoughts {
		if t.begunBy(prompt) {
			f.Begin = t.end + "\n\n"
		}
	}
	for _, s := range d.calls {
		begin := s.section + s.open
		switch {
		case begin == "":
			continue
		case s.body == jsonBody && !s.keyed:
			if strings.HasPrefix(s.open, "<tool_call>") || strings.HasSuffix(s.open, "```json") {
				begin += "\n"
			}
			if s.name == "llama 3" {
				f.Key = "parameters"
			}
		case s.body == namedBody && name != "" && !s.idFirst:
			if begin += s.lead; s.dotted {
				begin += "functions."
			}
			f.NameAt = len(f.Begin) + len(begin)
			if begin += name; s.dotted {
				begin += ":0"
			}
			if begin += s.sep; s.fence {
				begin += "```json\n"
			}
			f.Arguments = true
		default:
			continue
		}
		f.Read = begin
		f.Begin += begin
		return f
	}
	f.Dialect = &Dialect{calls: []*syntax{&syntaxes[0]}}
	f.Read = syntaxes[0].open
	return f
}
