package plan

import "testing"

// TestLowRankText: the text form has all that an adapter adds, and quotes names.
func TestLowRankText(t *testing.T) {
	l := &LowRank{Name: "two words", Updates: []Update{
		{Weight: "blk.0.attn_q", Rank: 8, Rows: 64, Cols: 32, Scale: 2}, {Weight: "a b", Rank: 1, Rows: 2, Cols: 3, Scale: -0.125},
	}}
	const want = `lowrank "two words" updates=2
update blk.0.attn_q rank=8 rows=64 cols=32 scale=2
update "a b" rank=1 rows=2 cols=3 scale=-0.125
`
	if got := l.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
