package host

// Errors of the library become those of a request: by its client's names.

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"atenia"
	"atenia/internal/spelling"
)

// called returns the path of what a body calls a field of the library, and whether it was sent:
// "" if no client has such a field.
func called(of string, body any) (path string, sent bool) {
	var list []string
	for _, r := range rows {
		if r.of == of {
			list = append(list, r.name)
		}
	}
	if len(list) == 0 {
		return "", false
	}
	best := 2 * len(list)
	path = list[0]
	built(body, func(at, name string, f reflect.Value) {
		i := slices.Index(list, name)
		if i < 0 {
			return
		}
		if f.IsZero() {
			i += len(list)
		}
		if i < best {
			best, path = i, at
		}
	})
	return path, best < len(list)
}

// schemaOf returns the path of the parameters of a tool in a body.
func schemaOf(tool string, body any) string {
	path := "tools"
	walk(reflect.ValueOf(body), "", func(at string, list reflect.Value, _ reflect.Type) {
		if at != "tools" || list.Kind() != reflect.Slice {
			return
		}
		for i := range list.Len() {
			name, schema := "", ""
			walk(list.Index(i), "", func(at string, f reflect.Value, _ reflect.Type) {
				switch at {
				case "name", "function.name":
					name = cmp.Or(name, f.String())
				case "parameters", "input_schema", "function.parameters":
					schema = at
				}
			})
			if name == tool {
				path = "tools[" + strconv.Itoa(i) + "]." + schema
				return
			}
		}
	})
	return path
}

// Problem returns err as a problem, by the names of the request's body. What is no fault of the
// request is an internal error, whose text the client is not told.
func (r *Request) Problem(err error) *Problem { return problemIn(err, r.Said) }

// invalid says what is wrong with a field in a body. A field that no client has is the
// operator's.
func invalid(err error, field string, got any, want string, body any) *Problem {
	p := &Problem{Status: http.StatusBadRequest, Code: "invalid_value", Message: err.Error(), Err: err}
	field, _, _ = strings.Cut(field, "[")
	if p.Param, _ = called(field, body); p.Param == "" {
		return p
	}
	switch s := got.(type) {
	case nil:
		p.Message = p.Param + ": " + want
	case string:
		p.Message = spelling.Sprintf("%s is %q, want %s", p.Param, s, want)
	default:
		p.Message = fmt.Sprintf("%s is %v, want %s", p.Param, got, want)
	}
	return p
}

// misshapen says what is wrong with a schema or a grammar in a body.
func misshapen(e *atenia.GrammarError, body any) *Problem {
	p := &Problem{Status: http.StatusBadRequest, Code: "invalid_value", Err: e}
	grammar, sent := called("Grammar", body)
	switch {
	case e.Tool != "":
		p.Param = schemaOf(e.Tool, body)
		p.Message = fmt.Sprintf("%s: at %s: %s", p.Param, cmp.Or(e.Pointer, "/"), e.Why)
		return p
	case sent:
		p.Param = grammar
	default:
		p.Param, _ = called("Schema", body)
	}
	_, why, _ := strings.Cut(e.Error(), ": ")
	p.Message = p.Param + ": " + why
	return p
}

// problemIn is [Request.Problem] for a body; nil = there is none.
func problemIn(err error, body any) *Problem {
	p := *problemOf(err)
	if p.Param == "messages" {
		p.Param, _ = called(p.Param, body)
	}
	if _, ok := errors.AsType[*Problem](err); ok {
		return &p
	}
	if e, ok := errors.AsType[*atenia.GrammarError](err); ok {
		return misshapen(e, body)
	}
	if e, ok := errors.AsType[*atenia.ConfigError](err); ok {
		got := e.Got
		if e.Field == "MustCall" {
			got = nil // a word of the library's
		}
		return invalid(err, e.Field, got, e.Want, body)
	}
	if e, ok := errors.AsType[*atenia.TextLengthError](err); ok && e.Bytes == 0 {
		p.Message, _, _ = strings.Cut(e.Error(), ": ")
		p.Message += `: divide it, or have it cut by "truncate": true`
	}
	return &p
}
