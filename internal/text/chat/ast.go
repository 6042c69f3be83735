package chat

// The parser makes these nodes; resolve.go then gives every name its slot, and
// eval.go and exec.go run them. Nodes are not changed after Parse.

// An Expr is an expression.
type Expr interface {
	position() Pos
	isExpr()
}

// A stmt is a statement: literal text, an output or a tag.
type stmt interface {
	position() Pos
	isStmt()
}

// flow is how a statement ended.
type flow int

const (
	flowNext     flow = iota // the end of a statement
	flowBreak                // break
	flowContinue             // continue
)

// A SlotRef finds a variable: hops functions outwards, then the slot there.
type SlotRef struct{ Hops, Slot int }

type (
	// constExpr is a literal.
	constExpr struct {
		Pos
		Value Value
		Own   int // place among the template's texts, from 1: see [textsOf]
	}
	// nameExpr is a variable.
	nameExpr struct {
		Pos
		Name string
		Ref  SlotRef
	}
	// seqExpr is a list or tuple.
	seqExpr struct {
		Pos
		Tuple bool
		Items []Expr
	}
	// dictExpr is {…}.
	dictExpr struct {
		Pos
		Keys, Vals []Expr
	}
	// unaryExpr is -x, +x or not x.
	unaryExpr struct {
		Pos
		Op string
		X  Expr
	}
	// binaryExpr is an arithmetic operation.
	binaryExpr struct {
		Pos
		Op   string
		X, Y Expr
	}
	// logicExpr is x and y or x or y.
	logicExpr struct {
		Pos
		And  bool
		X, Y Expr
	}
	// compareExpr is a chain of comparisons.
	compareExpr struct {
		Pos
		X   Expr
		Ops []string
		Ys  []Expr
	}
	// concatExpr is x ~ y ~ z.
	concatExpr struct {
		Pos
		Items []Expr
	}
	// condExpr is x if test else y.
	condExpr struct {
		Pos
		Test, X, Y Expr // Y may be nil
	}
	// attrExpr is x.name.
	attrExpr struct {
		Pos
		X    Expr
		Name string
	}
	// itemExpr is x[key].
	itemExpr struct {
		Pos
		X, Key Expr
	}
	// sliceExpr is x[start:stop:step].
	sliceExpr struct {
		Pos
		X                 Expr
		Start, Stop, Step Expr // each may be nil
	}
	// argsExpr is the arguments of a call.
	argsExpr struct {
		Pos   []Expr
		Named []kwExpr
		Star  Expr // *args
		Dstar Expr // **kwargs
	}
	kwExpr struct {
		Name string
		X    Expr
	}
	// callExpr is fn(…).
	callExpr struct {
		Pos
		Fn   Expr
		Args argsExpr
	}
	// filterExpr is x | name(…).
	filterExpr struct {
		Pos
		X    Expr // nil: the text of the enclosing block
		Name string
		Fn   *functionType // nil: unknown, an error when reached
		Args argsExpr
	}
	// testExpr is x is name(…).
	testExpr struct {
		Pos
		X    Expr
		Name string
		Fn   *functionType
		Args argsExpr
	}
)

type (
	// outputStmt prints literal text or an expression.
	outputStmt struct {
		Pos
		Text string
		X    Expr // nil: Text
		Own  int  // as of constExpr
	}
	// ifStmt is {% if %}.
	ifStmt struct {
		Pos
		Tests  []Expr
		Bodies [][]stmt // one more than tests when there is an else
	}
	// forStmt is {% for %}.
	forStmt struct {
		Pos
		Target     *Target
		Iter, Test Expr
		Body, Els  []stmt
		Recursive  bool

		Body0, Els0 entry     // opening the body's and the else's scope
		Fn          *funcInfo // of a recursive loop
		LoopSlot    int       // of the variable loop, or -1
		TestFn      *funcInfo // the test runs as a function of its own
		TestEntry   entry
		TestTarget  *Target
	}
	// assignStmt is {% set a = x %}.
	assignStmt struct {
		Pos
		Target *Target
		X      Expr
		Export bool // at the top level: visible in blocks
	}
	// assignBlockStmt is {% set a %}…{% endset %}.
	assignBlockStmt struct {
		Pos
		Target *Target
		Filter *filterExpr // may be nil
		Body   []stmt
		Scope  entry
		Export bool
	}
	// filterBlockStmt is {% filter %}.
	filterBlockStmt struct {
		Pos
		Filter *filterExpr
		Body   []stmt
		Scope  entry
	}
	// withStmt is {% with %}; autoescape false is one without targets.
	withStmt struct {
		Pos
		Targets []*Target
		Values  []Expr
		Body    []stmt
		Scope   entry
	}
	// macroStmt is {% macro %}.
	macroStmt struct {
		Pos
		Def    *macroDef
		Ref    SlotRef
		Export bool
	}
	// callStmt is {% call %}.
	callStmt struct {
		Pos
		Call *callExpr
		Def  *macroDef // the caller
	}
	// generationStmt is {% generation %}: the model's own text.
	generationStmt struct {
		Pos
		Def *macroDef
	}
	// blockStmt is {% block %}.
	blockStmt struct {
		Pos
		Name     string
		Scoped   bool
		required bool
		Body     []stmt

		Fn     *funcInfo
		Scope  entry
		Self   int                // slot of self, or -1
		Super  int                // slot of super, or -1
		Locals map[string]SlotRef // variables visible in a scoped block
	}
	// loopCtlStmt is {% break %}, {% continue %}.
	loopCtlStmt struct {
		Pos
		Flow flow
	}
)

