package rule

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
)

// TestConfigJSON: a configuration survives writing and reading, and fields at
// their defaults are not written.
func TestConfigJSON(t *testing.T) {
	t.Parallel()
	for _, v := range append(gradientVariants[float64](), variant{Atlas, Config{NSIters: 3, Window: 2}}) {
		b, err := json.Marshal(v.c)
		if err != nil {
			t.Fatal(err)
		}
		var c Config
		if err := json.Unmarshal(b, &c); err != nil || c != v.c {
			t.Errorf("%s is read as %+v (%v), want %+v", b, c, err, v.c)
		}
	}
	if b, _ := json.Marshal(Config{}); string(b) != "{}" {
		t.Errorf("the defaults are written as %s", b)
	}
	var c Config
	if err := json.Unmarshal([]byte(`{"ns_iters": 0, "normalize_qk": false, "lp_clip": 2, "other": 1}`), &c); err != nil {
		t.Fatal(err)
	}
	if want := (Config{NoNS: true, RawQK: true, LpClip: 2}); c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

// TestConfigErrors: every fault is named, in one error of one kind.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	bad := Config{Slots: -1, Hidden: maxWidth + 1, Window: -2, NSIters: -1, Form: "deep", LqForm: "x", Feature: "cubic", P: 0.5, Q: 1,
		LpClip: -1, Delta: math.NaN(), Mass1: -3, LambdaLocal: -1, ThetaMin: 2, ThetaMax: 1, AlphaMin: -1, NsiluEps: math.Inf(1)}
	_, err := NewLayout(Moneta, 8, bad)
	if !errors.Is(err, ErrConfig) {
		t.Fatalf("error %v", err)
	}
	for _, field := range []string{"slots", "d_hidden", "window", "ns_iters", "mlp_form", "lq_form", "feature", "p is", "q is",
		"lp_clip", "delta", "mass1", "lambda_local", "theta_floor", "alpha_floor", "nsilu_eps"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not name %s: %v", field, err)
		}
	}
	for _, c := range []struct {
		name Name
		d    int
		c    Config
	}{{"Delta", 8, Config{}}, {Delta, 0, Config{}}, {Delta, maxWidth + 1, Config{}}, {Delta, maxWidth, Config{}}, {Atlas, 4096, Config{Feature: Poly2}}} {
		if _, err := New[float32](c.name, c.d, c.c); !errors.Is(err, ErrConfig) {
			t.Errorf("%s of width %d: error %v", c.name, c.d, err)
		}
	}
}

// TestLayout: names, order and sizes of the flat vectors, and the biases of
// gates by level.
func TestLayout(t *testing.T) {
	t.Parallel()
	l := mustLayout(t, variant{Trellis, Config{Slots: 3}}, 5)
	var names []string
	for _, a := range l.Params {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "W_K W_V W_Q W_C w_alpha b_alpha w_theta b_theta" {
		t.Errorf("parameters: %s", got)
	}
	if want := 3*25 + 15 + 2*6; l.ParamLen != want {
		t.Errorf("%d parameters, want %d", l.ParamLen, want)
	}
	for _, c := range []struct {
		g     Gate
		level int
		want  float64
	}{{Alpha, 0, -3}, {Alpha, 1, -4}, {Alpha, 2, -4.5}, {Alpha, 3, -5}, {Eta, 0, 1.5}, {Eta, 3, 3}, {Gamma, 2, 2}, {Theta, 0, -2}, {Theta, 2, -3}} {
		if got := l.Bias(c.g, c.level); got != c.want {
			t.Errorf("bias of %v at level %d is %g, want %g", c.g, c.level, got, c.want)
		}
	}
	p := make([]float64, l.ParamLen)
	InitParams(l, p, 1, NewRand(1))
	if got := Param(l, p, "b_alpha")[0]; got != -4 {
		t.Errorf("b_alpha is %g", got)
	}
	for _, v := range Param(l, p, "W_K") {
		if math.Abs(v) > math.Sqrt(6.0/10) {
			t.Errorf("a weight of W_K is %g", v)
		}
	}
	if Param(l, p, "w_eta") != nil || State(l, p, "S") != nil {
		t.Error("there are parts that the rule has not")
	}
}

// FuzzConfig: any text is accepted or rejected, and an accepted configuration
// gives a layout or a typed error.
func FuzzConfig(f *testing.F) {
	f.Add(`{"slots": 3, "ns_iters": 0}`, 4)
	f.Add(`{"d_hidden": 99999999999, "feature": "poly2"}`, 1<<20)
	f.Fuzz(func(t *testing.T, text string, d int) {
		var c Config
		if json.Unmarshal([]byte(text), &c) != nil {
			return
		}
		for _, name := range Names() {
			if _, err := NewLayout(name, d, c); err != nil && !errors.Is(err, ErrConfig) {
				t.Fatalf("error %v", err)
			}
		}
		b, err := json.Marshal(c)
		if err != nil {
			return // a number that JSON has not
		}
		var again Config
		if err := json.Unmarshal(b, &again); err != nil || again != c {
			t.Fatalf("%s is read as %+v (%v), want %+v", b, again, err, c)
		}
	})
}
