package cpu

import "testing"

func TestDetect(t *testing.T) {
	i := Detect()
	t.Log(i.String(), i.Features, i.AVX2, i.AVX512, i.Threads())
	if i.Logical < 1 || i.Physical < 1 || i.Allowed < 1 || i.Cores < 1 || i.Cores > i.Allowed {
		t.Errorf("implausible: %+v", i)
	}
	if n := Threads(); n < 1 || n > i.Allowed {
		t.Errorf("%d threads", n)
	}
}

func TestThreads(t *testing.T) {
	for _, c := range []struct {
		cores int
		quota float64
		want  int
	}{{8, 0, 8}, {8, 2, 2}, {8, 2.4, 2}, {8, 1.5, 2}, {8, 2.9, 3}, {8, 0.5, 1}, {8, 0.1, 1}, {2, 4, 2}} {
		i := Info{Cores: c.cores, Quota: c.quota}
		if got := i.Threads(); got != c.want {
			t.Errorf("%d cores, quota %v: got %d threads, want %d", c.cores, c.quota, got, c.want)
		}
	}
}
