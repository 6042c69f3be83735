package record

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// A Float is a float32 input. Unlike a JSON number it may be NaN or infinite,
// written as the strings NaN, Inf and -Inf.
type Float float32

// FloatOf converts an optional float32.
func FloatOf(p *float32) *Float {
	if p == nil {
		return nil
	}
	f := Float(*p)
	return &f
}

// Value is the inverse of [FloatOf].
func (f *Float) Value() *float32 {
	if f == nil {
		return nil
	}
	v := float32(*f)
	return &v
}

// MarshalJSON writes the shortest number that reads back unchanged.
func (f Float) MarshalJSON() ([]byte, error) {
	switch x := float64(f); {
	case math.IsNaN(x):
		return []byte(`"NaN"`), nil
	case math.IsInf(x, 1):
		return []byte(`"Inf"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-Inf"`), nil
	default:
		return strconv.AppendFloat(nil, x, 'g', -1, 32), nil
	}
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Float) UnmarshalJSON(b []byte) error {
	var v float32
	switch string(b) {
	case `"NaN"`:
		v = float32(math.NaN())
	case `"Inf"`:
		v = float32(math.Inf(1))
	case `"-Inf"`:
		v = float32(math.Inf(-1))
	default:
		if err := json.Unmarshal(b, &v); err != nil {
			return fmt.Errorf("want a number, \"NaN\", \"Inf\" or \"-Inf\", got %.40s", b)
		}
	}
	*f = Float(v)
	return nil
}
