package nested_test

import (
	"path/filepath"
	"strings"
	"testing"

	"atenia/nested"
	"atenia/nested/rule"
)

// wire sets parameters so that memory answers a token with its successor: tokens
// are unit vectors, keys the preceding tokens, all projections the identity, and
// the delta rule writes with a step of 1 and does not forget.
func wire(m *nested.Model[float32]) {
	width := m.Config().Width
	for _, p := range m.Params() {
		clear(p.Value)
		switch name := p.Name[strings.LastIndex(p.Name, ".")+1:]; {
		case name == "b_alpha":
			p.Value[0] = -20
		case name == "b_theta":
			p.Value[0] = 0.54 // softplus is 1
		case name == "key_taps":
			for i := range width {
				p.Value[width+i] = 1
			}
		case len(p.Shape) == 2:
			gain := float32(1)
			if name == "W_unembed" {
				gain = 4
			}
			for i := range p.Shape[0] {
				p.Value[i*width+i] = gain
			}
		}
	}
}

// TestFactOverRuns reads a fact in one run. A later run that starts from what
// the first one saved is less surprised by it, and by exactly as much as a run
// that never ended.
func TestFactOverRuns(t *testing.T) {
	t.Parallel()
	m := built[float32](t, nested.Config{Composition: nested.MAL, Rule: rule.Delta, Vocab: 28, Width: 32, Chunk: 8, KeyTaps: 2})
	wire(m)
	var fact []int32
	for _, c := range "the fox is called mira. " {
		fact = append(fact, int32(strings.IndexRune(" abcdefghijklmnopqrstuvwxyz.", c)))
	}
	score := func(r *nested.Reader[float32]) float64 {
		sum, n, err := r.Score(fact...)
		if err != nil {
			t.Fatal(err)
		}
		return sum / float64(n)
	}
	reader := func() *nested.Reader[float32] {
		r, err := m.NewReader(nested.Stream, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	file := filepath.Join(t.TempDir(), "memory")
	first, second := reader(), reader()
	unknown := score(first)
	if err := first.SaveFile(file); err != nil {
		t.Fatal(err)
	}
	if err := second.RestoreFile(file); err != nil {
		t.Fatal(err)
	}
	known := score(second)
	t.Logf("surprise %.3f, then %.3f nats a token", unknown, known)
	if !(known < unknown-0.5) {
		t.Errorf("surprise %.3f nats a token in the first run, %.3f in the second: nothing was remembered", unknown, known)
	}
	if again := score(first); again != known {
		t.Errorf("surprise %v with a saved memory, %v without a pause", known, again)
	}
}
