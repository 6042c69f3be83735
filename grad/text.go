package grad

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// A Listing is the text form of a tape: buffers and operations in the order in
// which they were recorded, shapes and flags, without values. Print one to see
// what a model records.
//
//	tape float32 recording
//	%1 [4 3] grad = param
//	%2 [2 3] = const
//	%3 [2 4] grad = matmult(%2, %1)
//	%4 [2] = hidden
//	%5 [2 4] grad = opaque "norm"(%3; %4, %0)
//	%6 [3] grad = slice(%5) offset=2
//
// Saved buffers follow a semicolon; %0 is an empty place. The results of an
// opaque operation are separated by commas.
type Listing struct {
	Type      string // "float32" or "float64"
	Recording bool
	Lines     []Line
}

// A Line is one external buffer, or one operation with its results.
type Line struct {
	Op      string // "param", "alloc", …, or the operation's name
	Key     Key    // of an opaque operation
	In      []Ref
	Saved   []Ref   // of an opaque operation, or kept by a rule
	Args    []Arg   // an operation's constants
	Numbers []int32 // ids or targets
	Results []Result
}

// An Arg is a constant of an operation.
type Arg struct {
	Name  string
	Value float64
}

// A Result is a buffer: its shape, and whether it has a gradient.
type Result struct {
	Ref   Ref
	Shape []int
	Grad  bool
}

// Listing returns the listing of the tape. A tape that does not record lists
// its buffers only.
func (t *Tape[F]) Listing() *Listing {
	var z F
	l := &Listing{Type: "float" + strconv.Itoa(8*int(unsafe.Sizeof(z))), Recording: t.recording}
	ops := t.opLines()
	made := map[Ref]int{}
	for i, o := range ops {
		for _, r := range o.Results {
			made[r.Ref] = i
		}
	}
	// An operation is listed at its first result; Alloc precedes the operation
	// that fills the buffer, so an opaque one is listed at the last of its
	// buffers.
	last := make([]Ref, len(ops))
	for i, o := range ops {
		for _, r := range slices.Concat(refsOf(o.Results), o.In, o.Saved) {
			last[i] = max(last[i], r)
		}
	}
	next := 0
	for r := Ref(1); int(r) < len(t.bufs); r++ {
		if _, ok := made[r]; !ok {
			l.Lines = append(l.Lines, Line{Op: roleNames[t.bufs[r].role], Results: []Result{t.result(r)}})
		}
		for next < len(ops) && last[next] <= r {
			l.Lines = append(l.Lines, ops[next])
			next++
		}
	}
	return l
}

func refsOf(rs []Result) []Ref {
	var out []Ref
	for _, r := range rs {
		out = append(out, r.Ref)
	}
	return out
}

func (t *Tape[F]) result(r Ref) Result {
	return Result{Ref: r, Shape: t.Shape(r), Grad: t.bufs[r].needs}
}

// opLines returns the lines of the operations.
func (t *Tape[F]) opLines() []Line {
	var out []Line
	for i := range t.ops {
		o := &t.ops[i]
		n := Line{Op: t.rules[o.kind].name}
		switch {
		case o.kind == opOpaque:
			p := t.opaques[o.x]
			n.Key, n.In = p.key, slices.Clone(t.refs[p.in:p.out])
			n.Saved = slices.Clone(t.refs[p.saved:p.hi])
			for _, r := range t.refs[p.out:p.saved] {
				n.Results = append(n.Results, t.result(r))
			}
			out = append(out, n)
			continue
		case o.kind == opConcat:
			n.In = slices.Clone(t.more(o))
		case o.b != 0:
			n.In = []Ref{o.a, o.b}
		default:
			n.In = []Ref{o.a}
		}
		if o.hidden != 0 {
			n.Saved = []Ref{o.hidden}
		}
		switch o.kind {
		case opScale, opL2Retention, opStraight:
			n.Args = []Arg{{"by", float64(o.s)}}
		case opKLRetention:
			n.Args = []Arg{{"alpha", float64(o.s)}, {"theta", float64(o.r)}}
		case opConcat:
			n.Args = []Arg{{"axis", float64(o.x)}}
		case opSlice:
			n.Args = []Arg{{"offset", float64(o.x)}}
		case opEmbed, opCrossEntropy:
			n.Numbers = slices.Clone(t.ints[o.lo:o.hi])
		}
		n.Results = []Result{t.result(o.out)}
		out = append(out, n)
	}
	return out
}

// String prints the listing in the form that ParseListing reads.
func (l *Listing) String() string {
	var b strings.Builder
	b.WriteString("tape " + l.Type)
	if l.Recording {
		b.WriteString(" recording")
	}
	b.WriteString("\n")
	for _, n := range l.Lines {
		n.print(&b)
	}
	return b.String()
}

func (n *Line) print(b *strings.Builder) {
	for i, r := range n.Results {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%%%d %v", r.Ref, r.Shape)
		if r.Grad {
			b.WriteString(" grad")
		}
	}
	if len(n.Results) > 0 {
		b.WriteString(" ")
	}
	b.WriteString("= " + n.Op)
	if n.Key != "" {
		b.WriteString(" " + strconv.Quote(string(n.Key)))
	}
	if len(n.In) > 0 || len(n.Saved) > 0 || n.Key != "" {
		b.WriteString("(" + joined(n.In))
		if len(n.Saved) > 0 {
			b.WriteString("; " + joined(n.Saved))
		}
		b.WriteString(")")
	}
	for _, a := range n.Args {
		fmt.Fprintf(b, " %s=%s", a.Name, strconv.FormatFloat(a.Value, 'g', -1, 64))
	}
	if n.Numbers != nil {
		b.WriteString(" numbers=" + strings.ReplaceAll(fmt.Sprint(n.Numbers), " ", ","))
	}
	b.WriteString("\n")
}

func joined(refs []Ref) string {
	var s []string
	for _, r := range refs {
		s = append(s, "%"+strconv.Itoa(int(r)))
	}
	return strings.Join(s, ", ")
}
