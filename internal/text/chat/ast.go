package chat

// The parser makes these nodes; resolve.go then gives every name its slot, and
// eval.go and exec.go run them. Nodes are not changed after Parse.

// An Expr is an expression.
type Expr interface {
	position() Pos
	isExpr()
}

// A Stmt is a statement: literal text, an output or a tag.
type Stmt interface {
	position() Pos
	isStmt()
}

// Flow is how a statement ended.
type Flow int

const (
	FlowNext     Flow = iota // the end of a statement
	FlowBreak                // break
	FlowContinue             // continue
)

// A SlotRef finds a variable: hops functions outwards, then the slot there.
type SlotRef struct{ Hops, Slot int }

type (
	// ConstExpr is a literal.
	ConstExpr struct {
		Pos
		Value Value
		Own   int // place among the template's texts, from 1: see [textsOf]
	}
	// NameExpr is a variable.
	NameExpr struct {
		Pos
		Name string
		Ref  SlotRef
	}
	// SeqExpr is a list or tuple.
	SeqExpr struct {
		Pos
		Tuple bool
		Items []Expr
	}
	// DictExpr is {…}.
	DictExpr struct {
		Pos
		Keys, Vals []Expr
	}
	// UnaryExpr is -x, +x or not x.
	UnaryExpr struct {
		Pos
		Op string
		X  Expr
	}
	// BinaryExpr is an arithmetic operation.
	BinaryExpr struct {
		Pos
		Op   string
		X, Y Expr
	}
	// LogicExpr is x and y or x or y.
	LogicExpr struct {
		Pos
		And  bool
		X, Y Expr
	}
	// CompareExpr is a chain of comparisons.
	CompareExpr struct {
		Pos
		X   Expr
		Ops []string
		Ys  []Expr
	}
	// ConcatExpr is x ~ y ~ z.
	ConcatExpr struct {
		Pos
		Items []Expr
	}
	// CondExpr is x if test else y.
	CondExpr struct {
		Pos
		Test, X, Y Expr // Y may be nil
	}
	// AttrExpr is x.name.
	AttrExpr struct {
		Pos
		X    Expr
		Name string
	}
	// ItemExpr is x[key].
	ItemExpr struct {
		Pos
		X, Key Expr
	}
	// SliceExpr is x[start:stop:step].
	SliceExpr struct {
		Pos
		X                 Expr
		Start, Stop, Step Expr // each may be nil
	}
	// ArgsExpr is the arguments of a call.
	ArgsExpr struct {
		Pos   []Expr
		Named []kwExpr
		Star  Expr // *args
		Dstar Expr // **kwargs
	}
	kwExpr struct {
		Name string
		X    Expr
	}
	// CallExpr is fn(…).
	CallExpr struct {
		Pos
		Fn   Expr
		Args ArgsExpr
	}
	// FilterExpr is x | name(…).
	FilterExpr struct {
		Pos
		X    Expr // nil: the text of the enclosing block
		Name string
		Fn   *Func // nil: unknown, an error when reached
		Args ArgsExpr
	}
	// TestExpr is x is name(…).
	TestExpr struct {
		Pos
		X    Expr
		Name string
		Fn   *Func
		Args ArgsExpr
	}
)

