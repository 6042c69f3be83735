package plan

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestLowRankText: the text form reads back, whatever the names and numbers, and a line
// that is cut or has more is refused.
func TestLowRankText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		l := &LowRank{Name: []string{"sql", "", "two words", "ä\n"}[rng.IntN(4)]}
		for i := range rng.IntN(4) {
			l.Updates = append(l.Updates, Update{Weight: []string{"blk.0.attn_q", "a b", "ffn", "z"}[i], Rank: rng.IntN(99), Rows: rng.IntN(99), Cols: rng.IntN(99), Scale: rng.NormFloat64()})
		}
		text := l.String()
		got, err := ParseLowRank(strings.NewReader(text))
		if err != nil || !reflect.DeepEqual(got, l) {
			t.Fatalf("%s: %+v, %v", text, got, err)
		}
		for _, bad := range []string{text + "x", "x" + text, text[:rng.IntN(len(text)-1)]} {
			if got, err := ParseLowRank(strings.NewReader(bad)); err == nil && !strings.HasPrefix(text, bad) {
				t.Errorf("%q is read as %+v", bad, got)
			}
		}
	}
}
