package hw

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

func TestMeasureSSD(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := ssdOptions{FileBytes: 8 << 20, WriteBytes: 4 << 20, Sequential: time.Millisecond, Random: time.Millisecond}
	p, err := measureSSD(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]ioRate{"read": p.Read, "random": p.Random, "write": p.Write} {
		if r.BytesPerSecond <= 0 || r.PerSecond <= 0 || r.MeanSeconds <= 0 || r.P99Seconds < 0 || len(r.Windows) != 2 {
			t.Errorf("%s: %+v", name, r)
		}
		for _, w := range r.Windows {
			if w < r.BytesPerSecond {
				t.Errorf("%s: a window of %v is below %v", name, w, r.BytesPerSecond)
			}
		}
	}
	if p.TouchBytesPerSecond <= 0 {
		t.Errorf("%+v", p)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := measureSSD(ctx, dir, o); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := measureSSD(t.Context(), dir+"/none", o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestSlowestWindow(t *testing.T) {
	w := func(calls ...time.Duration) ssdWindow {
		w := ssdWindow{}
		for _, d := range calls {
			w.add(1000, d)
		}
		w.wall = w.sum()
		return w
	}
	r := slowest([]ssdWindow{w(time.Second, time.Second), w(4*time.Second, time.Second, time.Second), w(time.Second)})
	if r.BytesPerSecond != 500 || r.PerSecond != .5 || r.MeanSeconds != 2 || r.P99Seconds != 1 || len(r.Windows) != 3 {
		t.Errorf("%+v", r)
	}
}
