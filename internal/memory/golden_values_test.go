package memory_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"atenia/internal/memory"
)

// Values as reference cases write them.

// A f32 is a float32 or nothing; NaN and the infinities are strings.
type f32 struct{ v *float32 }

func (f *f32) UnmarshalJSON(b []byte) error {
	var x float32
	switch string(b) {
	case "null":
		f.v = nil
		return nil
	case `"NaN"`:
		x = float32(math.NaN())
	case `"Inf"`:
		x = float32(math.Inf(1))
	case `"-Inf"`:
		x = float32(math.Inf(-1))
	default:
		if err := json.Unmarshal(b, &x); err != nil {
			return err
		}
	}
	f.v = &x
	return nil
}

// same reports whether two floats have the same bits, or are both NaN.
func (f f32) same(x float32) bool {
	if f.v == nil {
		return false
	}
	return math.Float32bits(*f.v) == math.Float32bits(x) || *f.v != *f.v && x != x
}

func (f f32) String() string {
	if f.v == nil {
		return "null"
	}
	return fmt.Sprint(*f.v)
}

// A hexBytes is lower-case hexadecimal.
type hexBytes []byte

func (h *hexBytes) UnmarshalText(b []byte) error {
	v, err := hex.DecodeString(string(b))
	*h = v
	return err
}

// pressures are the snapshot of a case.
type pressures struct{ VRAM, RAM f32 }

func (p pressures) snapshot() memory.Snapshot {
	return memory.Snapshot{VRAM: memory.Status{Pressure: p.VRAM.v}, RAM: memory.Status{Pressure: p.RAM.v}}
}

// A wantError is the error that a case expects; nil is none.
type wantError struct {
	Kind     *string
	Contains string
	Names    string
}

// moveKinds are the kinds of errors of moves by their names in cases.
var moveKinds = map[string]error{
	"Unsupported": memory.ErrUnsupported, "IoError": memory.ErrIO, "BackendUnavailable": memory.ErrBackendUnavailable,
}

// check compares an error with the expected one; kinds has the sentinels.
func (w *wantError) check(t *testing.T, what string, err error, kinds map[string]error) {
	t.Helper()
	switch {
	case w == nil:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case err == nil:
		t.Errorf("%s: no error, want %s %q", what, kindName(w.Kind), w.Contains)
	default:
		if w.Kind != nil && (kinds[*w.Kind] == nil || !errors.Is(err, kinds[*w.Kind])) {
			t.Errorf("%s: error %q is not of kind %s", what, err, *w.Kind)
		}
		if !strings.Contains(err.Error(), w.Contains) {
			t.Errorf("%s: error %q lacks %q", what, err, w.Contains)
		}
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(w.Names)) {
			t.Errorf("%s: error %q does not name %q", what, err, w.Names)
		}
	}
}

func kindName(k *string) string {
	if k == nil {
		return "any error"
	}
	return *k
}

// checkText compares a reason; an empty expectation accepts any line of text.
func checkText(t *testing.T, what, got string, want *string) {
	t.Helper()
	switch {
	case want != nil && got != *want:
		t.Errorf("%s: got %q, want %q", what, got, *want)
	case want == nil && (got == "" || strings.ContainsAny(got, "\r\n")):
		t.Errorf("%s: got %q, want one line of text", what, got)
	}
}

// checkLines compares lists of lines; of a line that ends in error=* only the part
// before the star is compared.
func checkLines(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		head, open := strings.CutSuffix(want[i], "error=*")
		if open && !strings.HasPrefix(got[i], head+"error=") || !open && got[i] != want[i] {
			t.Errorf("%s %d: got %q, want %q", what, i, got[i], want[i])
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d lines, want %d", what, len(got), len(want))
	}
}
