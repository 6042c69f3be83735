package grammar

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestDecimals: of random bounds, exactly the numerals between them are accepted, whatever
// zeros they end with.
func TestDecimals(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	// decimal returns a random numeral that is close to others.
	decimal := func() string {
		s := fmt.Sprint([]int{0, 0, 1, 2, 9, 10, 99, 100, r.IntN(200)}[r.IntN(9)])
		if n := r.IntN(4); n > 0 {
			s += "."
			for range n {
				s += string("00123899"[r.IntN(8)])
			}
		}
		if r.IntN(3) == 0 && strings.Trim(s, "0.") != "" { // -0 has the meaning of 0
			s = "-" + s
		}
		return s
	}
	value := func(s string) *big.Rat {
		v, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatal(s)
		}
		return v
	}
	inside := 0
	for range 600 {
		low, high := decimal(), decimal()
		if r.IntN(4) == 0 && !strings.Contains(low, "-") { // the first digits are the same
			high = low + fmt.Sprint(r.IntN(10))
			if !strings.Contains(low, ".") {
				high = low + "." + fmt.Sprint(r.IntN(1000))
			}
		}
		if value(low).Cmp(value(high)) > 0 {
			low, high = high, low
		}
		above, below := r.IntN(3) == 0, r.IntN(3) == 0
		schema := fmt.Sprintf(`{"type":"number",%q:%s,%q:%s}`, map[bool]string{false: "minimum", true: "exclusiveMinimum"}[above], low, map[bool]string{false: "maximum", true: "exclusiveMaximum"}[below], high)
		g, err := FromSchema(nil, []byte(schema))
		if err != nil {
			if value(low).Cmp(value(high)) == 0 && (above || below) { // nothing is allowed
				continue
			}
			t.Fatalf("%s: %v", schema, err)
		}
		for k := range 60 {
			s := decimal()
			switch {
			case k%4 == 0:
				s = low
			case k%4 == 1:
				s = high
			}
			if strings.Contains(s, ".") && r.IntN(2) == 0 {
				s += fmt.Sprint(r.IntN(100))
			} else if strings.Contains(s, ".") && r.IntN(2) == 0 {
				s += "00"
			}
			a, b := value(s).Cmp(value(low)), value(s).Cmp(value(high))
			want := (a > 0 || a == 0 && !above) && (b < 0 || b == 0 && !below)
			if got := g.matches(s); got != want {
				t.Fatalf("%s: %s is allowed: %v, want %v", schema, s, got, want)
			}
			if want {
				inside++
			}
		}
	}
	if inside < 3000 {
		t.Errorf("only %d numerals are between the bounds", inside)
	}
}

// TestKeywordErrors: a keyword with a value that it cannot have is an error that names its
// place, and a bound with more digits than numbers are written with is one.
func TestKeywordErrors(t *testing.T) {
	for _, keyword := range []string{
		`"type":3`, `"type":"text"`, `"type":["string",3]`, `"enum":3`, `"minLength":-1`, `"maxLength":1.5`, `"minItems":"1"`, `"minimum":"1"`, `"exclusiveMaximum":"1"`,
		`"multipleOf":0`, `"multipleOf":-2`, `"pattern":3`, `"pattern":["a"]`, `"format":3`, `"required":"a"`, `"required":[3]`, `"properties":3`,
		`"minimum":0.123456789012345`, `"exclusiveMinimum":-0.123456789012345`, `"maximum":0.123456789012345`, `"exclusiveMaximum":1.123456789012345`,
	} {
		_, err := FromSchema(nil, []byte("{"+keyword+"}"))
		if err == nil {
			t.Errorf("{%s} is taken", keyword)
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(keyword, `"`), `"`)
		if !strings.Contains(err.Error(), name) {
			t.Errorf("{%s}: %v", keyword, err)
		}
	}
	for _, keyword := range []string{`"minimum":0.12345678901234`, `"maximum":123456789012345678901`} {
		if _, err := FromSchema(nil, []byte(`{"type":"number",`+keyword+"}")); err != nil {
			t.Errorf("{%s}: %v", keyword, err)
		}
	}
}
