package place

import (
	"context"
	"errors"
	"slices"
	"time"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory/ring"
)

// Experts are those of a layer of a mixture, whose reading is measured, too: how many a token
// chooses, and the bytes of the parts of one.
type Experts struct {
	Chosen int
	Parts  []int64
}

// A ChosenRate is how long experts take that are read when they are chosen. They are few,
// and the next layer chooses when they are there: the disk has less to do at once than while
// it reads ahead. A layer of which n are read waits for Wait + n·Each seconds.
type ChosenRate struct {
	Wait float64 `json:"wait_seconds"`
	Each float64 `json:"seconds_an_expert"` // 0 = not measured
	// Range is what half of the measurements lay between, of their median.
	Range Range `json:"range,omitzero"`
}

// chosenRate returns what lets both numbers of experts take as long as was measured.
func chosenRate(one, all float64, chosen int) ChosenRate {
	if chosen > 1 && all > one {
		if each := (all - one) / float64(chosen-1); each <= one {
			return ChosenRate{Wait: one - each, Each: each}
		}
	}
	return ChosenRate{Each: all / float64(chosen)} // one after another, or as good as at once
}

// chosen measures how long a file's experts take to be read, through a cache that never has
// the ones that are chosen: one of them, and as many as a token chooses. What is measured
// is zero where memory is too short, or the file.
func (e *MeasureEffort) chosen(ctx context.Context, f ring.Source, memory int) (r ChosenRate, err error) {
	x := &e.Experts
	if x.Chosen < 1 {
		return r, nil
	}
	slots := fewWaves * x.Chosen
	var layer ring.ExpertLayer
	for at := int64(0); len(layer.Experts) < 4*slots; {
		var u ring.Unit
		for _, n := range x.Parts {
			u = append(u, ring.Span{Offset: at, Bytes: int(n)})
			at += (n + ring.PageBytes - 1) / ring.PageBytes * ring.PageBytes
		}
		if at > f.Size() {
			break
		}
		layer.Experts = append(layer.Experts, u)
	}
	if len(layer.Experts) <= slots || slots*layer.Experts[0].Room() > memory {
		return r, nil
	}
	c, err := ring.NewExpertCache(ring.ExpertConfig{Files: []ring.Source{f}, Layers: []ring.ExpertLayer{layer}, Slots: slots, Account: ledger.Process})
	if err != nil {
		return r, err
	}
	defer c.Close()
	next := 0
	seconds := func(n int) (float64, error) { // of the mean
		ids, began := make([]int32, n), time.Now()
		for times := 1.0; ; times++ {
			for i := range ids {
				ids[i] = int32(next % len(layer.Experts))
				next++
			}
			if err := errors.Join(context.Cause(ctx), useExperts(c, ids)); err != nil {
				return 0, err
			}
			if took := time.Since(began); took > e.Window/(2*turns) {
				return took.Seconds() / times, nil
			}
		}
	}
	var one, all [turns]float64
	for i := range turns { // alternately, as what others do meanwhile changes
		if one[i], err = seconds(1); err != nil {
			return r, err
		}
		if all[i], err = seconds(x.Chosen); err != nil {
			return r, err
		}
	}
	slices.Sort(one[:])
	slices.Sort(all[:])
	r = chosenRate(one[turns/2], all[turns/2], x.Chosen)
	r.Range = Range{all[turns/4] / all[turns/2], all[turns-1-turns/4] / all[turns/2]}
	return r, nil
}

// useExperts waits for experts, as a step does.
func useExperts(c *ring.ExpertCache, ids []int32) error {
	if err := c.Begin(nil); err != nil {
		return err
	}
	c.Use(0, ids, false)
	for n := 0; n < len(ids); {
		k, err := c.Acquire()
		if err != nil {
			c.End(false)
			return err
		}
		n += k
		c.Release()
	}
	c.End(true)
	return nil
}
