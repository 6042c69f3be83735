package roof

import "testing"

// TestRoofs measures a little of each roof, and of memory.
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
	b, err := p.Bandwidth()
	if err != nil || b.Read <= 0 || b.Copy <= 0 || b.Touch <= 0 {
		t.Errorf("%+v, %v", b, err)
	}
}
