package place

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"atenia/internal/memory"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
)

// A fileError says what is wrong with a plan file, and where. It matches
// [ErrFile].
type fileError struct {
	Line   int // from 1
	Offset int64
	Field  string // a field of the file or the name of a tensor; may be empty
	Why    string
	Err    error
}

func (e *fileError) Error() string {
	s := fmt.Sprintf("plan file: line %d, byte %d: ", e.Line, e.Offset)
	if e.Field != "" {
		s += e.Field + ": "
	}
	s += e.Why
	if e.Err != nil {
		s += ": " + strings.TrimPrefix(e.Err.Error(), "json: ")
	}
	return s
}

// Is reports whether target is [ErrFile].
func (e *fileError) Is(target error) bool { return target == ErrFile }

// Unwrap returns the cause.
func (e *fileError) Unwrap() error { return e.Err }

// UnmarshalText reads a name.
func (c *Class) UnmarshalText(b []byte) error {
	i := slices.Index(classNames[:], string(b))
	if i < 0 {
		return fmt.Errorf("no class %q; there are %s", b, strings.Join(classNames[:], ", "))
	}
	*c = Class(i)
	return nil
}

// mostFile is the bytes that a plan file may have: some hundred for each tensor.
const mostFile = 256 << 20

// Read reads a plan file by name. Errors name it.
func Read(path string) (*File, error) {
	b, err := durable.ReadRegular(path, mostFile)
	if err != nil {
		return nil, err
	}
	f, err := Parse(spelling.WithoutMark(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Parse reads a plan file. Errors are [*fileError].
func Parse(b []byte) (*File, error) {
	p := &parser{b: b, dec: json.NewDecoder(bytes.NewReader(b))}
	p.dec.DisallowUnknownFields()
	f := &File{}
	if err := p.file(f); err != nil {
		return nil, err
	}
	return f, nil
}

type parser struct {
	b     []byte
	dec   *json.Decoder
	start int64 // of the current value
}

// errorf returns an error at the value that was read last.
func (p *parser) errorf(field string, err error, format string, args ...any) error {
	at := p.start
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = s.Offset
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		at, err = int64(len(p.b)), io.ErrUnexpectedEOF
	}
	at = max(0, min(at, int64(len(p.b))))
	return &fileError{Line: 1 + bytes.Count(p.b[:at], []byte("\n")), Offset: at, Field: field, Why: fmt.Sprintf(format, args...), Err: err}
}

// next records where the next value starts.
func (p *parser) next() {
	p.start = p.dec.InputOffset()
	for p.start < int64(len(p.b)) && strings.IndexByte(" \t\r\n,:", p.b[p.start]) >= 0 {
		p.start++
	}
}

func (p *parser) delim(want json.Delim, field string) error {
	p.next()
	t, err := p.dec.Token()
	if err != nil {
		return p.errorf(field, err, "want %q", want.String())
	}
	if t != want {
		return p.errorf(field, nil, "want %q, got %v", want.String(), t)
	}
	return nil
}

func (p *parser) value(field string, at any) error {
	p.next()
	if err := p.dec.Decode(at); err != nil {
		return p.errorf(field, err, "not what belongs here")
	}
	return nil
}

func (p *parser) file(f *File) error {
	if err := p.delim('{', ""); err != nil {
		return err
	}
	seen := map[string]bool{}
	format := ""
	for p.dec.More() {
		p.next()
		t, err := p.dec.Token()
		key, ok := t.(string)
		switch {
		case err != nil || !ok:
			return p.errorf("", err, "want the name of a field")
		case seen[key]:
			return p.errorf(key, nil, "a second time")
		}
		seen[key] = true
		if err := p.field(f, key, &format); err != nil {
			return err
		}
	}
	if err := p.delim('}', ""); err != nil {
		return err
	}
	p.next()
	if _, err := p.dec.Token(); err != io.EOF {
		return p.errorf("", nil, "something follows the end")
	}
	p.start = 0
	if format != fileFormat {
		return p.errorf("format", nil, "want %q, got %q", fileFormat, format)
	}
	return nil
}

func (p *parser) field(f *File, key string, format *string) error {
	switch key {
	case "format":
		return p.value(key, format)
	case "tensors":
		return p.tensors(f)
	}
	for _, x := range f.fields() {
		if x.name != key {
			continue
		}
		if err := p.value(key, x.at); err != nil {
			return err
		}
		if n, ok := x.at.(*int64); ok && (*n < 0 || *n > maxBytes) {
			return p.errorf(key, nil, "want 0 bytes or more, got %d", *n)
		}
		return nil
	}
	return p.errorf(key, nil, "there is no such field")
}

func (p *parser) tensors(f *File) error {
	if err := p.delim('[', "tensors"); err != nil {
		return err
	}
	names := map[string]bool{}
	for p.dec.More() {
		var e Entry
		if err := p.value("tensors", &e); err != nil {
			return err
		}
		switch {
		case e.Name == "":
			return p.errorf("tensors", nil, "want a name")
		case names[e.Name]:
			return p.errorf(e.Name, nil, "a second time")
		case e.Bytes < 0 || e.Bytes > maxBytes:
			return p.errorf(e.Name, nil, "want 0 bytes or more, got %d", e.Bytes)
		case e.Tier == memory.CPU:
			return p.errorf(e.Name, nil, "want Vram, Ram or Ssd")
		case e.Device != "" && e.Tier != memory.VRAM:
			return p.errorf(e.Name, nil, "only Vram has devices")
		}
		names[e.Name] = true
		f.Tensors = append(f.Tensors, e)
	}
	return p.delim(']', "tensors")
}