// A macroDef is the body of a macro, a call block or a generation block.
type macroDef struct {
	Pos
	Name     string // empty: anonymous
	Params   []*Target
	Defaults []Expr // of the last parameters
	Body     []stmt

	Fn                     *funcInfo
	Scope                  entry
	Caller, Kwargs, VarArg int // slots of the special variables, or -1
	ExplicitCaller         bool
}

// A Target is what an assignment stores to: a name, an attribute of a
// namespace, or a tuple of targets.
type Target struct {
	Pos
	Name  string
	Attr  string    // not empty: namespace attribute
	Items []*Target // not nil: tuple
	Ref   SlotRef
}

// names calls f with every variable that the target sets.
func (t *Target) names(f func(*Target)) {
	if t.Items == nil {
		if t.Attr == "" {
			f(t)
		}
		return
	}
	for _, it := range t.Items {
		it.names(f)
	}
}

// Refs calls f with every namespace that the target writes to.
func (t *Target) Refs(f func(*Target)) {
	if t.Attr != "" {
		f(t)
	}
	for _, it := range t.Items {
		it.Refs(f)
	}
}

func (t *Target) clone() *Target {
	c := *t
	if t.Items != nil {
		c.Items = make([]*Target, len(t.Items))
		for i, it := range t.Items {
			c.Items[i] = it.clone()
		}
	}
	return &c
}

// entry is what happens to a function's slots where a scope opens.
type entry struct {
	Loads []slotLoad
	Clear []int // every slot of the scope, emptied when it closes
}

// A slotLoad gives a slot its first value in a scope.
type slotLoad struct {
	Slot int
	Kind loadKind
	From SlotRef // loadAlias
	Name string  // loadResolve
}

// A funcInfo describes what runs in one frame: the template, a macro, a block,
// a recursive loop, a loop's test.
type funcInfo struct {
	parent *funcInfo
	Slots  int
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
		s = f.Slots
		f.Slots++
		f.ids[id] = s
	}
	return s
}

func (*constExpr) isExpr()   {}
func (*nameExpr) isExpr()    {}
func (*seqExpr) isExpr()     {}
func (*dictExpr) isExpr()    {}
func (*unaryExpr) isExpr()   {}
func (*binaryExpr) isExpr()  {}
func (*logicExpr) isExpr()   {}
func (*compareExpr) isExpr() {}
func (*concatExpr) isExpr()  {}
func (*condExpr) isExpr()    {}
func (*attrExpr) isExpr()    {}
func (*itemExpr) isExpr()    {}
func (*sliceExpr) isExpr()   {}
func (*callExpr) isExpr()    {}
func (*filterExpr) isExpr()  {}
func (*testExpr) isExpr()    {}

func (*outputStmt) isStmt()      {}
func (*ifStmt) isStmt()          {}
func (*forStmt) isStmt()         {}
func (*assignStmt) isStmt()      {}
func (*assignBlockStmt) isStmt() {}
func (*filterBlockStmt) isStmt() {}
func (*withStmt) isStmt()        {}
func (*macroStmt) isStmt()       {}
func (*callStmt) isStmt()        {}
func (*generationStmt) isStmt()  {}
func (*blockStmt) isStmt()       {}
func (*loopCtlStmt) isStmt()     {}
