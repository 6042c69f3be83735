package compile

import (
	"fmt"
	"math"
	"slices"
)

// A Rope is one rotary table of a model.
type Rope struct {
	Name     string // "full" or "sliding"
	Dim      int    // rotated elements of each head
	Theta    float32
	Scaling  string    // see ropeTables
	Factor   float32   `json:",omitempty"`
	Original int       `json:",omitempty"` // context length before scaling
	Low      float32   `json:",omitempty"` // llama3: frequency factors
	High     float32   `json:",omitempty"`
	BetaFast float32   `json:",omitempty"` // yarn
	BetaSlow float32   `json:",omitempty"`
	Exact    bool      `json:",omitempty"` // yarn: correction range not rounded to whole dimensions
	Short    []float32 `json:",omitempty"` // divisors of the frequencies
	Long     []float32 `json:",omitempty"` // divisors beyond Original
	Table    []float32 `json:",omitempty"` // the frequencies themselves, where a file states them
	Scale    float32   // multiplies cos and sin
}

// Rope scalings.
const (
	ropePlain    = "default"
	ropeLinear   = "linear"
	ropeDynamic  = "dynamic"
	ropeLlama3   = "llama3"
	ropeYarn     = "yarn"
	ropeLong     = "longrope"
	ropeDivisors = "divisors" // GGUF: a tensor holds what frequencies are divided by
	ropeTable    = "table"    // GGUF: a key holds the frequencies
)

// ropeTables computes inverse frequencies by scaling. Each follows the
// reference step by step in float32, because positions multiply what is
// rounded here.
var ropeTables = map[string]func(*Rope, []float32) []float32{
	ropePlain:    func(_ *Rope, f []float32) []float32 { return f },
	ropeDynamic:  func(_ *Rope, f []float32) []float32 { return f }, // grows with the request's length
	ropeLinear:   linearTable,
	ropeLlama3:   llama3Table,
	ropeYarn:     yarnTable,
	ropeLong:     func(r *Rope, _ []float32) []float32 { return r.longTable(r.Short) },
	ropeDivisors: divisorTable,
	ropeTable:    func(r *Rope, _ []float32) []float32 { return slices.Clone(r.Table) },
}

// periods returns θ^(2i/dim) for every pair i.
func (r *Rope) periods() []float32 {
	p := make([]float32, r.Dim/2)
	for i := range p {
		e := float32(2*i) / float32(r.Dim)
		p[i] = float32(math.Pow(float64(r.Theta), float64(e)))
	}
	return p
}

// tables returns the inverse frequencies and, for longrope, those of requests
// longer than Original.
func (r *Rope) tables() (inv, long []float32) {
	f := r.periods()
	for i := range f {
		f[i] = 1 / f[i]
	}
	inv = ropeTables[r.Scaling](r, f)
	if r.Scaling == ropeLong {
		long = r.longTable(r.Long)
	}
	return inv, long
}

func linearTable(r *Rope, f []float32) []float32 {
	for i := range f {
		f[i] /= r.Factor
	}
	return f
}

func divisorTable(r *Rope, f []float32) []float32 {
	for i := range f {
		f[i] /= r.Short[i]
	}
	return f
}

func (r *Rope) longTable(div []float32) []float32 {
	f := r.periods()
	for i := range f {
		f[i] = 1 / (div[i] * f[i])
	}
	return f
}

// llama3Table divides long wavelengths by the factor, keeps short ones and
// blends between.
func llama3Table(r *Rope, f []float32) []float32 {
	lo := float32(float64(r.Original) / float64(r.Low))
	hi := float32(float64(r.Original) / float64(r.High))
	for i, x := range f {
		wave := float32(2*math.Pi) / x
		switch {
		case wave > lo:
			f[i] = x / r.Factor
		case wave < hi: // kept
		default:
			t := (float32(r.Original)/wave - r.Low) / (r.High - r.Low)
			f[i] = (1-t)*x/r.Factor + t*x
		}
	}
	return f
}

