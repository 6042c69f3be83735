package sample

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// refStops is the definition: the first end of a stop string, of several there
// the longest.
func refStops(list []string, text string) (emit string, stopped bool) {
	end, longest := len(text)+1, 0
	for _, s := range list {
		if s == "" {
			continue
		}
		if i := strings.Index(text, s); i >= 0 {
			if e := i + len(s); e < end {
				end, longest = e, len(s)
			} else if e == end {
				longest = max(longest, len(s))
			}
		}
	}
	if longest > 0 {
		return text[:end-longest], true
	}
	return text, false
}

// checkStops feeds text in pieces, cut where next says, and compares. At every
// moment the text shown must be the longest that cannot be part of a match.
func checkStops(t *testing.T, list []string, text string, next func(left int) int) {
	t.Helper()
	s := NewStops(list)
	want, stops := refStops(list, text)
	shown, stopped := "", false
	for at := 0; at < len(text) && !stopped; {
		n := next(len(text) - at)
		var emit string
		emit, stopped = s.Feed(text[at : at+n])
		shown += emit
		at += n
		if held := text[len(shown):at]; !stopped && held != heldBack(list, text[:at]) {
			t.Fatalf("%q after %q: holds back %q, want %q", list, text[:at], held, heldBack(list, text[:at]))
		}
	}
	if stopped {
		if !slices.Contains(list, s.Hit()) || !strings.HasPrefix(text[len(shown):], s.Hit()) {
			t.Fatalf("%q in %q: ended by %q", list, text, s.Hit())
		}
		if emit, again := s.Feed("more"); emit != "" || !again {
			t.Fatalf("%q, %q: went on after the stop with %q", list, text, emit)
		}
	}
	shown += s.Flush()
	if shown != want || stopped != stops {
		t.Fatalf("%q in %q: got %q, %v, want %q, %v", list, text, shown, stopped, want, stops)
	}
	if emit, stopped := s.Feed(text); emit+s.Flush() != want || stopped != stops {
		t.Fatalf("%q: not ready for another text", list)
	}
}

// heldBack is the longest end of text that begins a stop string.
func heldBack(list []string, text string) string {
	for i := range len(text) {
		for _, s := range list {
			if strings.HasPrefix(s, text[i:]) {
				return text[i:]
			}
		}
	}
	return ""
}

func TestStops(t *testing.T) {
	for _, c := range []struct {
		list         []string
		text, want   string
		wantsStopped bool
	}{
		{nil, "all of it", "all of it", false},
		{[]string{""}, "all of it", "all of it", false},
		{[]string{"END"}, "the END.", "the ", true},
		{[]string{"END"}, "the EN", "the EN", false},
		{[]string{"\n\n", "User:"}, "a\nb\n\nUser:", "a\nb", true},
		{[]string{"aab"}, "aaaab", "aa", true},
		{[]string{"abcd", "bc"}, "abcd", "a", true},
		{[]string{"bc", "abc"}, "abcd", "", true},
		{[]string{"é"}, "voilà: été", "voilà: ", true},
		{[]string{"</s>", "</s>"}, "x</s</s>", "x</s", true},
	} {
		for n := 1; n <= len(c.text); n++ {
			checkStops(t, c.list, c.text, func(left int) int { return min(n, left) })
		}
		if got, stopped := refStops(c.list, c.text); got != c.want || stopped != c.wantsStopped {
			t.Errorf("%q in %q: got %q, %v, want %q, %v", c.list, c.text, got, stopped, c.want, c.wantsStopped)
		}
	}
}

func TestStopsAgain(t *testing.T) {
	s := NewStops([]string{"ab"})
	s.Feed("xa")
	if got := s.Flush(); got != "a" {
		t.Errorf("flush: got %q", got)
	}
	if emit, stopped := s.Feed("b"); emit != "b" || stopped {
		t.Errorf("the flushed text still counts: got %q, %v", emit, stopped)
	}
}

func FuzzStops(f *testing.F) {
	f.Add("the END.", "END", "", uint64(1))
	f.Add("aaabaaab", "aab", "aaaa", uint64(2))
	f.Add("abababac", "ababac", "ba", uint64(3))
	f.Add("été\xc3", "é", "\xc3", uint64(4))
	f.Fuzz(func(t *testing.T, text, a, b string, seed uint64) {
		if len(text) > 500 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for range 4 {
			checkStops(t, []string{a, b}, text, func(left int) int { return 1 + r.IntN(min(left, 9)) })
		}
	})
}
