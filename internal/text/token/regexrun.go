package token

import (
	"slices"
	"sync"
	"unicode/utf8"
)

// A regexThread is a way not tried yet. run is set for the rest of an opRun: it
// may give back characters down to lo.
type regexThread struct {
	pc, pos, lo int
	trail       int // marks before it
	run, marked bool
}

// A regexMachine looks for the matches of an expression in a text. Nothing that it
// learns depends on where a match began, so that it serves for all of them.
type regexMachine struct {
	re    *regex
	s     string
	wait  int // steps before it remembers states
	steps int // of this match
	stack []regexThread
	marks regexMarks
	known map[innerKey]int // ends of inner matches, once there are many
	ends  []regexRun       // the last run of each instruction
}

// An innerKey is a group or a look at a position.
type innerKey struct {
	in  *regexInst
	pos int
}

// A regexRun is a stretch of characters of a set, which ends before past - 1.
type regexRun struct{ from, past int }

const (
	anywhere = -1 // a match may end anywhere

	// patience is the number of steps after which a match remembers states.
	patience = 1 << 10

	// maxRegexPages and maxRegexKnown bound what a text's marks take to 16 MiB each;
	// what is forgotten then is found again.
	maxRegexPages = 1 << 15
	maxRegexKnown = 1 << 18
)

// regexMachines are those not in use: most texts are a few words, for which a stack
// costs more than the matches.
var regexMachines = sync.Pool{New: func() any { return new(regexMachine) }}

// machine returns a machine for a text, to be given back by [regexMachine.done].
func (re *regex) machine(s string) *regexMachine {
	m := regexMachines.Get().(*regexMachine)
	m.re, m.s, m.wait = re, s, patience
	m.marks.each, m.marks.keep = len(s)+1, re.empty
	if re.empty {
		m.wait = 0 // the marks end the loops
	}
	return m
}

// done forgets all that was learnt of the text.
func (m *regexMachine) done() {
	clear(m.ends)
	*m = regexMachine{stack: m.stack[:0], ends: m.ends[:0], marks: regexMarks{trail: m.marks.trail[:0]}}
	if cap(m.stack)+cap(m.marks.trail) <= patience {
		regexMachines.Put(m)
	}
}

// match is a [matcher].
func (re *regex) match(s string, i int) int {
	m := re.machine(s)
	defer m.done()
	return m.at(i)
}

// segments calls yield for the matches in s and the stretches between them.
func (re *regex) segments(s string, yield func(i, j int, match bool)) {
	m := re.machine(s)
	defer m.done()
	segments(s, func(_ string, i int) int { return m.at(i) }, yield)
}

// at returns the end of the match at i, or -1.
func (m *regexMachine) at(i int) int {
	m.steps = 0
	end := m.match(m.re.code, &m.marks, i, anywhere)
	if m.steps > patience {
		m.wait = 0 // other matches of this text are slow as well
	}
	return end
}

// regexMarks are the states that need not be tried: they have failed, or are being
// tried. Those being tried are on the trail, in order, until they fail: when they lead
// to a match they are no longer marked.
type regexMarks struct {
	each  int  // positions of an instruction
	keep  bool // for ever: what is being tried must not be tried again
	pages map[int]*[64]uint64
	trail []int
}