// yarnTable blends interpolated and extrapolated frequencies by how often a
// pair turns inside the original context (arXiv 2309.00071, section 3.2).
func yarnTable(r *Rope, f []float32) []float32 {
	dim := float64(r.Dim)
	turns := func(beta float32) float64 {
		return dim * math.Log(float64(r.Original)/(float64(beta)*2*math.Pi)) / (2 * math.Log(float64(r.Theta)))
	}
	lo, hi := turns(r.BetaFast), turns(r.BetaSlow)
	if !r.Exact {
		lo, hi = math.Floor(lo), math.Ceil(hi)
	}
	lo, hi = max(lo, 0), min(hi, dim-1)
	if lo == hi {
		hi += 0.001
	}
	p := r.periods()
	for i := range f {
		ramp := min(max((float32(i)-float32(lo))/float32(hi-lo), 0), 1)
		keep := 1 - ramp
		f[i] = 1/(r.Factor*p[i])*(1-keep) + 1/p[i]*keep
	}
	return f
}

// mscale is yarn's temperature for a scale and a strength.
func mscale(scale, strength float64) float64 {
	if scale <= 1 {
		return 1
	}
	return 0.1*strength*math.Log(scale) + 1
}

// longScale is longrope's factor of cos and sin for a context stretched from
// original to length.
func longScale(stretch float64, original int) float64 {
	if stretch <= 1 || original <= 1 {
		return 1
	}
	return math.Sqrt(1 + math.Log(stretch)/math.Log(float64(original)))
}

func (r *Rope) check(file string, head int, f *Faults) {
	bad := func(field, want string, got any) {
		f.add(&ConfigError{File: file, Field: "rope " + r.Name + ": " + field, Want: want, Got: fmt.Sprint(got)})
	}
	positive := func(field string, v float32) {
		if !(v > 0 && v < 1e30) {
			bad(field, "a number above 0", v)
		}
	}
	divisors := func(field string, v []float32) {
		if len(v) != r.Dim/2 {
			bad(field, fmt.Sprintf("%d values", r.Dim/2), fmt.Sprintf("%d", len(v)))
		}
		if slices.ContainsFunc(v, func(x float32) bool { return !(x > 0 && x < 1e30) }) {
			bad(field, "numbers above 0", "another")
		}
	}
	if r.Dim < 2 || r.Dim%2 != 0 || r.Dim > head {
		bad("rotated elements", fmt.Sprintf("an even number from 2 to %d", head), r.Dim)
	}
	if !(r.Theta > 1 && r.Theta < 1e30) {
		bad("base", "a number above 1", r.Theta)
	}
	positive("scale of cos and sin", r.Scale)
	if _, ok := ropeTables[r.Scaling]; !ok {
		bad("type", "default, linear, dynamic, llama3, yarn or longrope", fmt.Sprintf("%q", r.Scaling))
		return
	}
	if r.Original < 0 || r.Original > maxLength {
		bad("original context length", fmt.Sprintf("0 to %d", maxLength), r.Original)
	}
	switch r.Scaling {
	case ropeLinear, ropeDynamic, ropeLlama3, ropeYarn:
		positive("factor", r.Factor)
	}
	switch r.Scaling {
	case ropeDynamic, ropeLlama3, ropeYarn, ropeLong:
		if r.Original < 1 {
			bad("original context length", "above 0", r.Original)
		}
	}
	switch r.Scaling {
	case ropeDynamic:
		if r.Dim == 2 {
			bad("rotated elements", "more than 2 for dynamic scaling", r.Dim)
		}
	case ropeLlama3:
		positive("low_freq_factor", r.Low)
		if !(r.High > r.Low && r.High < 1e30) {
			bad("high_freq_factor", "more than low_freq_factor", r.High)
		}
	case ropeYarn:
		positive("beta_fast", r.BetaFast)
		positive("beta_slow", r.BetaSlow)
	case ropeLong:
		divisors("short factors", r.Short)
		divisors("long factors", r.Long)
	case ropeDivisors:
		divisors("factors", r.Short)
	case ropeTable:
		if len(r.Table) != r.Dim/2 {
			bad("table", fmt.Sprintf("%d values", r.Dim/2), len(r.Table))
		}
	}
}
