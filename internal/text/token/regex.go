package token

// Running regular expressions. Split patterns look ahead and backtrack, which
// package regexp does not do. The engine backtracks over a small program; when a
// match takes long it starts to mark the states that failed, for the rest of the
// text, so that a text of n characters takes O(n) steps for each instruction.
//
// The scanners of pattern.go are faster; this engine is their specification, and
// it runs the expressions that have none.

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
	id          int // among all instructions of the expression
}

// A regex is a compiled expression.
type regex struct {
	code  []regexInst
	insts int  // those of groups too
	empty bool // a loop may go round without a character
}

// newRegex compiles an expression in the syntax that tokenizer.json uses, that of
// Oniguruma. Errors are [*regexError].
func newRegex(expr string) (*regex, error) {
	tree, err := parseRegex(expr)
	if err != nil {
		return nil, err
	}
	c := &regexCompiler{expr: expr}
	re := &regex{code: append(c.code(tree, nil), regexInst{op: opMatch}), empty: c.empty}
	if c.err != nil {
		return nil, c.err
	}
	re.number(re.code)
	return re, nil
}

// number gives every instruction its id.
func (re *regex) number(code []regexInst) {
	for i := range code {
		code[i].id = re.insts
		re.insts++
		re.number(code[i].sub)
	}
}

// Bounds on what an expression may cost.
const (
	maxRegexCode  = 1 << 10 // instructions
	maxRegexTurns = 1 << 13 // of all counted repetitions of characters together
	maxLookBehind = 255     // characters
	maxLookSteps  = 1 << 16 // of all looks behind one place
)

type regexCompiler struct {
	expr   string
	size   int
	turns  int
	behind int // steps of looks behind
	empty  bool
	err    error
}

func (c *regexCompiler) fail(n *regexNode, why string) {
	if c.err == nil {
		c.err = &regexError{Expr: c.expr, Offset: n.from, Why: why}
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
		size, turns := c.size, c.turns
		in.sub = append(c.code(n.subs[0], nil), regexInst{op: opMatch})
		if n.behind {
			if c.behind += (c.size - size + c.turns - turns) * (in.y + 1); c.behind > maxLookSteps {
				c.fail(n, "looks behind that take too long")
			}
		}
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
		if n.max != forever {
			if c.turns += n.max; c.turns > maxRegexTurns {
				c.fail(n, "too many repetitions")
			}
		}
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
		if lo, _ := width(body); lo == 0 {
			c.empty = true
		}
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