type (
	// OutputStmt prints literal text or an expression.
	OutputStmt struct {
		Pos
		Text string
		X    Expr // nil: Text
		Own  int  // as of ConstExpr
	}
	// IfStmt is {% if %}.
	IfStmt struct {
		Pos
		Tests  []Expr
		Bodies [][]Stmt // one more than tests when there is an else
	}
	// ForStmt is {% for %}.
	ForStmt struct {
		Pos
		Target     *Target
		Iter, Test Expr
		Body, Els  []Stmt
		Recursive  bool

		Body0, Els0 Entry     // opening the body's and the else's scope
		Fn          *FuncInfo // of a recursive loop
		LoopSlot    int       // of the variable loop, or -1
		TestFn      *FuncInfo // the test runs as a function of its own
		TestEntry   Entry
		TestTarget  *Target
	}
	// AssignStmt is {% set a = x %}.
	AssignStmt struct {
		Pos
		Target *Target
		X      Expr
		Export bool // at the top level: visible in blocks
	}
	// AssignBlockStmt is {% set a %}…{% endset %}.
	AssignBlockStmt struct {
		Pos
		Target *Target
		Filter *FilterExpr // may be nil
		Body   []Stmt
		Scope  Entry
		Export bool
	}
	// FilterBlockStmt is {% filter %}.
	FilterBlockStmt struct {
		Pos
		Filter *FilterExpr
		Body   []Stmt
		Scope  Entry
	}
	// WithStmt is {% with %}; autoescape false is one without targets.
	WithStmt struct {
		Pos
		Targets []*Target
		Values  []Expr
		Body    []Stmt
		Scope   Entry
	}
	// MacroStmt is {% macro %}.
	MacroStmt struct {
		Pos
		Def    *MacroDef
		Ref    SlotRef
		Export bool
	}
	// CallStmt is {% call %}.
	CallStmt struct {
		Pos
		Call *CallExpr
		Def  *MacroDef // the caller
	}
	// GenerationStmt is {% generation %}: the model's own text.
	GenerationStmt struct {
		Pos
		Def *MacroDef
	}
	// BlockStmt is {% block %}.
	BlockStmt struct {
		Pos
		Name     string
		Scoped   bool
		required bool
		Body     []Stmt

		Fn     *FuncInfo
		Scope  Entry
		Self   int                // slot of self, or -1
		Super  int                // slot of super, or -1
		Locals map[string]SlotRef // variables visible in a scoped block
	}
	// LoopCtlStmt is {% break %}, {% continue %}.
	LoopCtlStmt struct {
		Pos
		Flow Flow
	}
)

// A MacroDef is the body of a macro, a call block or a generation block.
type MacroDef struct {
	Pos
	Name     string // empty: anonymous
	Params   []*Target
	Defaults []Expr // of the last parameters
	Body     []Stmt

	Fn                     *FuncInfo
	Scope                  Entry
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

// Entry is what happens to a function's slots where a scope opens.
type Entry struct {
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

// A FuncInfo describes what runs in one frame: the template, a macro, a block,
// a recursive loop, a loop's test.
type FuncInfo struct {
	parent *FuncInfo
	Slots  int
	ids    map[slotID]int
}

type slotID struct {
	level int
	name  string
}

func (f *FuncInfo) slot(level int, name string) int {
	id := slotID{level, name}
	s, ok := f.ids[id]
	if !ok {
		s = f.Slots
		f.Slots++
		f.ids[id] = s
	}
	return s
}

func (*ConstExpr) isExpr()   {}
func (*NameExpr) isExpr()    {}
func (*SeqExpr) isExpr()     {}
func (*DictExpr) isExpr()    {}
func (*UnaryExpr) isExpr()   {}
func (*BinaryExpr) isExpr()  {}
func (*LogicExpr) isExpr()   {}
func (*CompareExpr) isExpr() {}
func (*ConcatExpr) isExpr()  {}
func (*CondExpr) isExpr()    {}
func (*AttrExpr) isExpr()    {}
func (*ItemExpr) isExpr()    {}
func (*SliceExpr) isExpr()   {}
func (*CallExpr) isExpr()    {}
func (*FilterExpr) isExpr()  {}
func (*TestExpr) isExpr()    {}

func (*OutputStmt) isStmt()      {}
func (*IfStmt) isStmt()          {}
func (*ForStmt) isStmt()         {}
func (*AssignStmt) isStmt()      {}
func (*AssignBlockStmt) isStmt() {}
func (*FilterBlockStmt) isStmt() {}
func (*WithStmt) isStmt()        {}
func (*MacroStmt) isStmt()       {}
func (*CallStmt) isStmt()        {}
func (*GenerationStmt) isStmt()  {}
func (*BlockStmt) isStmt()       {}
func (*LoopCtlStmt) isStmt()     {}
