package grammar

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// A net is a grammar as a recursive transition network over bytes (Woods,
// "Transition Network Grammars for Natural Language Analysis", 1970): one
// network for each rule, whose nodes either read a byte, branch, call the
// network of a rule, or end.
type net struct {
	nodes []node
	entry []int32 // by rule
	first []int32 // by rule: the first of its nodes, which are neighbours
	least []int32 // by node: bytes to the end of its rule at least; never if there is no way
}

// A kind is what a node does.
type kind uint8

const (
	reads  kind = iota // one of edges
	splits             // to all of to
	calls              // to[0], and goes on at to[1]
	ends               // its rule
	counts             // to[0], which ends, least to most times, and goes on at to[1]
)

type node struct {
	kind  kind
	edges []edge
	to    []int32
	rule  int32 // that is called
	// Of counts:
	least, most int32
}

// An edge reads a byte from lo to hi.
type edge struct {
	lo, hi byte
	to     int32
}

// A ruleError is an error of a rule, to which its source adds the place.
type ruleError struct {
	rule int
	why  string
}

func (e *ruleError) Error() string { return e.why }

// A builder builds a net. Each method returns the node at which an expression
// begins, given the one that follows it, so that common ends are shared.
type builder struct {
	g      *Grammar
	empty  []bool // rules that derive the empty text, once it was asked for
	nodes  []node
	full   bool
	budget *Budget
	err    error // why full is set, nil for too many nodes
}

// build makes the net and rejects grammars that could not be followed.
func (g *Grammar) build(budget *Budget) error {
	if len(g.rules) > maxRules {
		return &LimitError{What: "rules", Most: maxRules}
	}
	b, n := &builder{g: g, budget: budget}, &net{}
	for i, r := range g.rules {
		n.first = append(n.first, int32(len(b.nodes)))
		n.entry = append(n.entry, b.expr(r.body, b.add(node{kind: ends})))
		if b.full {
			return budget.spent(cmp.Or(b.err, error(&LimitError{What: "states", Most: CompileStates})), g.where(i))
		}
	}
	n.nodes = b.nodes
	for i := range n.nodes {
		if x := &n.nodes[i]; x.kind == calls {
			x.to[0] = n.entry[x.rule]
		}
	}
	var err error
	if n.least, err = n.shortest(budget, func(edge) bool { return true }, nil); err != nil {
		return budget.spent(err, g.where(0))
	}
	if r, ok, err := n.leftRecursive(budget); err != nil {
		return budget.spent(err, g.where(r))
	} else if ok {
		return &ruleError{r, "begins with itself"}
	}
	if n.least[n.entry[0]] >= never {
		return &ruleError{0, "derives no text that ends"}
	}
	g.net = n
	return nil
}

func (b *builder) add(n node) int32 {
	if b.full || len(b.nodes) >= maxNodes {
		b.full = true
		return 0
	}
	if b.budget != nil {
		b.budget.states++
		if b.err = b.budget.step(); b.err != nil {
			b.full = true
			return 0
		}
	}
	b.nodes = append(b.nodes, n)
	return int32(len(b.nodes) - 1)
}

func (b *builder) expr(e *expr, next int32) int32 {
	switch e.op {
	case opText:
		for i := len(e.text) - 1; i >= 0 && !b.full; i-- {
			next = b.add(node{edges: []edge{{e.text[i], e.text[i], next}}})
		}
	case opClass:
		return b.class(e.class, next)
	case opRef:
		return b.add(node{kind: calls, to: []int32{0, next}, rule: int32(e.rule)})
	case opSeq:
		for i := len(e.subs) - 1; i >= 0; i-- {
			next = b.expr(e.subs[i], next)
		}
	case opAlt:
		n := node{kind: splits}
		for _, s := range e.subs {
			n.to = append(n.to, b.expr(s, next))
		}
		return b.add(n)
	case opRepeat:
		if b.counted(e) {
			body := b.expr(e.subs[0], b.add(node{kind: ends}))
			return b.add(node{kind: counts, to: []int32{body, next}, least: int32(e.least), most: int32(min(e.most, endless))})
		}
		at := next
		if e.most == unbounded {
			at = b.add(node{kind: splits})
			if body := b.expr(e.subs[0], at); !b.full {
				b.nodes[at].to = []int32{next, body}
			}
		} else {
			for i := e.least; i < e.most && !b.full; i++ {
				at = b.add(node{kind: splits, to: []int32{next, b.expr(e.subs[0], at)}})
			}
		}
		for i := 0; i < e.least && !b.full; i++ {
			at = b.expr(e.subs[0], at)
		}
		return at
	}
	return next
}

// fewCopies is up to how many times what repeats is copied; for more it is counted. A
// test counts from the first on.
var fewCopies = 24

// endless is a bound of a repetition that no text reaches.
const endless = 1 << 30

