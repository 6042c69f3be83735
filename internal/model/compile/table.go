package compile

import (
	"math"
	"slices"
)

// A RotaryTable is one rotary table of a model, as its configuration describes it.
type RotaryTable struct {
	Name     string // "full" or "sliding"
	Dim      int    // rotated elements of each head
	Theta    float32
	Scaling  string    // one of the constants below
	Factor   float32   `json:",omitempty"`
	Original int       `json:",omitempty"` // context length before scaling
	Low      float32   `json:",omitempty"` // llama3: frequency factors
	High     float32   `json:",omitempty"`
	BetaFast float32   `json:",omitempty"` // yarn
	BetaSlow float32   `json:",omitempty"`
	Exact    bool      `json:",omitempty"` // yarn: correction range not rounded to whole dimensions
	Short    []float32 `json:",omitempty"` // divisors of the frequencies
	Long     []float32 `json:",omitempty"` // divisors beyond Original
	Table    []float32 `json:",omitempty"` // the frequencies themselves, if a file states them
	Scale    float32   // multiplies cos and sin
}

// Scalings.
const (
	PlainRope = "default"
	Linear    = "linear"
	Dynamic   = "dynamic"
	Llama3    = "llama3"
	Yarn      = "yarn"
	Long      = "longrope"
	Divided   = "divisors" // GGUF: a tensor holds divisors of the frequencies
	Listed    = "table"    // GGUF: a key holds the frequencies
)

// tables computes inverse frequencies by type of scaling. Each follows the
// reference step by step in float32, because positions multiply the rounding
// errors.
var tables = map[string]func(*RotaryTable, []float32) []float32{
	PlainRope: func(_ *RotaryTable, f []float32) []float32 { return f },
	Dynamic:   func(_ *RotaryTable, f []float32) []float32 { return f }, // depends on the request's length
	Linear:    linearTable,
	Llama3:    llama3Table,
	Yarn:      yarnTable,
	Long:      func(r *RotaryTable, _ []float32) []float32 { return r.longTable(r.Short) },
	Divided:   divisorTable,
	Listed:    func(r *RotaryTable, _ []float32) []float32 { return slices.Clone(r.Table) },
}

// periods returns θ^(2i/dim) for every pair i.
func (r *RotaryTable) periods() []float32 {
	p := make([]float32, r.Dim/2)
	for i := range p {
		e := float32(2*i) / float32(r.Dim)
		p[i] = float32(math.Pow(float64(r.Theta), float64(e)))
	}
	return p
}

// Frequencies returns the inverse frequencies and, for longrope, those of
// requests longer than Original.
func (r *RotaryTable) Frequencies() (inv, long []float32) {
	f := r.periods()
	for i := range f {
		f[i] = 1 / f[i]
	}
	inv = tables[r.Scaling](r, f)
	if r.Scaling == Long {
		long = r.longTable(r.Long)
	}
	return inv, long
}

func linearTable(r *RotaryTable, f []float32) []float32 {
	for i := range f {
		f[i] /= r.Factor
	}
	return f
}

func divisorTable(r *RotaryTable, f []float32) []float32 {
	for i := range f {
		f[i] /= r.Short[i]
	}
	return f
}

func (r *RotaryTable) longTable(div []float32) []float32 {
	f := r.periods()
	for i := range f {
		f[i] = 1 / (div[i] * f[i])
	}
	return f
}

// llama3Table divides long wavelengths by the factor, keeps short ones and
// interpolates between.
func llama3Table(r *RotaryTable, f []float32) []float32 {
	lo := float32(float64(r.Original) / float64(r.Low))
	hi := float32(float64(r.Original) / float64(r.High))
	for i, x := range f {
		wave := float32(2*math.Pi) / x
		switch {
		case wave > lo:
			f[i] = x / r.Factor
		case wave < hi: // unchanged
		default:
			t := (float32(r.Original)/wave - r.Low) / (r.High - r.Low)
			f[i] = (1-t)*x/r.Factor + t*x
		}
	}
	return f
}

// yarnTable blends interpolated and extrapolated frequencies by the number of
// rotations of a pair within the original context (arXiv 2309.00071, section
// 3.2).
func yarnTable(r *RotaryTable, f []float32) []float32 {
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

// ropeStrength returns yarn's attention temperature for a scale and a strength.
func ropeStrength(scale, strength float64) float64 {
	if scale <= 1 {
		return 1
	}
	return 0.1*strength*math.Log(scale) + 1
}

// longRopeScale returns longrope's factor of cos and sin for a context stretched by
// stretch beyond original.
func longRopeScale(stretch float64, original int) float64 {
	if stretch <= 1 || original <= 1 {
		return 1
	}
	return math.Sqrt(1 + math.Log(stretch)/math.Log(float64(original)))
}
