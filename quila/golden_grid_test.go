package quila_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"atenia/grad"
	"atenia/internal/golden"
	"atenia/quila/config"
	"atenia/quila/internal/network"
	"atenia/quila/internal/weights"
)

func init() { topics["grid_step"] = goldenGrid }

func goldenGrid(t *testing.T, path string) {
	var file struct{ Cases []map[string]any }
	golden.JSON(t, path, &file)
	if len(file.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range file.Cases {
		name := c["name"].(string)
		t.Run(name+"/float64", func(t *testing.T) { gridWindow[float64](t, c, 1e-10, 1e-10, 1e-14) })
		t.Run(name+"/float32", func(t *testing.T) { gridWindow[float32](t, c, 5e-5, 2e-4, 1e-7) })
	}
}

// caseNetwork is the network of a case: its configuration, graph and weights.
func caseNetwork[F grad.Float](t *testing.T, c map[string]any) *network.Network[F] {
	t.Helper()
	text, err := json.Marshal(c["config"])
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var edges []weights.Edge
	for _, e := range c["edges"].([]any) {
		v := flat(t, e)
		edges = append(edges, weights.Edge{Source: int32(v[0]), Target: int32(v[1])})
	}
	var pos []uint16
	for _, x := range flat(t, c["pos"]) {
		pos = append(pos, uint16(x))
	}
	g, err := weights.New(cfg.N, edges, pos)
	if err != nil {
		t.Fatal(err)
	}
	w := weights.NewSet[F](weights.Inventory(&cfg, g.Edges()))
	w.Of("rope.text")[0] = F(math.Log(cfg.BaseText)) // a constant of the reference
	for name, x := range c["params"].(map[string]any) {
		v := flat(t, x)
		name = ours(name)
		if !w.Has(name) || len(w.Of(name)) != len(v) {
			t.Fatalf("there is no tensor %q of %d values", name, len(v))
		}
		dst := w.Of(name)
		for i, x := range v {
			dst[i] = F(x)
		}
	}
	n, err := network.With(cfg, g, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ours is the name that the inventory has for a tensor of the reference.
func ours(name string) string {
	switch {
	case name == "codebook":
		return "codebook.text"
	case name == "sigma_d":
		return "cm.sigma_d"
	case strings.HasPrefix(name, "boundary.") && strings.Count(name, ".") == 1:
		return "boundary.text." + strings.TrimPrefix(name, "boundary.")
	}
	return name
}

func gridWindow[F grad.Float](t *testing.T, c map[string]any, tol, gradTol, floor float64) {
	n := caseNetwork[F](t, c)
	var codes []int32
	for _, x := range flat(t, c["codes"]) {
		codes = append(codes, int32(x))
	}
	batch := len(c["codes"].([]any))
	s := n.Open(batch, true)
	ce, err := s.Window(codes, nil)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "cross-entropy", []F{ce}, flat(t, c["ce"]), tol, 0)
	near(t, "Brier", []F{s.Brier()}, flat(t, c["brier"]), tol, 0)
	near(t, "root mean square of h_kfe", []F{s.Spread()}, flat(t, c["rms_h_kfe"]), tol, 0)
	grads := map[string][]F{}
	for _, p := range n.Params() {
		grads[p.Name] = p.Grad
	}
	want := c["grads"].(map[string]any)
	for name, g := range want {
		got, ok := grads[ours(name)]
		if !ok {
			t.Errorf("%s has no gradient", name)
			continue
		}
		near(t, "gradient of "+name, got, flat(t, g), gradTol, floor)
	}
	for _, p := range n.Params() {
		found := false
		for name := range want {
			found = found || ours(name) == p.Name
		}
		for _, x := range p.Grad {
			if !found && x != 0 {
				t.Errorf("%s has a gradient, the reference has none", p.Name)
				break
			}
		}
	}
	gridState(t, n, s, c, batch, tol, floor)
}

// gridState compares the state after the window. The reference has sessions
// first, the grid neurons.
func gridState[F grad.Float](t *testing.T, n *network.Network[F], s *network.Stream[F], c map[string]any, batch int, tol, floor float64) {
	t.Helper()
	want := c["state"].(map[string]any)
	seen := map[string]bool{}
	for _, f := range s.Grid.Fields() {
		x, ok := want[f.Name]
		if !ok {
			continue
		}
		seen[f.Name] = true
		near(t, f.Name, sessionsFirst(f.Values, n.Config.N, batch, f.Width), flat(t, x), tol, floor)
	}
	near(t, "slots", sessionsFirst(s.Slots, len(s.Slots)/batch/n.Config.D, batch, n.Config.D), flat(t, want["slots"]), tol, floor)
	near(t, "pos", []float64{float64(s.Pos)}, flat(t, want["pos"])[:1], 0, 0)
	refractory, sent := make([]float64, len(s.Grid.Refractory)), make([]float64, len(s.Grid.Sent))
	for i, r := range s.Grid.Refractory {
		refractory[i] = float64(r)
		if s.Grid.Sent[i] {
			sent[i] = 1
		}
	}
	near(t, "refractory", sessionsFirst(refractory, n.Config.N, batch, 1), flat(t, want["refractory"]), 0, 0)
	near(t, "sent", sessionsFirst(sent, n.Config.N, batch, 1), flat(t, want["sent"]), 0, 0)
	for name := range want {
		switch name {
		case "slots", "pos", "refractory", "sent":
		default:
			if !seen[name] {
				t.Errorf("the state has no %s", name)
			}
		}
	}
}

// sessionsFirst turns [N][B][width] into [B][N][width].
func sessionsFirst[F grad.Float](v []F, n, batch, width int) []F {
	out := make([]F, 0, len(v))
	for b := range batch {
		for i := range n {
			out = append(out, v[(i*batch+b)*width:][:width]...)
		}
	}
	return out
}
