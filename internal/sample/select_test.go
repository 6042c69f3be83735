package sample

import (
	"fmt"
	"math"
	"testing"
)

// TestDistribution draws often and compares the counts with the probabilities
// by chi-square. The bound is five standard deviations: loose, and the seed is
// fixed, but a wrong weight fails it by far.
func TestDistribution(t *testing.T) {
	for _, vocab := range []int{8, 511, 513, 2000} { // around and across the blocks of pick
		for name, p := range map[string]Params{
			"plain": {Temperature: 1}, "flat": {Temperature: 4}, "top-p": {Temperature: 1.5, TopP: 0.9}, "top-k": {Temperature: 2, TopK: 6},
		} {
			t.Run(fmt.Sprintf("%s/%d", name, vocab), func(t *testing.T) {
				const draws, groups = 4000, 40
				logits := randomLogits(9, vocab)
				p.Seed = 11
				s := newSampler(t, p, vocab)
				var got, want [groups]float64
				for range draws {
					ch, err := s.Sample(logits)
					if err != nil {
						t.Fatal(err)
					}
					got[ch.ID%groups]++
				}
				for _, x := range refStages(p, logits, nil) {
					want[x.ID%groups] += math.Exp(x.LogProb) * draws
				}
				chi, free := 0.0, -1.0
				for i, w := range want {
					switch {
					case w == 0 && got[i] > 0:
						t.Errorf("group %d has probability 0, drawn %v times", i, got[i])
					case w > 5:
						chi += (got[i] - w) * (got[i] - w) / w
						free++
					}
				}
				if limit := free + 5*math.Sqrt(2*max(free, 1)); chi > limit {
					t.Errorf("chi-square %.1f over %v degrees of freedom, at most %.1f", chi, free, limit)
				}
			})
		}
	}
}

// FuzzSampler: nothing panics, and no token is chosen that a stage removed or
// that has probability 0.
func FuzzSampler(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5}, []byte{0, 1, 0}, uint16(0), float32(1), float32(0.9), float32(0.1), float32(0.5), float32(1.1))
	f.Add([]byte{255, 255}, []byte{}, uint16(3), float32(0), float32(0), float32(0), float32(0), float32(0))
	f.Add([]byte{0, 128, 255, 7}, []byte{3, 3, 3, 3}, uint16(0xffff), float32(1e-44), float32(1e-30), float32(1), float32(1e-9), float32(-1))
	f.Add([]byte{9, 9, 9, 9, 200}, []byte{4, 4, 1, 4, 4}, uint16(0x1234), float32(3e38), float32(1), float32(1e-44), float32(1), float32(2))
	f.Fuzz(func(t *testing.T, raw, past []byte, flags uint16, temp, topP, minP, typical, penalty float32) {
		if len(raw) == 0 || len(raw) > 2000 || len(past) > 2000 {
			return
		}
		p := Params{Temperature: temp, TopP: topP, MinP: minP, Typical: typical, RepeatPenalty: penalty,
			FrequencyPenalty: penalty * float32(flags&1), TopK: int(flags >> 3 & 31), RepeatLast: int(flags>>8&15) - 2,
			LogProbs: int(flags >> 12 & 3), Seed: uint64(flags)}
		if flags&2 != 0 {
			p.DRY = DRY{Multiplier: penalty, AllowedLength: 1, Breakers: [][]int32{{0}}}
		}
		if flags&4 != 0 {
			p.Mirostat.Tau = 2 * typical
			p.LogitBias = map[int32]float32{0: negInf}
		}
		logits := make([]float32, len(raw))
		for i, b := range raw {
			switch logits[i] = (float32(b) - 128) / 8; b {
			case 0:
				logits[i] = negInf
			case 1:
				logits[i] = -math.MaxFloat32
			case 255:
				logits[i] = math.MaxFloat32
			case 254:
				logits[i] = float32(math.NaN())
			}
		}
		s, err := New(p, len(logits))
		if err != nil {
			return
		}
		for _, b := range past {
			s.Accept(int32(b))
		}
		for range 3 {
			ch, err := s.Sample(logits)
			if err != nil {
				return
			}
			if ch.ID < 0 || int(ch.ID) >= len(logits) || logits[ch.ID] == negInf || flags&4 != 0 && ch.ID == 0 {
				t.Fatalf("%+v: chose %d of %v", p, ch.ID, logits)
			}
			if !s.plain {
				checkChosen(t, s, ch.ID)
			}
			s.Accept(ch.ID)
		}
	})
}

func checkChosen(t *testing.T, s *Sampler, id int32) {
	high := float64(s.c[best(s.c)].logit)
	for _, x := range s.c {
		if x.id == id {
			if math.Exp(float64(x.logit)-high) == 0 {
				t.Fatalf("%+v: chose %d, whose probability is 0", s.p, id)
			}
			return
		}
	}
	t.Fatalf("%+v: chose %d, which was removed", s.p, id)
}

func BenchmarkSample(b *testing.B) {
	for _, vocab := range []int{32000, 128256} {
		logits := randomLogits(1, vocab)
		for _, c := range []struct {
			name string
			p    Params
		}{
			{"greedy", Params{}},
			{"top-k40+top-p0.95", Params{Temperature: 0.8, TopK: 40, TopP: 0.95}},
			{"penalties+top-k40", Params{Temperature: 0.8, TopK: 40, RepeatPenalty: 1.1}},
			{"top-p0.95", Params{Temperature: 0.8, TopP: 0.95}},
			{"min-p0.05", Params{Temperature: 0.8, MinP: 0.05}},
			{"typical0.9", Params{Temperature: 0.8, Typical: 0.9}},
			{"temperature", Params{Temperature: 0.8}},
			{"mirostat", Params{Temperature: 0.8, Mirostat: Mirostat{Tau: 5}}},
			{"greedy+logprobs5", Params{LogProbs: 5}},
		} {
			b.Run(fmt.Sprintf("%s/%d", c.name, vocab), func(b *testing.B) {
				s := newSampler(b, c.p, vocab)
				b.ReportAllocs()
				for b.Loop() {
					ch, err := s.Sample(logits)
					if err != nil {
						b.Fatal(err)
					}
					s.Accept(ch.ID)
				}
			})
		}
	}
}
