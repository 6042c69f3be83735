package host

// The body of a request as JSON.

import (
	"atenia/internal/spelling"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// ReadJSON reads the body into v, a pointer to a struct. Fields that v does not have are
// reported in the log and ignored. Everything else that is wrong is a [*Problem]
// that says where.
func (r *Request) ReadJSON(v any) error {
	body, err := r.ReadBody()
	if err != nil {
		return err
	}
	return r.Decode(body, v)
}

// Decode is [Request.ReadJSON] for a body that was read.
func (r *Request) Decode(body []byte, v any) error {
	r.Said = v
	unknown, err := decode(body, v)
	if err != nil {
		return err
	}
	if err := Refuse(v); err != nil {
		return err
	}
	if unknown != "" {
		r.Log.Warn("unknown field is ignored", "field", spelling.Quotable(unknown))
	}
	return nil
}

// ReadBody reads the whole body within the host's limits of size and time. While it
// comes, the request does not count for the limit on requests: clients that send half a
// body and wait would otherwise lock out all others.
func (r *Request) ReadBody() ([]byte, error) {
	if r.ContentLength > r.host.limits.Body {
		return nil, r.tooLarge()
	}
	r.host.busy.Add(-1)
	body, err := r.host.collect(r.Body)
	if busy := r.host.busy.Add(1); err == nil && busy > int64(r.host.limits.Requests) {
		return nil, r.host.tooMany()
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, r.tooLarge()
	}
	if errors.Is(err, errCrowded) {
		return nil, r.host.tooMany()
	}
	if err != nil {
		return nil, &Problem{Status: http.StatusBadRequest, Code: "incomplete_body", Message: "the body ended early", Err: err}
	}
	return body, nil
}

func (r *Request) tooLarge() *Problem {
	return &Problem{
		Status: http.StatusRequestEntityTooLarge, Code: "body_too_large",
		Message: fmt.Sprintf("the body has more than %d bytes, the server's limit", r.host.limits.Body),
	}
}

// Text returns a body without the byte order mark of clients that send files, if it is UTF-8.
func Text(body []byte) ([]byte, error) {
	body = spelling.WithoutMark(body)
	if at := spelling.InvalidUTF8(body); at >= 0 {
		return nil, Invalid("", "the body is not valid UTF-8 at byte %d", at)
	}
	return body, nil
}

// decode reads one JSON value, and returns the name of the first field that v does not
// have.
func decode(body []byte, v any) (unknown string, err error) {
	if body, err = Text(body); err != nil {
		return "", err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return "", Invalid("", "the body is empty, want a JSON object")
	}
	if err := Survey(body); err != nil {
		return "", err
	}
	reset := kept(v)
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err = d.Decode(v); err == nil {
		_, err = d.Token() // what follows the value
		if err == io.EOF {
			return "", nil
		}
	}
	// An unknown field, or a fault that is told with its place. The strict decoder goes on
	// after a field, but keeps only the first thing that it meets.
	if err != nil {
		fmt.Sscanf(err.Error(), "json: unknown field %q", &unknown)
	}
	reset()
	if err := json.Unmarshal(body, v); err != nil {
		return "", malformed(err, reflect.TypeOf(v))
	}
	return unknown, nil
}

// malformed says what is wrong with a body for a value of a type.
func malformed(err error, of reflect.Type) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok { // of a type with its own form
		return p
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return Invalid("", "the body is not JSON: %v at byte %d", e, e.Offset)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := written(e.Field, of)
		name := cmp.Or(field, "the body")
		return Invalid(field, "%s is a JSON %s at byte %d, want %s", name, spelling.Quotable(e.Value), e.Offset, kindName(e.Type))
	}
	return Invalid("", "%v", err)
}

// written returns a path of fields as a client writes it: package json names the structs
// that are embedded on the way, too.
func written(path string, of reflect.Type) string {
	var names []string
	for name := range strings.SplitSeq(path, ".") {
		for of != nil && (of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map) {
			of = of.Elem()
		}
		if of == nil || of.Kind() != reflect.Struct {
			names = append(names, name)
			continue
		}
		if f, ok := of.FieldByName(name); ok && f.Anonymous && f.Tag.Get("json") == "" {
			of = f.Type
			continue
		}
		names = append(names, name)
		var next reflect.Type
		for i := range of.NumField() {
			if tag, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); tag == name {
				next = of.Field(i).Type
			}
		}
		of = next
	}
	return strings.Join(names, ".")
}
