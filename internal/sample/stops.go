package sample

import "slices"

// Stops finds stop strings in a text that arrives in pieces. It holds back any
// suffix that may begin one, so that no part of a stop string is ever shown.
//
// The text ends where the first completed stop string begins; of several that
// end at the same byte the longest counts. The result does not depend on how the
// text is divided into pieces.
type Stops struct {
	list    []stop
	held    string // a suffix of the text that begins a stop string
	stopped bool
	hit     string // the stop string that ended the text
}

// A stop is a string with its Knuth-Morris-Pratt automaton.
type stop struct {
	s     string
	back  []int // back[n]: longest proper border of s[:n+1]
	state int   // length of the prefix of s that the text ends in
}

// NewStops returns a matcher for the strings. Empty ones are ignored.
func NewStops(list []string) *Stops {
	s := &Stops{}
	for _, text := range slices.Compact(slices.Sorted(slices.Values(list))) {
		if text != "" {
			s.list = append(s.list, newStop(text))
		}
	}
	return s
}

func newStop(s string) stop {
	back := make([]int, len(s))
	for i, n := 1, 0; i < len(s); i++ {
		for n > 0 && s[i] != s[n] {
			n = back[n-1]
		}
		if s[i] == s[n] {
			n++
		}
		back[i] = n
	}
	return stop{s: s, back: back}
}

// next takes a byte and reports whether the text now ends in the stop string.
func (p *stop) next(b byte) bool {
	for p.state > 0 && p.s[p.state] != b {
		p.state = p.back[p.state-1]
	}
	if p.s[p.state] == b {
		p.state++
	}
	return p.state == len(p.s)
}

// Feed adds the next piece of text and returns what may be shown now. If stopped
// is true, a stop string was found: the text has ended, and later pieces are
// dropped.
func (s *Stops) Feed(text string) (emit string, stopped bool) {
	if s.stopped {
		return "", true
	}
	all := s.held + text
	for i := len(s.held); i < len(all); i++ {
		hit := ""
		for j := range s.list {
			if l := &s.list[j]; l.next(all[i]) && len(l.s) > len(hit) {
				hit = l.s
			}
		}
		if hit != "" {
			s.stopped, s.held, s.hit = true, "", hit
			return all[:i+1-len(hit)], true
		}
	}
	n := 0
	for j := range s.list {
		n = max(n, s.list[j].state)
	}
	s.held = all[len(all)-n:]
	return all[:len(all)-n], false
}

// Hit returns the stop string that ended the text, "" if none did.
func (s *Stops) Hit() string { return s.hit }

// Flush returns the held-back text when the text ends without a stop string, and
// resets the matcher.
func (s *Stops) Flush() string {
	held := s.held
	s.held, s.stopped, s.hit = "", false, ""
	for j := range s.list {
		s.list[j].state = 0
	}
	return held
}
