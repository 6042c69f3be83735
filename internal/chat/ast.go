package chat

// The parser makes these nodes; resolve.go then gives every name its slot, and
// eval.go and exec.go run them. Nodes are not changed after Parse.

type expr interface {
	eval(m *machine, f *frame) (Value, error)
}

type stmt interface {
	exec(m *machine, f *frame) (flow, error)
}

// flow says how a statement ended.
type flow int

const (
	flowNext flow = iota
	flowBreak
	flowContinue
)

// A slotRef finds a variable: hops functions outwards, then the slot there.
type slotRef struct{ hops, slot int }

type (
	constExpr struct{ v Value }
	nameExpr  struct {
		pos
		name string
		ref  slotRef
	}
	seqExpr struct { // list or tuple
		pos
		tuple bool
		items []expr
	}
	dictExpr struct {
		pos
		keys, vals []expr
	}
	unaryExpr struct { // -, + or not
		pos
		op string
		x  expr
	}
	binaryExpr struct { // arithmetic
		pos
		op   string
		x, y expr
	}
	logicExpr struct { // and, or
		pos
		and  bool
		x, y expr
	}
	compareExpr struct {
		pos
		x   expr
		ops []string
		ys  []expr
	}
	concatExpr struct {
		pos
		items []expr
	}
	condExpr struct {
		pos
		test, x, y expr // y may be nil
	}
	attrExpr struct {
		pos
		x    expr
		name string
	}
	itemExpr struct {
		pos
		x, key expr
	}
	sliceExpr struct {
		pos
		x                 expr
		start, stop, step expr // each may be nil
	}
	argsExpr struct {
		pos   []expr
		kw    []kwExpr
		star  expr // *args
		dstar expr // **kwargs
	}
	kwExpr struct {
		name string
		x    expr
	}
	callExpr struct {
		pos
		fn   expr
		args argsExpr
	}
	filterExpr struct {
		pos
		x    expr // nil: the text of the enclosing block
		name string
		fn   *filter // nil: unknown, an error when reached
		args argsExpr
	}
	testExpr struct {
		pos
		x    expr
		name string
		fn   *filter
		args argsExpr
	}
)

type (
	// outputStmt prints literal text or an expression.
	outputStmt struct {
		pos
		text string
		x    expr // nil: text
	}
	ifStmt struct {
		pos
		tests  []expr
		bodies [][]stmt // one more than tests when there is an else
	}
	forStmt struct {
		pos
		target     *target
		iter, test expr
		body, els  []stmt
		recursive  bool

		body0, els0 entry     // opening the body's and the else's scope
		fn          *funcInfo // of a recursive loop
		loopSlot    int       // of the variable loop, or -1
		testFn      *funcInfo // the test runs as a function of its own
		testEntry   entry
		testTarget  *target
	}
	assignStmt struct {
		pos
		target *target
		x      expr
		export bool // at the top level: blocks see it
	}
	assignBlockStmt struct {
		pos
		target *target
		filter *filterExpr // may be nil
		body   []stmt
		scope  entry
		export bool
	}
	filterBlockStmt struct {
		pos
		filter *filterExpr
		body   []stmt
		scope  entry
	}
	withStmt struct {
		pos
		targets []*target
		values  []expr
		body    []stmt
		scope   entry
	}
	macroStmt struct {
		pos
		def    *macroDef
		ref    slotRef
		export bool
	}
	callStmt struct {
		pos
		call *callExpr
		def  *macroDef // the caller
	}
	generationStmt struct {
		pos
		def *macroDef
	}
	blockStmt struct {
		pos
		name     string
		scoped   bool
		required bool
		body     []stmt

		fn     *funcInfo
		scope  entry
		self   int                // slot of self, or -1
		super  int                // slot of super, or -1
		locals map[string]slotRef // what a scoped block sees
	}
	scopeStmt struct { // autoescape false
		pos
		body  []stmt
		scope entry
	}
	loopCtlStmt struct {
		pos
		flow flow
	}
)

// A macroDef is the body of a macro, a call block or a generation block.
type macroDef struct {
	pos
	name     string // empty: anonymous
	params   []*target
	defaults []expr // of the last parameters
	body     []stmt

	fn                     *funcInfo
	scope                  entry
	caller, kwargs, varArg int // slots of the special variables, or -1
	explicitCaller         bool
}

// A target is what an assignment stores to: a name, an attribute of a
// namespace, or a tuple of targets.
type target struct {
	pos
	name  string
	attr  string    // not empty: namespace attribute
	items []*target // not nil: tuple
	ref   slotRef
}

// names calls f with every variable that the target sets.
func (t *target) names(f func(*target)) {
	if t.items == nil {
		if t.attr == "" {
			f(t)
		}
		return
	}
	for _, it := range t.items {
		it.names(f)
	}
}

// refs calls f with every namespace that the target writes to.
func (t *target) refs(f func(*target)) {
	if t.attr != "" {
		f(t)
	}
	for _, it := range t.items {
		it.refs(f)
	}
}

func (t *target) clone() *target {
	c := *t
	if t.items != nil {
		c.items = make([]*target, len(t.items))
		for i, it := range t.items {
			c.items[i] = it.clone()
		}
	}
	return &c
}

// entry is what happens to a function's slots where a scope opens.
type entry struct {
	loads []slotLoad
	clear []int // every slot of the scope, emptied when it closes
}

// A slotLoad gives a slot its first value in a scope.
type slotLoad struct {
	slot int
	kind loadKind
	from slotRef // loadAlias
	name string  // loadResolve
}

// A funcInfo describes what runs in one frame: the template, a macro, a block,
// a recursive loop, a loop's test.
type funcInfo struct {
	parent *funcInfo
	slots  int
	ids    map[slotID]int
}

type slotID struct {
	level int
	name  string
}

func (f *funcInfo) slot(level int, name string) int {
	id := slotID{level, name}
	s, ok := f.ids[id]
	if !ok {
		s = f.slots
		f.slots++
		f.ids[id] = s
	}
	return s
}
