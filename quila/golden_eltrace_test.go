package quila_test

import (
	"math"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/config"
	"atenia/quila/internal/grid"
)

func init() { topics["eltrace"] = goldenTraces }

func goldenTraces(t *testing.T, path string) {
	var file struct {
		Persistent []struct{ A, U, Trace, Lambda []float64 }
		Osc        []struct {
			Ring  []float64
			Value float64
			Lag   int
		} `json:"oscillation"`
		Session []struct {
			Phase                   int
			Band                    *string
			Weight, Conf, Increment float64
			MeanAbs                 float64 `json:"mean_abs"`
		}
		Rewards []struct {
			Base                            float64
			Tokens, Budget, Halluc, Replans int
			Reward                          []float64
		}
		Difficulty [][]float64
		Credit     struct {
			W, X, Eligibility, DW [][]float64
			Codes                 []int
			Lam, LR, R, B         float64
			Share                 float64 `json:"s_over_mean"`
		}
	}
	golden.JSON(t, path, &file)
	if len(file.Persistent) == 0 || len(file.Osc) == 0 || len(file.Session) == 0 || len(file.Rewards) == 0 || len(file.Difficulty) == 0 || len(file.Credit.X) == 0 {
		t.Fatal("a part of the file is missing")
	}
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.N = len(file.Persistent[0].A)
	traces := grid.NewCredit(&c, 0)
	for _, p := range file.Persistent {
		var all []float64
		for range grid.Groups { // every group has a trace and a λ of its own
			all = append(all, p.A...)
		}
		traces.Update(all, p.U)
		for g := range grid.Groups {
			near(t, "trace", traces.Trace[g*c.N:(g+1)*c.N], p.Trace, 1e-10, 0)
			near(t, "λ", traces.Lambda[g*c.N:(g+1)*c.N], p.Lambda, 1e-10, 0)
		}
	}
	for _, o := range file.Osc {
		if v, lag := grid.Oscillation(o.Ring); math.Abs(v-o.Value) > 1e-10 || lag != o.Lag {
			t.Errorf("ring %v: %v at lag %d, want %v at %d", o.Ring, v, lag, o.Value, o.Lag)
		}
	}
	bands := map[string]grid.Band{"LOW": grid.Low, "MEDIUM": grid.Medium, "HIGH": grid.High}
	for _, s := range file.Session {
		var b grid.Band
		if s.Band != nil {
			if b = bands[*s.Band]; b == grid.None {
				t.Fatalf("there is no band %q", *s.Band)
			}
		}
		w := grid.PhaseWeight(s.Phase, b)
		near(t, "session", []float64{w, grid.Increment(w, s.Conf, s.MeanAbs)}, []float64{s.Weight, s.Increment}, 1e-12, 0)
	}
	for _, r := range file.Rewards {
		all, planner := grid.Reward(&c, r.Base, r.Tokens, r.Budget, r.Halluc, r.Replans)
		near(t, "reward", []float64{all, planner}, r.Reward, 1e-12, 0)
	}
	for _, d := range file.Difficulty {
		near(t, "difficulty", []float64{grid.Difficulty(d[0])}, d[1:], 1e-12, 1e-15)
	}
	rewarded(t, file.Credit.W, file.Credit.X, file.Credit.Codes, file.Credit.Eligibility, file.Credit.DW,
		file.Credit.Lam, file.Credit.LR, file.Credit.R, file.Credit.B, file.Credit.Share)
}

// rewarded replays one episode of a softmax policy over W·x.
func rewarded(t *testing.T, w, x [][]float64, codes []int, eligibility, dw [][]float64, lambda, lr, reward, baseline, share float64) {
	t.Helper()
	n := len(w[0])
	e := grid.NewEpisode(lambda, len(w)*n)
	for step, code := range codes {
		p, sum := make([]float64, len(w)), 0.0
		for i := range w {
			for j, v := range w[i] {
				p[i] += v * x[step][j]
			}
			p[i] = math.Exp(p[i])
			sum += p[i]
		}
		var g []float64
		for i := range w {
			d := -p[i] / sum
			if i == code {
				d++
			}
			for _, v := range x[step] {
				g = append(g, d*v)
			}
		}
		if err := e.Decide(g); err != nil {
			t.Fatal(err)
		}
	}
	var wantE, wantW []float64
	for i := range eligibility {
		wantE, wantW = append(wantE, eligibility[i]...), append(wantW, dw[i]...)
	}
	near(t, "eligibility", e.Eligibility, wantE, 1e-10, 0)
	got := make([]float64, len(wantW))
	e.Update(got, lr, reward, baseline, share)
	near(t, "ΔW", got, wantW, 1e-10, 0)
}
