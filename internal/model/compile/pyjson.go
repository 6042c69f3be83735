package compile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// A pySyntaxError says where a text is not valid JSON.
type pySyntaxError struct {
	Line, Column int // from 1
	Msg          string
}

func (e *pySyntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg) }

// parsePyJSON reads one JSON object; numbers become [json.Number]. Python's bare
// Infinity becomes a number beyond every float, NaN a string that is not
// accepted as a number. Errors are [*pySyntaxError].
func parsePyJSON(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(plainNumbers(b)))
	d.UseNumber()
	var m map[string]any
	err := d.Decode(&m)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			if m == nil {
				return nil, &pySyntaxError{1, 1, "null"}
			}
			return m, nil
		}
		err = errors.New("more text after the object")
	}
	e := &pySyntaxError{Msg: err.Error()}
	at := d.InputOffset()
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = s.Offset
	}
	before := b[:min(int(at), len(b))]
	e.Line = 1 + bytes.Count(before, []byte("\n"))
	e.Column = 1 + len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:])))
	return nil, e
}

// pythonNumbers maps Python's spellings to replacements of the same length, so
// that positions in errors stay correct. The number is beyond every float; "N"
// is a string, which no number accepts.
var pythonNumbers = []struct{ from, to string }{{"Infinity", "1e999999"}, {"NaN", `"N"`}}

func plainNumbers(b []byte) []byte {
	if !bytes.Contains(b, []byte("Infinity")) && !bytes.Contains(b, []byte("NaN")) {
		return b
	}
	out := bytes.Clone(b)
	inString := false
	for i := 0; i < len(out); i++ {
		switch {
		case inString && out[i] == '\\':
			i++
		case out[i] == '"':
			inString = !inString
		case !inString:
			for _, n := range pythonNumbers {
				if bytes.HasPrefix(out[i:], []byte(n.from)) {
					copy(out[i:], n.to)
					i += len(n.to) - 1
					break
				}
			}
		}
	}
	return out
}

// pyNumber reads a JSON number, or the object that transformers 5 writes for
// infinities.
func pyNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		return f, err == nil || math.IsInf(f, 0)
	case map[string]any:
		s, _ := v["__float__"].(string)
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil
	}
	return 0, false
}
