package sample

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// fixedConstraint allows some tokens, and is complete after n.
type fixedConstraint struct {
	mask []uint64
	n    int
}

func (f *fixedConstraint) Allowed(int) ([]uint64, error) { return f.mask, nil }
func (f *fixedConstraint) Accept(int32) error            { f.n--; return nil }
func (f *fixedConstraint) Follows(ids []int32) int       { return len(ids) }
func (f *fixedConstraint) Done() bool                    { return f.n <= 0 }

// TestAtLeast: tokens that end an answer do not come before n others, alone and beside another
// constraint, unless that leaves no others.
func TestAtLeast(t *testing.T) {
	has := func(mask []uint64, id int) bool { return mask == nil || mask[id/64]>>(id%64)&1 == 1 }
	for _, vocab := range []int{3, 64, 70, 130} {
		ends := []int32{0, int32(vocab - 1)}
		c := AtLeast(2, ends, vocab, nil)
		for step := range 4 {
			mask, err := c.Allowed(9)
			if err != nil {
				t.Fatal(err)
			}
			for id := range vocab {
				if want := step >= 2 || !slices.Contains(ends, int32(id)); has(mask, id) != want {
					t.Errorf("of %d tokens, after %d: %d is allowed: %v", vocab, step, id, !want)
				}
			}
			if mask != nil && vocab%64 != 0 && has(mask, vocab) {
				t.Errorf("a token beyond %d", vocab)
			}
			want := 3
			if step == 0 {
				want = 1
			}
			if got := c.Follows([]int32{1, 0, 1}); got != want && step != 1 || step == 1 && got != 3 {
				t.Errorf("after %d, %d tokens may follow", step, got)
			}
			if err := c.Accept(1); err != nil || c.Done() {
				t.Errorf("after %d: %v, done %v", step, err, c.Done())
			}
		}
	}
	beside := &fixedConstraint{[]uint64{0b1011}, 2}
	c := AtLeast(5, []int32{0}, 8, beside)
	if mask, _ := c.Allowed(3); mask[0] != 0b1010 {
		t.Errorf("beside another: %b", mask[0])
	}
	beside.mask = []uint64{1}
	if mask, _ := c.Allowed(3); mask[0] != 1 {
		t.Errorf("an end alone is left: %b", mask[0])
	}
	_ = c.Accept(1)
	if _ = c.Accept(1); !c.Done() {
		t.Error("the other is complete")
	}
}

// TestXTC: of the candidates at the threshold all but the least probable go, as often as it says.
func TestXTC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	logits := make([]float32, 50)
	for i := range logits {
		logits[i] = float32(4 * r.NormFloat64())
	}
	first := best(candidatesOf(logits))
	count := func(p Params) (top int) {
		p.Temperature = 1
		for seed := range uint64(400) {
			p.Seed = seed
			s, err := New(p, len(logits))
			if err != nil {
				t.Fatal(err)
			}
			ch, err := s.Sample(logits)
			if err != nil {
				t.Fatal(err)
			}
			if int(ch.ID) == first {
				top++
			}
		}
		return top
	}
	off, half, always, high := count(Params{}), count(Params{XTCProbability: 0.5, XTCThreshold: 0.05}), count(Params{XTCProbability: 1, XTCThreshold: 0.05}), count(Params{XTCProbability: 1, XTCThreshold: 0.6})
	if always != 0 || high != off || half < off/4 || half > off*3/4 {
		t.Errorf("the most probable of 400: %d without, %d at a half, %d always, %d with a threshold above 0.5", off, half, always, high)
	}
}

func candidatesOf(logits []float32) (c []candidate) {
	for i, l := range logits {
		c = append(c, candidate{int32(i), l})
	}
	return c
}
