package quila_test

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/golden"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/weights"
)

func init() { topics["neuron_step"] = goldenNeuronStep }

// A stepCase is one case of neuron_step.
type stepCase struct {
	Name        string
	Config      json.RawMessage
	Phase       int
	WPhase      float64        `json:"w_phase"`
	SigmaD      float64        `json:"sigma_d"`
	Temperature float64        `json:"temperature"`
	ABG         []float64      `json:"abg"`
	Noise       map[string]any `json:"noise"`
	Params      map[string]any `json:"params"`
	Edges       [][2]int32     `json:"edges"`
	Pos         []uint16       `json:"pos"`
	EdgeWOut    any            `json:"edge_w_out"`
	EdgeKernel  any            `json:"edge_kernel"`
	State       map[string]any `json:"state"`
	Inbox       [][]struct {
		Payload any    `json:"payload"`
		Pos     uint16 `json:"pos"`
	} `json:"inbox"`
	Steps       map[string]any `json:"steps"`
	NewState    map[string]any `json:"new_state"`
	OutMessages map[string]struct {
		Payload any    `json:"payload"`
		FP8     string `json:"fp8"`
	} `json:"out_messages"`
}

// gridOf makes a network's weights and graph from a case.
func gridOf(t *testing.T, text json.RawMessage, edges [][2]int32, pos []uint16, params map[string]any) (*config.Config, *weights.Graph, *weights.Set[float64]) {
	t.Helper()
	c, err := config.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]weights.Edge, len(edges))
	for i, e := range edges {
		list[i] = weights.Edge{Source: e[0], Target: e[1]}
	}
	g, err := weights.New(c.N, list, pos)
	if err != nil {
		t.Fatal(err)
	}
	w := weights.NewSet[float64](weights.Inventory(&c, g.Edges()))
	for name, v := range params {
		name := inventoryName(name)
		x := flat(t, v)
		if len(w.Of(name)) != len(x) {
			t.Fatalf("%s has %d values, want %d", name, len(x), len(w.Of(name)))
		}
		copy(w.Of(name), x)
	}
	return &c, g, w
}

// inventoryName is the name of a tensor that the reference calls name.
func inventoryName(name string) string {
	switch {
	case name == "codebook":
		return "codebook.text"
	case name == "sigma_d":
		return "cm.sigma_d"
	}
	if rest, ok := strings.CutPrefix(name, "boundary."); ok {
		return "boundary.text." + rest
	}
	return name
}

// stateOf reads a state [B][N][…] of the reference.
func stateOf[F grad.Float](t *testing.T, c *config.Config, sessions int, from map[string]any) *neuron.State[F] {
	t.Helper()
	s := neuron.NewState[F](c, sessions)
	for _, f := range s.Fields() {
		turned(f.Values, flat(t, from[f.Name]), c.N, sessions, f.Width)
	}
	r, sent := flat(t, from["refractory"]), flat(t, from["sent"])
	for b := range sessions {
		for n := range c.N {
			s.Refractory[n*sessions+b], s.Sent[n*sessions+b] = int32(r[b*c.N+n]), sent[b*c.N+n] != 0
		}
	}
	return s
}

// turned writes [B][N][width] as [N][B][width].
func turned[F grad.Float](dst []F, src []float64, n, sessions, width int) {
	for b := range sessions {
		for i := range n {
			for k := range width {
				dst[(i*sessions+b)*width+k] = F(src[(b*n+i)*width+k])
			}
		}
	}
}

// sameState compares a state with one of the reference.
func sameState[F grad.Float](t *testing.T, what string, s *neuron.State[F], from map[string]any, tol float64) {
	t.Helper()
	for _, f := range s.Fields() {
		want := make([]float64, len(f.Values))
		turned(want, flat(t, from[f.Name]), s.N, s.B, f.Width)
		near(t, what+"."+f.Name, f.Values, want, tol, 1e-15)
	}
	r, sent := flat(t, from["refractory"]), flat(t, from["sent"])
	for b := range s.B {
		for n := range s.N {
			if i := n*s.B + b; s.Refractory[i] != int32(r[b*s.N+n]) || s.Sent[i] != (sent[b*s.N+n] != 0) {
				t.Errorf("%s: neuron %d rests %d, sent %v; want %v, %v", what, n, s.Refractory[i], s.Sent[i], r[b*s.N+n], sent[b*s.N+n])
			}
		}
	}
}

