package plan

import "testing"

func TestWordReadsBack(t *testing.T) {
	for _, s := range []string{"", "a", "blk.3.attn_q", "a b", `q"`, "ü", "\n", "-1/2", "x="} {
		l := scanLine{S: scanWord(s) + " rest", N: 1}
		got, err := l.Word()
		if err != nil || got != s || l.S[l.Pos:] != " rest" {
			t.Errorf("%q: got %q, %v, left %q", s, got, err, l.S[l.Pos:])
		}
	}
}

func TestErrorsHaveAPlace(t *testing.T) {
	l := scanLine{S: "ab 70000x", N: 7}
	if !l.Lit("ab ") || l.Lit("q") {
		t.Fatal("literals")
	}
	_, err := l.Number(16)
	if err == nil || err.Error() != "line 7, column 4: want a number of at most 16 bits" {
		t.Errorf("got %v", err)
	}
	if err := l.End(); err == nil || l.Bare() != "x" || l.End() != nil {
		t.Errorf("got %v", err)
	}
	if _, err := l.Word(); err == nil {
		t.Error("an empty word")
	}
}
