package fit

import (
	"errors"
	"strings"
	"testing"

	"atenia/internal/tape"
	"atenia/internal/train"
)

const mib = 1 << 20

// request is a model of 300 million parameters, two batches a step.
func someRequest() request {
	r := request{
		Program: 50 * mib, Threads: 2, Rows: 512, Batches: 2, Values: 300e6, Trained: 300e6,
		Block: 100 * mib, Group: 50 * mib, BF16: true, Slots: 2,
		Bytes: tape.Bytes{Edges: 100 * mib, Shared: 60 * mib},
	}
	for range 26 {
		r.Bytes.Kept = append(r.Bytes.Kept, 20*mib)
	}
	return r
}

// TestDecide goes through budgets from nothing to more than everything: plans stay
// within them, the floor is the smallest, and more memory never means more bytes
// from files or fewer values that are kept.
func TestDecide(t *testing.T) {
	r := someRequest()
	floor, last := int64(0), (*plan)(nil)
	for mb := int64(50); mb < 10000; mb += 7 {
		r.Budget = mb * mib
		p, err := decide(r)
		if err != nil {
			e, ok := errors.AsType[*FloorError](err)
			if !ok || !errors.Is(err, train.ErrConfig) || e.Floor <= r.Budget || !strings.Contains(err.Error(), "--budget ram=") {
				t.Fatal(err)
			}
			if last != nil {
				t.Fatalf("%d MiB are too few, fewer were enough", mb)
			}
			floor = e.Floor
			continue
		}
		if !p.Paged {
			if p.InMemory > r.Budget {
				t.Fatalf("%d bytes in memory of %d", p.InMemory, r.Budget)
			}
			last = p
			continue
		}
		used := p.Floor + p.Gradients
		for i := range p.Kept {
			used += r.Bytes.Kept[len(r.Bytes.Kept)-2-i]
		}
		if used > r.Budget || p.InMemory <= r.Budget {
			t.Errorf("%d MiB: the plan takes %d MiB, all would take %d", mb, used/mib, p.InMemory/mib)
		}
		if last != nil && p.Chunk == last.Chunk && (p.Kept < last.Kept || p.Gradients < last.Gradients && p.Kept == last.Kept) {
			t.Errorf("%d MiB: %+v after %+v", mb, p, last)
		}
		last = p
	}
	if floor == 0 || last == nil || last.Paged {
		t.Errorf("floor %d, at the end %+v", floor, last)
	}
}

// TestFloor checks that the floor an error names is enough, and no byte less is.
func TestFloor(t *testing.T) {
	r := someRequest()
	r.Budget = 1
	_, err := decide(r)
	e, ok := errors.AsType[*FloorError](err)
	if !ok {
		t.Fatal(err)
	}
	r.Budget = e.Floor
	if _, err := decide(r); err != nil {
		t.Error("the floor of one error is too small: ", err)
	}
	r.Budget--
	if _, err := decide(r); err == nil {
		t.Error("one byte less is enough, too")
	}
}

// TestSay checks the line of a plan in each case.
func TestSay(t *testing.T) {
	r := someRequest()
	for _, c := range []struct {
		change func(*request)
		want   string
	}{
		{func(r *request) { r.Budget = 1024 * mib }, "do not fit into 1 GiB: parameters and the optimizer's state are in files"},
		{func(r *request) { r.Budget = 100 * 1024 * mib }, "everything is in memory"},
		{func(r *request) { r.Budget, r.InFiles = 100*1024*mib, true }, "begun with its state in files"},
		{func(r *request) { r.Budget, r.Frozen, r.Trained = 1024*mib, 50*mib, 1e6 }, "frozen parameters are read from the model's file"},
	} {
		q := r
		c.change(&q)
		p, err := decide(q)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.String(), c.want) || strings.Contains(p.String(), "\n") {
			t.Errorf("%q, want %q in one line", p, c.want)
		}
	}
}

// TestSenses: what encodes images is part of the floor and of the whole.
func TestSenses(t *testing.T) {
	least := func(senses int64) (floor, whole int64) {
		r := someRequest()
		r.Senses, r.Budget = senses, 1
		_, err := decide(r)
		e, ok := errors.AsType[*FloorError](err)
		if !ok {
			t.Fatal(err)
		}
		r.Budget = 1 << 50
		p, err := decide(r)
		if err != nil {
			t.Fatal(err)
		}
		return e.Floor, p.InMemory
	}
	floor, whole := least(0)
	more, all := least(90 * mib)
	if more != floor+90*mib || all != whole+90*mib {
		t.Errorf("90 MiB of encoders raise the floor by %d, the whole by %d", more-floor, all-whole)
	}
}
