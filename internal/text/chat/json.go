package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/spelling"
)

// A jsonError describes malformed JSON and its position.
type jsonError struct {
	Offset int64 // in bytes
	Err    error
}

// Error returns the position and the reason.
func (e *jsonError) Error() string { return fmt.Sprintf("json at byte %d: %v", e.Offset, e.Err) }

// Unwrap returns the decoder's error.
func (e *jsonError) Unwrap() error { return e.Err }

// DecodeJSON reads one JSON value. Objects become a [*Map] in the order of the
// text, numbers with ".", "e" or "E" float64, others integers.
func DecodeJSON(data []byte) (Value, error) { return DecodeJSONUntil(nil, data) }

// DecodeJSONUntil is [DecodeJSON], which gives up with an error when done is closed.
func DecodeJSONUntil(done <-chan struct{}, data []byte) (Value, error) {
	d := &jsonDecoder{json.NewDecoder(bytes.NewReader(data)), done, 0}
	d.UseNumber()
	v, err := d.value(0)
	if err == nil {
		if _, end := d.Token(); end != io.EOF {
			err = fmt.Errorf("text after the value")
		}
	}
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, &jsonError{d.InputOffset(), err}
	}
	return v, nil
}

// A jsonDecoder counts values, so that it looks at times whether to give up.
type jsonDecoder struct {
	*json.Decoder
	done   <-chan struct{}
	values int
}

// valuesAtATime is how many values pass between two looks: a millisecond or so.
const valuesAtATime = 1 << 12

func (d *jsonDecoder) value(depth int) (Value, error) {
	if d.values++; d.values%valuesAtATime == 0 && ended(d.done) {
		return nil, errEnded
	}
	if depth > nestingLimit {
		return nil, fmt.Errorf("nested deeper than %d", nestingLimit)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return parseNumber(string(t))
	case json.Delim:
		if t == '[' {
			l := &List{}
			for d.More() {
				v, err := d.value(depth + 1)
				if err != nil {
					return nil, err
				}
				l.Items = append(l.Items, v)
			}
			_, err = d.Token()
			return l, err
		}
		m := &Map{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := d.value(depth + 1)
			if err != nil {
				return nil, err
			}
			if err := m.Set(k, v); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return m, err
	}
	return t, nil // string, bool, nil
}

func parseNumber(s string) (Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, fmt.Errorf("bad number %q", spelling.Quotable(s))
		}
		return f, nil
	}
	if len(s) > maxDigits { // its text would be in the error of package strconv
		return nil, fmt.Errorf("number of %d digits, at most %d", len(s), maxDigits)
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	b, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, fmt.Errorf("bad number %q", spelling.Quotable(s))
	}
	return b, nil
}

// ValueOf converts plain Go data: [Value]s, integers, floats, []any, []string,
// []map[string]any, map[string]any (keys in sorted order) and [json.Number], at
// any depth.
func ValueOf(v any) (Value, error) { return valueOf(v, 0) }

func valueOf(v any, depth int) (Value, error) {
	if depth > nestingLimit {
		return nil, errNested()
	}
	switch v := v.(type) {
	case nil, bool, int64, float64, string, *big.Int, *List, *Tuple, *Map:
		return v, nil
	case int:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case json.Number:
		return parseNumber(string(v))
	case []any:
		return listOf(v, depth)
	case []string:
		return listOf(v, depth)
	case []map[string]any:
		return listOf(v, depth)
	case []*Map:
		return listOf(v, depth)
	case map[string]any:
		m := &Map{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			x, err := valueOf(v[k], depth+1)
			if err != nil {
				return nil, err
			}
			if err := m.Set(k, x); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return nil, typeError("a %T cannot be passed to a template", v)
}

func listOf[T any](s []T, depth int) (Value, error) {
	l := &List{Items: make([]Value, len(s))}
	for i, x := range s {
		v, err := valueOf(x, depth+1)
		if err != nil {
			return nil, err
		}
		l.Items[i] = v
	}
	return l, nil
}

// maxDigits bounds integers in text, as Python does.
const maxDigits = 4300
