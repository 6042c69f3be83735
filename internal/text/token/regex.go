package token

// Running regular expressions. Split patterns look ahead and backtrack, which
// package regexp does not do. The engine backtracks over a small program; when a
// match takes long it starts to remember the states that failed, so that a match
// of n characters takes at most O(n) steps for each instruction.
//
// The scanners of pattern.go are faster; this engine is their specification, and
// it runs the expressions that have none.

import (
	"sync"
	"unicode/utf8"
)

type regexOp uint8

const (
	opSet    regexOp = iota
	opRun            // min to max characters of set, as many as possible
	opSplit          // try x, then y
	opJump           // x
	opLook           // sub, here or before here
	opAtomic         // sub
	opAssert
	opMatch
)

type regexInst struct {
	op          regexOp
	assert      assertion
	not, behind bool
	hold        bool // opRun: as many as possible or none
	x, y        int  // opSplit, opJump: targets; opRun: bounds; opLook behind: widths
	set         *runeSet
	sub         []regexInst
}

// CompileRegex returns a matcher for an expression in the syntax that
// tokenizer.json uses, that of Oniguruma. Errors are [*RegexError].
//
// A matcher returns the end of the match that begins at i; it equals i for an
// empty match.
func CompileRegex(expr string) (Matcher, error) {
	tree, err := parseRegex(expr)
	if err != nil {
		return nil, err
	}
	c := &regexCompiler{expr: expr}
	code := append(c.code(tree, nil), regexInst{op: opMatch})
	if c.err != nil {
		return nil, c.err
	}
	return func(s string, i int) int {
		m := machines.Get().(*regexMachine)
		end := m.match(code, s, i, anywhere)
		m.known, m.calls = nil, 0
		machines.Put(m)
		return end
	}, nil
}

// Bounds on what an expression may cost.
const (
	maxRegexCode  = 1 << 11
	maxLookBehind = 255
)

type regexCompiler struct {
	expr string
	size int
	err  error
}

func (c *regexCompiler) fail(n *regexNode, why string) {
	if c.err == nil {
		c.err = &RegexError{Expr: c.expr, Offset: n.from, Why: why}
	}
}

// code appends the instructions of n.
func (c *regexCompiler) code(n *regexNode, out []regexInst) []regexInst {
	if c.size++; c.size > maxRegexCode {
		c.fail(n, "too many instructions")
		return out
	}
	switch n.kind {
	case reSet:
		return append(out, regexInst{op: opSet, set: n.set})
	case reSeq:
		for _, s := range n.subs {
			out = c.code(s, out)
		}
		return out
	case reAlt:
		var ends []int
		for i, s := range n.subs {
			if i == len(n.subs)-1 {
				out = c.code(s, out)
				break
			}
			split := len(out)
			out = append(out, regexInst{op: opSplit, x: split + 1})
			out = c.code(s, out)
			ends = append(ends, len(out))
			out = append(out, regexInst{op: opJump})
			out[split].y = len(out)
		}
		for _, e := range ends {
			out[e].x = len(out)
		}
		return out
	case reRepeat:
		return c.repeat(n, out)
	case reLook:
		in := regexInst{op: opLook, not: n.not, behind: n.behind}
		if n.behind {
			if in.x, in.y = width(n.subs[0]); in.y > maxLookBehind {
				c.fail(n, "a look behind of more than 255 characters")
			}
		}
		in.sub = append(c.code(n.subs[0], nil), regexInst{op: opMatch})
		return append(out, in)
	case reAtomic:
		return append(out, regexInst{op: opAtomic, sub: append(c.code(n.subs[0], nil), regexInst{op: opMatch})})
	}
	return append(out, regexInst{op: opAssert, assert: n.assert})
}

// repeat unrolls a counted repetition, except of single characters.
func (c *regexCompiler) repeat(n *regexNode, out []regexInst) []regexInst {
	body := n.subs[0]
	for body.kind == reSeq && len(body.subs) == 1 {
		body = body.subs[0]
	}
	if body.kind == reSet && !n.lazy {
		return append(out, regexInst{op: opRun, x: n.min, y: n.max, set: body.set, hold: n.hold})
	}
	if n.hold {
		free := *n
		free.hold = false
		return append(out, regexInst{op: opAtomic, sub: append(c.repeat(&free, nil), regexInst{op: opMatch})})
	}
	for range n.min {
		if out = c.code(body, out); c.err != nil {
			return out
		}
	}
	split := func() int {
		out = append(out, regexInst{op: opSplit})
		return len(out) - 1
	}
	set := func(at, in, past int) {
		out[at].x, out[at].y = in, past
		if n.lazy {
			out[at].x, out[at].y = past, in
		}
	}
	if n.max == forever {
		at := split()
		out = c.code(body, out)
		out = append(out, regexInst{op: opJump, x: at})
		set(at, at+1, len(out))
		return out
	}
	var splits []int
	for range n.max - n.min {
		at := split()
		splits = append(splits, at)
		if out = c.code(body, out); c.err != nil {
			return out
		}
	}
	for _, at := range splits {
		set(at, at+1, len(out))
	}
	return out
}