func goldenNeuronStep(t *testing.T, path string) {
	var file struct{ Cases []stepCase }
	golden.JSON(t, path, &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for i := range file.Cases {
		c := &file.Cases[i]
		t.Run(c.Name, func(t *testing.T) {
			runStep[float64](t, c, 1e-10)
			runStep[float32](t, c, 5e-5)
		})
	}
}

// runStep compares steps 2 to 11.
func runStep[F grad.Float](t *testing.T, c *stepCase, tol float64) {
	cfg, graph, w64 := gridOf(t, c.Config, c.Edges, c.Pos, c.Params)
	copy(w64.Of("edge.w_out"), flat(t, c.EdgeWOut))
	copy(w64.Of("edge.kernel"), flat(t, c.EdgeKernel))
	w64.Of("cm.sigma_d")[0] = c.SigmaD
	g := neuron.New[F](cfg, graph, nil)
	g.Bind(weights.To[F](w64))
	s := stateOf[F](t, cfg, 1, c.State)
	numbers := func(x any) []F {
		var out []F
		for _, v := range flat(t, x) {
			out = append(out, F(v))
		}
		return out
	}
	hIn := receiveCase(t, c, cfg, weights.To[F](w64), numbers, tol)
	var seen neuron.Trace[F]
	g.Step(s, &neuron.Tick[F]{
		HIn: hIn, Phase: c.Phase, Weight: F(c.WPhase), Temperature: F(c.Temperature),
		Alpha: F(c.ABG[0]), Beta: F(c.ABG[1]), Gamma: F(c.ABG[2]),
		NoiseCM: numbers(c.Noise["cm"]), NoiseOut: numbers(c.Noise["out"]), Seen: &seen,
	})
	for name, want := range c.Steps {
		switch {
		case name == "B" || name == "B_conv": // see receiveCase
		case seen.Counts[name] != nil:
			for i, v := range flat(t, want) {
				if seen.Counts[name][i] != int(v) {
					t.Errorf("%s[%d] is %d, want %v", name, i, seen.Counts[name][i], v)
				}
			}
		case seen.Values[name] != nil:
			near(t, name, seen.Values[name], flat(t, want), tol, 1e-15)
		default:
			t.Errorf("there is no intermediate %s", name)
		}
	}
	sameState(t, "new_state", s, c.NewState, tol)
	for name, want := range c.OutMessages {
		e := 0
		if name == "edge_last" {
			e = graph.Edges() - 1
		}
		w := weights.To[F](w64)
		payload := make([]F, cfg.H*cfg.H)
		neuron.Payload(payload, make([]F, cfg.A*cfg.A), s.HFinal[int(graph.Src[e])*cfg.D:][:cfg.D], w.Rows("edge.w_out", e), w.Rows("edge.kernel", e), neuron.ShapeOf(cfg))
		near(t, name, payload, flat(t, want.Payload), tol, 0)
		codes := make([]byte, len(payload))
		if neuron.EncodeMessage(codes, narrow(flat(t, want.Payload))); hex.EncodeToString(codes) != want.FP8 {
			t.Errorf("%s is %x, want %s", name, codes, want.FP8)
		}
	}
}

// receiveCase compares step 1 and returns h_in, [N][D].
func receiveCase[F grad.Float](t *testing.T, c *stepCase, cfg *config.Config, w *weights.Set[F], numbers func(any) []F, tol float64) []F {
	var boards, conv, hIn []F
	area := cfg.H * cfg.H
	for n, inbox := range c.Inbox {
		board := neuron.NewBoard[F](cfg)
		for _, m := range inbox {
			board.Add(numbers(m.Payload), m.Pos, 0)
		}
		b, expanded, h := make([]F, area), make([]F, area), make([]F, cfg.D)
		board.Mean(b)
		neuron.Convolve(expanded, b, w.Rows("n.k_in", n), cfg.H)
		neuron.Kronecker(h, expanded, w.Rows("n.w_in.l", n), w.Rows("n.w_in.r", n), make([]F, cfg.D1*cfg.H), cfg.H, cfg.D1, cfg.D2)
		for i, x := range w.Rows("n.b_in", n) {
			h[i] += x
		}
		boards, conv, hIn = append(boards, b...), append(conv, expanded...), append(hIn, h...)
	}
	near(t, "B", boards, flat(t, c.Steps["B"]), tol, 0)
	near(t, "B_conv", conv, flat(t, c.Steps["B_conv"]), tol, 0)
	near(t, "h_in", hIn, flat(t, c.Steps["h_in"]), tol, 0)
	return hIn
}