// counted reports whether a repetition is long, and each time reads something, so that the
// count is bounded by the text.
func (b *builder) counted(e *expr) bool {
	if e.least <= fewCopies && (e.most <= fewCopies || e.most == unbounded) {
		return false
	}
	if b.empty == nil {
		b.empty = make([]bool, len(b.g.rules))
		for more := true; more; {
			more = false
			for i, r := range b.g.rules {
				if !b.empty[i] && b.nullable(r.body) {
					b.empty[i], more = true, true
				}
			}
		}
	}
	return !b.nullable(e.subs[0])
}

// nullable reports whether an expression matches the empty text.
func (b *builder) nullable(e *expr) bool {
	switch e.op {
	case opText:
		return e.text == ""
	case opSeq:
		return !slices.ContainsFunc(e.subs, func(s *expr) bool { return !b.nullable(s) })
	case opAlt:
		return slices.ContainsFunc(e.subs, b.nullable)
	case opRepeat:
		return e.least == 0 || b.nullable(e.subs[0])
	case opRef:
		return b.empty[e.rule]
	}
	return false
}

// class reads one character of a set, as UTF-8.
func (b *builder) class(set []span, next int32) int32 {
	tails := map[edge]int32{} // nodes with one edge
	n := node{}
	for _, s := range set {
		eachUTF8(s.lo, s.hi, func(seq [][2]byte) {
			to := next
			for i := len(seq) - 1; i > 0; i-- {
				e := edge{seq[i][0], seq[i][1], to}
				id, ok := tails[e]
				if !ok {
					id = b.add(node{edges: []edge{e}})
					tails[e] = id
				}
				to = id
			}
			if k := len(n.edges); k > 0 && n.edges[k-1].to == to && n.edges[k-1].hi+1 == seq[0][0] {
				n.edges[k-1].hi = seq[0][1]
				return
			}
			n.edges = append(n.edges, edge{seq[0][0], seq[0][1], to})
		})
	}
	return b.add(n)
}

// eachUTF8 calls f with sequences of ranges of bytes that together are the
// UTF-8 encodings of the characters lo to hi (Russ Cox, "Regular Expression
// Matching in the Wild", 2010). Surrogates have none.
func eachUTF8(lo, hi rune, f func([][2]byte)) {
	const surrogateLo, surrogateHi = 0xd800, 0xdfff
	if lo > hi {
		return
	}
	if lo <= surrogateHi && hi >= surrogateLo {
		eachUTF8(lo, surrogateLo-1, f)
		eachUTF8(surrogateHi+1, hi, f)
		return
	}
	for _, last := range []rune{0x7f, 0x7ff, 0xffff} { // of one, two and three bytes
		if lo <= last && hi > last {
			eachUTF8(lo, last, f)
			eachUTF8(last+1, hi, f)
			return
		}
	}
	if hi > 0x7f {
		for bits := 6; bits <= 18; bits += 6 {
			m := rune(1)<<bits - 1
			if lo&^m == hi&^m {
				continue
			}
			if lo&m != 0 {
				eachUTF8(lo, lo|m, f)
				eachUTF8((lo|m)+1, hi, f)
				return
			}
			if hi&m != m {
				eachUTF8(lo, hi&^m-1, f)
				eachUTF8(hi&^m, hi, f)
				return
			}
		}
	}
	var a, z [utf8.UTFMax]byte
	n := utf8.EncodeRune(a[:], lo)
	utf8.EncodeRune(z[:], hi)
	var seq [utf8.UTFMax][2]byte
	for i := range n {
		seq[i] = [2]byte{a[i], z[i]}
	}
	f(seq[:n])
}

// leftRecursive returns a rule that can be reached from its own start without
// reading a byte. Following such a rule would not end.
func (n *net) leftRecursive(budget *Budget) (rule int, found bool, err error) {
	const (
		unseen = iota
		open
		done
	)
	first := make([][]int32, len(n.entry)) // rules at the start of each
	seen := make([]int32, len(n.nodes))
	for r := range n.entry {
		todo := []int32{n.entry[r]}
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if err := budget.step(); err != nil {
				return r, false, err
			}
			if seen[at] == int32(r+1) {
				continue
			}
			seen[at] = int32(r + 1)
			switch x := &n.nodes[at]; x.kind {
			case splits:
				todo = append(todo, x.to...)
			case calls:
				first[r] = append(first[r], x.rule)
				if n.least[x.to[0]] == 0 {
					todo = append(todo, x.to[1])
				}
			case counts:
				if todo = append(todo, x.to[0]); x.least == 0 {
					todo = append(todo, x.to[1])
				}
			}
		}
	}
	state := make([]uint8, len(n.entry))
	type visit struct{ rule, next int }
	for r := range n.entry {
		if state[r] != unseen {
			continue
		}
		path := []visit{{r, 0}}
		state[r] = open
		for len(path) > 0 {
			v := &path[len(path)-1]
			if v.next == len(first[v.rule]) {
				state[v.rule] = done
				path = path[:len(path)-1]
				continue
			}
			to := int(first[v.rule][v.next])
			v.next++
			switch state[to] {
			case open:
				return to, true, nil
			case unseen:
				state[to] = open
				path = append(path, visit{to, 0})
			}
		}
	}
	return 0, false, nil
}
