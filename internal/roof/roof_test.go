package roof

import "testing"

// TestRoofs measures a little of each roof.
func TestRoofs(t *testing.T) {
	p, err := New(2)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.Round()
	if r := p.Best; r.Memory <= 0 || r.Cache <= 0 || r.FMA <= 0 || r.Dot <= 0 {
		t.Errorf("%+v", r)
	}
	t.Logf("%.1f and %.1f GB/s, %.0f and %.0f G/s", p.Best.Memory/1e9, p.Best.Cache/1e9, p.Best.FMA/1e9, p.Best.Dot/1e9)
}
