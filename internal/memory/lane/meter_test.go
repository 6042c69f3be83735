package lane

import (
	"testing"
	"time"
)

// TestMeter computes the overlap of hand-made events.
func TestMeter(t *testing.T) {
	t.Parallel()
	type e struct {
		lane     Lane
		from, to time.Duration
		idle     bool
	}
	for _, c := range []struct {
		name          string
		events        []e
		move, compute time.Duration
		want          float64
	}{
		{"nothing", nil, 0, 0, 0},
		{"only reads", []e{{IO, 0, 10, false}}, 10, 0, 0},
		{"one after the other", []e{{IO, 0, 10, false}, {Compute, 10, 30, false}}, 10, 20, 0},
		{"hidden", []e{{IO, 0, 10, false}, {Compute, 0, 20, false}}, 10, 20, 1},
		{"half", []e{{Transfer, 0, 10, false}, {Device, 5, 15, false}}, 10, 10, .5},
		{"readers at once count once", []e{{IO, 0, 10, false}, {IO, 5, 15, false}, {Compute, 0, 15, false}}, 15, 15, 1},
		{"between two requests nothing runs", []e{{IO, 0, 10, false}, {Compute, 20, 30, false}}, 10, 10, 0},
		{"a task within another", []e{{Compute, 0, 20, false}, {IO, 0, 10, false}, {Compute, 5, 8, false}}, 10, 20, 1},
		{"waiting is no computing", []e{{Compute, 0, 30, false}, {IO, 0, 20, false}, {Compute, 0, 20, true}}, 20, 10, 0},
	} {
		var m Meter
		for at := time.Duration(0); at <= 30; at++ {
			for _, v := range c.events {
				if v.to == at {
					m.Event(Event{Phase: End, Lane: v.lane, At: at, Idle: v.idle})
				}
			}
			for _, v := range c.events {
				if v.from == at {
					m.Event(Event{Phase: Begin, Lane: v.lane, At: at, Idle: v.idle})
				}
			}
			if r := m.Report(); r.Wall > at || r.Move > r.Wall || r.Compute > r.Wall {
				t.Errorf("%s: at %d %+v", c.name, at, r)
			}
		}
		r := m.Report()
		if r.Overlap() != c.want || r.Move != c.move || r.Compute != c.compute {
			t.Errorf("%s: overlap %v of %+v, want %v", c.name, r.Overlap(), r, c.want)
		}
	}
}
