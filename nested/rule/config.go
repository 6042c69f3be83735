package rule

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// A Name names one of the nine rules; tape operations, configuration files and
// snapshots use the same text.
type Name string

// The nine rules.
const (
	Delta   Name = "DeltaRule"
	Titans  Name = "TitansLMM"
	Hebbian Name = "HebbianRule"
	Moneta  Name = "Moneta"
	YAAD    Name = "YAAD"
	MEMORA  Name = "MEMORA"
	Lattice Name = "LatticeOSR"
	Trellis Name = "Trellis"
	Atlas   Name = "AtlasOmega"
)

// Names returns the nine rules.
func Names() []Name {
	return []Name{Delta, Titans, Hebbian, Moneta, YAAD, MEMORA, Lattice, Trellis, Atlas}
}

// Forms of the MLP memory ([Config.Form]), of the q-norm link
// ([Config.LqForm]) and feature maps ([Config.Feature]).
const (
	Plain   = "plain"   // f(x) = W2 silu(W1 x) / sqrt(hidden)
	LnRes   = "ln_res"  // f(x) = x + LayerNorm of that
	Dual    = "dual"    // the minimiser of the q-norm regulariser
	Literal = "literal" // as printed in MIRAS (arXiv 2504.13173), equation 24
	Ident   = "id"      // phi(x) = x
	Poly2   = "poly2"   // phi(x).phi(y) = x.y + (x.y)^2/2
)

// A Config holds the constants of a rule. With the zero value every rule has
// its defaults; fields that a rule does not use are ignored. The JSON form has
// the names in the comments, and omits fields at their default.
type Config struct {
	RawQK bool // keys and queries are not normalized; "normalize_qk": false

	Slots  int     // "slots": rows of the memories of LatticeOSR and Trellis; 4
	Hidden int     // "d_hidden": hidden width of MLP memories; 4 d
	Form   string  // "mlp_form": Plain or LnRes; Plain
	LnEps  float64 // "ln_eps": added to the variance of LnRes; 1e-3

	P      float64 // "p": Moneta's loss is the sum of |e|^p; 3
	LpEps  float64 // "lp_eps": smooths |e|; 1e-6
	LpClip float64 // "lp_clip": errors beyond it have no larger gradient; 1
	Q      float64 // "q": Moneta's weights minimize a q-norm; 4
	LqEps  float64 // "lq_eps": smooths |A|; 1e-8
	LqForm string  // "lq_form": Dual or Literal; Dual

	Delta       float64 // "delta": threshold of YAAD's Huber loss; 1
	LambdaLocal float64 // "lambda_local": strength of YAAD's pull towards the chunk's initial state; 0

	Mass1, Mass2 float64 // "mass1", "mass2": row sums of MEMORA's two matrices; d and 1

	NsiluEps float64 // "nsilu_eps": smooths Trellis's norm; 1e-3

	Window  int    // "window": tokens whose errors AtlasOmega combines; 4
	NSIters int    // "ns_iters": Newton–Schulz iterations of AtlasOmega; 5, and none with NoNS
	NoNS    bool   // "ns_iters": 0, the update is the momentum itself
	Feature string // "feature": Ident or Poly2; Ident

	// Bounds of the gates; a gate at its bound has derivative zero. A zero
	// upper bound means none. "theta_floor", "theta_ceil", "alpha_floor",
	// "alpha_ceil".
	ThetaMin, ThetaMax, AlphaMin, AlphaMax float64
}

// ErrConfig matches every error about a [Config].
var ErrConfig = errors.New("invalid memory rule")

// A ConfigError says which field of a [Config] is invalid, and what is valid.
type ConfigError struct {
	Field string
	Value any
	Want  string // valid values
}

// Error implements error.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("memory rule: %s is %v, use %s", e.Field, e.Value, e.Want)
}

// Is reports whether target is [ErrConfig].
func (e *ConfigError) Is(target error) bool { return target == ErrConfig }

// or returns v, or def if v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// withDefaults returns c with defaults for width d filled in.
func (c Config) withDefaults(d int) Config {
	c.Slots, c.Hidden, c.Window = or(c.Slots, 4), or(c.Hidden, 4*d), or(c.Window, 4)
	c.Form, c.LqForm, c.Feature = or(c.Form, Plain), or(c.LqForm, Dual), or(c.Feature, Ident)
	c.LnEps, c.LpEps, c.LqEps, c.NsiluEps = or(c.LnEps, 1e-3), or(c.LpEps, 1e-6), or(c.LqEps, 1e-8), or(c.NsiluEps, 1e-3)
	c.P, c.Q, c.LpClip, c.Delta = or(c.P, 3), or(c.Q, 4), or(c.LpClip, 1), or(c.Delta, 1)
	c.Mass1, c.Mass2 = or(c.Mass1, float64(d)), or(c.Mass2, 1)
	c.NSIters = or(c.NSIters, 5)
	if c.NoNS {
		c.NSIters = 0
	}
	return c
}