// width returns the least and the largest number of characters of a match;
// forever stands for all large numbers.
func width(n *regexNode) (lo, hi int) {
	bound := func(x int) int { return min(x, forever) }
	switch n.kind {
	case reSet:
		return 1, 1
	case reSeq:
		for _, s := range n.subs {
			a, b := width(s)
			lo, hi = bound(lo+a), bound(hi+b)
		}
	case reAlt:
		for i, s := range n.subs {
			a, b := width(s)
			if i == 0 {
				lo, hi = a, b
			}
			lo, hi = min(lo, a), max(hi, b)
		}
	case reRepeat:
		a, b := width(n.subs[0])
		return bound(a * n.min), bound(b * n.max)
	case reAtomic:
		return width(n.subs[0])
	}
	return lo, hi
}

// mayBeEmpty reports whether a valid expression has empty matches.
func mayBeEmpty(expr string) bool {
	tree, err := parseRegex(expr)
	if err != nil {
		return false
	}
	lo, _ := width(tree)
	return lo == 0
}

// A regexThread is a way not tried yet. run is set for the rest of an opRun: it
// may give back characters down to lo.
type regexThread struct {
	pc, pos, lo int
	run         bool
}

// A regexMachine is the memory of one match.
type regexMachine struct {
	stack []regexThread
	known map[innerKey]int // ends of inner matches, once there are many
	calls int              // of inner
}

// An innerKey is a group or a look at a position.
type innerKey struct {
	in  *regexInst
	pos int
}

var machines = sync.Pool{New: func() any { return new(regexMachine) }}

const (
	anywhere = -1 // a match may end anywhere

	// patience is the number of steps after which a match remembers states.
	patience = 1 << 10
)

// match runs code at pos and returns the end of the match, or -1. With until set,
// the match must end there.
func (m *regexMachine) match(code []regexInst, s string, pos, until int) int {
	base := len(m.stack)
	var failed map[[2]int]struct{}
	pc, steps := 0, 0
	for {
		ok := true
		switch in := &code[pc]; in.op {
		case opMatch:
			if until == anywhere || pos == until {
				m.stack = m.stack[:base]
				return pos
			}
			ok = false
		case opSet:
			if ok = pos < len(s); ok {
				r, n := DecodeRune(s[pos:])
				if ok = in.set.has(r); ok {
					pc, pos = pc+1, pos+n
				}
			}
		case opRun:
			end, lo, k := pos, pos, 0
			for k < in.y && end < len(s) {
				r, n := DecodeRune(s[end:])
				if !in.set.has(r) {
					break
				}
				end += n
				if k++; k == in.x {
					lo = end
				}
			}
			if ok = k >= in.x; ok {
				pc++
				if end > lo && !in.hold {
					m.stack = append(m.stack, regexThread{pc: pc, pos: end, lo: lo, run: true})
				}
				pos = end
			}
		case opSplit:
			m.stack = append(m.stack, regexThread{pc: in.y, pos: pos})
			pc = in.x
		case opJump:
			pc = in.x
		case opLook:
			if ok = m.look(in, s, pos) != in.not; ok {
				pc++
			}
		case opAtomic:
			end := m.inner(in, s, pos)
			if ok = end >= 0; ok {
				pc, pos = pc+1, end
			}
		case opAssert:
			if ok = in.assert.holds(s, pos); ok {
				pc++
			}
		}
		if steps++; steps > patience && ok && code[pc].op != opMatch {
			if failed == nil {
				failed = map[[2]int]struct{}{}
			}
			key := [2]int{pc, pos}
			_, before := failed[key] // a state reached before has failed, or will
			failed[key] = struct{}{}
			ok = !before
		}
		if ok {
			continue
		}
		if len(m.stack) == base {
			return -1
		}
		top := &m.stack[len(m.stack)-1]
		pc, pos = top.pc, top.pos
		if top.run {
			_, n := utf8.DecodeLastRuneInString(s[:pos])
			pos -= n
			if top.pos = pos; pos > top.lo {
				continue
			}
		}
		m.stack = m.stack[:len(m.stack)-1]
	}
}

// inner matches a group or what follows. Groups in groups would cost a power of
// the length of the text, so their ends are remembered after a while.
func (m *regexMachine) inner(in *regexInst, s string, pos int) int {
	if m.calls++; m.calls < patience {
		return m.match(in.sub, s, pos, anywhere)
	}
	if m.known == nil {
		m.known = map[innerKey]int{}
	}
	key := innerKey{in, pos}
	end, ok := m.known[key]
	if !ok {
		end = m.match(in.sub, s, pos, anywhere)
		m.known[key] = end
	}
	return end
}

// look reports whether in.sub matches at pos, or ends there.
func (m *regexMachine) look(in *regexInst, s string, pos int) bool {
	if !in.behind {
		return m.inner(in, s, pos) >= 0
	}
	for k, from := 0, pos; k <= in.y; k++ {
		if k >= in.x && m.match(in.sub, s, from, pos) >= 0 {
			return true
		}
		if from == 0 {
			break
		}
		_, n := utf8.DecodeLastRuneInString(s[:from])
		from -= n
	}
	return false
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
		r, _ := DecodeRune(s[pos:])
		after = isLooseWord(r)
	}
	return (before != after) == (a == atBoundary)
}