// add marks an instruction at a position and reports whether it was not marked. An
// instruction has two kinds of marks: its own, and those of the rest of its run.
func (k *regexMarks) add(id, kind, pos int) bool {
	key := (2*id+kind)*k.each + pos
	page := k.pages[key>>12]
	if page == nil {
		if k.pages == nil || len(k.pages) >= maxRegexPages && !k.keep {
			k.pages = map[int]*[64]uint64{}
		}
		page = new([64]uint64)
		k.pages[key>>12] = page
	}
	word, bit := &page[key>>6&63], uint64(1)<<(key&63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	k.trail = append(k.trail, key)
	return true
}

// free takes back the marks that led to a match: from these on the trail. Where a loop
// may go round without a character, a state may have failed because it led to one that
// was being tried, which led to the match; all marks go then.
func (m *regexMachine) free(k *regexMarks, from int) {
	if m.re.empty {
		k.pages = nil
	}
	for _, key := range k.trail[from:] {
		if page := k.pages[key>>12]; page != nil {
			page[key>>6&63] &^= 1 << (key & 63)
		}
	}
	k.trail = k.trail[:from]
}

// match runs code at pos and returns the end of the match, or -1. With until set,
// the match must end there, and marks are of that end.
func (m *regexMachine) match(code []regexInst, marks *regexMarks, pos, until int) int {
	base, first := len(m.stack), len(marks.trail)
	s, pc := m.s, 0
	for {
		in, ok := &code[pc], true
		if m.steps++; m.steps > m.wait && in.op != opMatch {
			ok = marks.add(in.id, 0, pos)
		}
		switch {
		case !ok:
		case in.op == opMatch:
			if until == anywhere || pos == until {
				m.stack = m.stack[:base]
				m.free(marks, first)
				return pos
			}
			ok = false
		case in.op == opSet:
			if ok = pos < len(s); ok {
				r, n := decodeRune(s[pos:])
				if ok = in.set.has(r); ok {
					pc, pos = pc+1, pos+n
				}
			}
		case in.op == opRun:
			var lo, end int
			if lo, end, ok = m.run(in, pos); !ok {
				break
			}
			t := regexThread{pc: pc + 1, lo: lo, run: true}
			if in.y == forever && !in.hold && m.steps > m.wait {
				if end, ok = m.rest(in, marks, lo, end); !ok {
					break
				}
				t.marked, t.trail = true, len(marks.trail)-1
			} else {
				t.trail = len(marks.trail)
			}
			pc, pos = pc+1, end
			if t.pos = end; end > lo && !in.hold {
				m.stack = append(m.stack, t)
			}
		case in.op == opSplit:
			m.stack = append(m.stack, regexThread{pc: in.y, pos: pos, trail: len(marks.trail)})
			pc = in.x
		case in.op == opJump:
			pc = in.x
		case in.op == opLook:
			if ok = m.inner(in, pos) >= 0 != in.not; ok {
				pc++
			}
		case in.op == opAtomic:
			end := m.inner(in, pos)
			if ok = end >= 0; ok {
				pc, pos = pc+1, end
			}
		case in.op == opAssert:
			if ok = in.assert.holds(s, pos); ok {
				pc++
			}
		}
		if ok {
			continue
		}
		if len(m.stack) == base {
			marks.trail = marks.trail[:first]
			return -1
		}
		top := &m.stack[len(m.stack)-1]
		pc, pos = top.pc, top.pos
		marks.trail = marks.trail[:top.trail]
		if top.run {
			_, n := utf8.DecodeLastRuneInString(s[:pos])
			pos -= n
			if top.marked {
				top.trail--
			}
			if top.pos = pos; pos > top.lo {
				continue
			}
		}
		m.stack = m.stack[:len(m.stack)-1]
	}
}

// run returns the end of the longest and of the shortest run of in at pos. The end of
// a run without a bound is the same from each of its characters.
func (m *regexMachine) run(in *regexInst, pos int) (lo, end int, ok bool) {
	var last regexRun
	if in.y == forever {
		if len(m.ends) == 0 {
			m.ends = slices.Grow(m.ends, m.re.insts)[:m.re.insts]
		}
		last = m.ends[in.id]
	}
	k := 0
	for lo, end = pos, pos; k < in.y; {
		if k >= in.x && last.from <= end && end < last.past {
			end = last.past - 1
			break
		}
		if end == len(m.s) {
			break
		}
		r, n := decodeRune(m.s[end:])
		if !in.set.has(r) {
			break
		}
		end += n
		if k++; k == in.x {
			lo = end
		}
	}
	if in.y == forever && (pos < last.from || end >= last.past) {
		m.ends[in.id] = regexRun{pos, end + 1}
	}
	return lo, end, k >= in.x
}

// rest marks the places from which the run goes on, up to the first that was marked
// before: from there on all has been tried. It returns the last place that has not, if
// there is one.
func (m *regexMachine) rest(in *regexInst, marks *regexMarks, lo, end int) (int, bool) {
	last, ok := lo, false
	for pos := lo; marks.add(in.id, 1, pos); {
		last, ok = pos, true
		if pos == end {
			break
		}
		_, n := decodeRune(m.s[pos:])
		pos += n
	}
	return last, ok
}

// inner matches a group or what follows or precedes. Groups in groups would cost a
// power of the length of the text, so their ends are remembered after a while.
func (m *regexMachine) inner(in *regexInst, pos int) int {
	key := innerKey{in, pos}
	if end, ok := m.known[key]; ok {
		return end
	}
	var end int
	switch {
	case in.behind:
		end = m.before(in, pos)
	case m.re.empty:
		end = m.match(in.sub, &regexMarks{each: m.marks.each, keep: true}, pos, anywhere)
	default:
		end = m.match(in.sub, &m.marks, pos, anywhere)
	}
	if m.steps > m.wait {
		if m.known == nil || len(m.known) >= maxRegexKnown {
			m.known = map[innerKey]int{}
		}
		m.known[key] = end
	}
	return end
}

// before returns pos if in.sub matches what ends there, and -1 otherwise.
func (m *regexMachine) before(in *regexInst, pos int) int {
	marks := regexMarks{each: m.marks.each, keep: m.re.empty}
	for k, from := 0, pos; k <= in.y; k++ {
		if k >= in.x && m.match(in.sub, &marks, from, pos) >= 0 {
			return pos
		}
		if from == 0 {
			break
		}
		_, n := utf8.DecodeLastRuneInString(m.s[:from])
		from -= n
	}
	return -1
}

// holds reports whether pos is such a place in s.
func (a assertion) holds(s string, pos int) bool {
	switch a {
	case atTextStart:
		return pos == 0
	case atTextEnd:
		return pos == len(s)
	case atLastEnd:
		return pos == len(s) || pos == len(s)-1 && s[pos] == '\n'
	case atLineStart:
		return pos == 0 || s[pos-1] == '\n' && pos < len(s)
	case atLineEnd:
		return pos == len(s) || s[pos] == '\n'
	}
	before, after := false, false
	if pos > 0 {
		r, _ := utf8.DecodeLastRuneInString(s[:pos])
		before = isLooseWord(r)
	}
	if pos < len(s) {
		r, _ := decodeRune(s[pos:])
		after = isLooseWord(r)
	}
	return (before != after) == (a == atBoundary)
}