// check returns all faults of a configuration with defaults filled in.
func (c Config) check() error {
	var all []error
	bad := func(fault bool, field string, v any, want string) {
		if fault {
			all = append(all, &ConfigError{field, v, want})
		}
	}
	for _, f := range []struct {
		name        string
		v, min, max int
	}{{"slots", c.Slots, 1, maxWidth}, {"d_hidden", c.Hidden, 1, maxWidth}, {"window", c.Window, 1, maxWidth},
		{"ns_iters", c.NSIters, 0, 64}} {
		bad(f.v < f.min || f.v > f.max, f.name, f.v, fmt.Sprintf("%d to %d", f.min, f.max))
	}
	bad(c.Form != Plain && c.Form != LnRes, "mlp_form", c.Form, Plain+" or "+LnRes)
	bad(c.LqForm != Dual && c.LqForm != Literal, "lq_form", c.LqForm, Dual+" or "+Literal)
	bad(c.Feature != Ident && c.Feature != Poly2, "feature", c.Feature, Ident+" or "+Poly2)
	bad(!(c.P >= 1 && c.P <= 64), "p", c.P, "1 to 64")
	bad(!(c.Q > 1 && c.Q <= 64), "q", c.Q, "more than 1, at most 64")
	for _, f := range []struct {
		name string
		v    float64
	}{{"lp_clip", c.LpClip}, {"delta", c.Delta}, {"mass1", c.Mass1}, {"mass2", c.Mass2}, {"nsilu_eps", c.NsiluEps},
		{"ln_eps", c.LnEps}, {"lp_eps", c.LpEps}, {"lq_eps", c.LqEps}} {
		bad(!(f.v > 0) || math.IsInf(f.v, 1), f.name, f.v, "a positive number")
	}
	bad(!(c.LambdaLocal >= 0), "lambda_local", c.LambdaLocal, "0 or more")
	bad(!(c.ThetaMin >= 0) || c.ThetaMax != 0 && !(c.ThetaMax >= c.ThetaMin), "theta_floor, theta_ceil",
		[]float64{c.ThetaMin, c.ThetaMax}, "0 <= floor <= ceil")
	bad(!(c.AlphaMin >= 0) || c.AlphaMax != 0 && !(c.AlphaMax >= c.AlphaMin), "alpha_floor, alpha_ceil",
		[]float64{c.AlphaMin, c.AlphaMax}, "0 <= floor <= ceil")
	return errors.Join(all...)
}

// configJSON is the JSON form of a [Config].
type configJSON struct {
	NormalizeQK *bool   `json:"normalize_qk,omitempty"`
	Slots       int     `json:"slots,omitempty"`
	Hidden      int     `json:"d_hidden,omitempty"`
	Form        string  `json:"mlp_form,omitempty"`
	LnEps       float64 `json:"ln_eps,omitempty"`
	P           float64 `json:"p,omitempty"`
	LpEps       float64 `json:"lp_eps,omitempty"`
	LpClip      float64 `json:"lp_clip,omitempty"`
	Q           float64 `json:"q,omitempty"`
	LqEps       float64 `json:"lq_eps,omitempty"`
	LqForm      string  `json:"lq_form,omitempty"`
	Delta       float64 `json:"delta,omitempty"`
	LambdaLocal float64 `json:"lambda_local,omitempty"`
	Mass1       float64 `json:"mass1,omitempty"`
	Mass2       float64 `json:"mass2,omitempty"`
	NsiluEps    float64 `json:"nsilu_eps,omitempty"`
	Window      int     `json:"window,omitempty"`
	NSIters     *int    `json:"ns_iters,omitempty"`
	Feature     string  `json:"feature,omitempty"`
	ThetaMin    float64 `json:"theta_floor,omitempty"`
	ThetaMax    float64 `json:"theta_ceil,omitempty"`
	AlphaMin    float64 `json:"alpha_floor,omitempty"`
	AlphaMax    float64 `json:"alpha_ceil,omitempty"`
}

// MarshalJSON writes the fields that are not at their defaults.
func (c Config) MarshalJSON() ([]byte, error) {
	j := configJSON{nil, c.Slots, c.Hidden, c.Form, c.LnEps, c.P, c.LpEps, c.LpClip, c.Q, c.LqEps, c.LqForm, c.Delta,
		c.LambdaLocal, c.Mass1, c.Mass2, c.NsiluEps, c.Window, nil, c.Feature, c.ThetaMin, c.ThetaMax, c.AlphaMin, c.AlphaMax}
	if c.RawQK {
		j.NormalizeQK = new(bool)
	}
	if c.NoNS || c.NSIters != 0 {
		n := c.NSIters
		if c.NoNS {
			n = 0
		}
		j.NSIters = &n
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what [Config.MarshalJSON] writes. Unknown names are
// ignored.
func (c *Config) UnmarshalJSON(b []byte) error {
	var j configJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("memory rule: %w", err)
	}
	*c = Config{j.NormalizeQK != nil && !*j.NormalizeQK, j.Slots, j.Hidden, j.Form, j.LnEps, j.P, j.LpEps, j.LpClip, j.Q,
		j.LqEps, j.LqForm, j.Delta, j.LambdaLocal, j.Mass1, j.Mass2, j.NsiluEps, j.Window, 0, false, j.Feature,
		j.ThetaMin, j.ThetaMax, j.AlphaMin, j.AlphaMax}
	if j.NSIters != nil {
		c.NSIters, c.NoNS = *j.NSIters, *j.NSIters == 0
	}
	return nil
}
