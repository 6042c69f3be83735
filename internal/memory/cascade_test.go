package memory

import (
	"context"
	"errors"
	"slices"
	"testing"
)

// A mover is an owner that writes down what it moves and may refuse.
type mover struct {
	moved  []string
	refuse error
}

func (m *mover) MoveOwned(_ context.Context, id string, from, to Tier) error {
	if m.refuse != nil {
		return m.refuse
	}
	m.moved = append(m.moved, id+" "+from.String()+">"+to.String())
	return nil
}

func (m *mover) Lends(string) bool { return false }

func cascade(t *testing.T, o *mover, score map[string]float64) *Cascade {
	c := NewCascade(New(Config{}), o, []Level{{"hot", RAM, 20, false}, {"warm", RAM, 10, false}, {"disk", SSD, 10, false}},
		func(_ int, ids []string, out []float64) {
			for i, id := range ids {
				out[i] = score[id]
			}
		})
	for id := range score {
		if err := c.Add(id, 10, 0); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// TestCascade: levels keep their quotas by score, a step inside a tier moves no
// bytes, what the last one cannot hold is removed, and one tensor may stay.
func TestCascade(t *testing.T) {
	o := &mover{}
	c := cascade(t, o, map[string]float64{"a": 5, "b": 1, "c": 3, "d": 3, "e": 2, "f": 0})
	var steps []Descent
	if err := c.Settle(t.Context(), "f", func(d Descent) { steps = append(steps, d) }); err != nil {
		t.Fatal(err)
	}
	want := []Descent{{"b", 0, 1, 1}, {"e", 0, 1, 2}, {"c", 0, 1, 3}, {"d", 0, 1, 3}, {"b", 1, 2, 1}, {"e", 1, 2, 2}, {"c", 1, 2, 3}, {"b", 2, -1, 1}, {"e", 2, -1, 2}}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
	if w := []string{"b Ram>Ssd", "e Ram>Ssd", "c Ram>Ssd"}; !slices.Equal(o.moved, w) {
		t.Errorf("moved %v, want %v", o.moved, w)
	}
	if got, _ := c.Level("f"); got != 0 || c.Used(0) != 20 || c.Used(1) != 10 || c.Used(2) != 10 || c.Over(0) != 0 {
		t.Errorf("f is in %d, %d %d %d bytes", got, c.Used(0), c.Used(1), c.Used(2))
	}
	if _, ok := c.Level("b"); ok {
		t.Error("b is still there")
	}
}

// TestCascadeRefuses: an owner that fails leaves the tensor and the counts.
func TestCascadeRefuses(t *testing.T) {
	o := &mover{refuse: errors.New("disk is gone")}
	c := cascade(t, o, map[string]float64{"a": 1, "b": 2})
	c.SetQuota(0, 0)
	if err := c.Settle(t.Context(), "", nil); !errors.Is(err, o.refuse) {
		t.Errorf("%v", err)
	}
	if c.Used(0)+c.Used(1) != 20 || c.Used(2) != 0 {
		t.Errorf("%d, %d and %d bytes", c.Used(0), c.Used(1), c.Used(2))
	}
	for _, err := range []error{c.Move(t.Context(), "x", 1), c.Remove("x"), c.Add("a", 1, 0)} {
		if !errors.Is(err, errUnsupported) {
			t.Errorf("%v", err)
		}
	}
}
