package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ParseText reads a plan's text form, as [Plan.String] writes it. Blank lines
// and lines that start with # are skipped. The contents are checked as [Parse]
// checks JSON: an error is an [Error] of code [Malformed], whose path is line N
// if the form itself is wrong and the JSON path otherwise.
func ParseText(text string) (*Plan, error) {
	p, at := &Plan{}, map[string]int{}
	for i, s := range strings.Split(text, "\n") {
		l := newTextLine(s)
		if l.Done() || strings.HasPrefix(strings.TrimSpace(s), "#") {
			continue
		}
		err := p.line(l)
		if err == nil && !l.Done() {
			err = errors.New("unexpected text at the end of the line")
		}
		if err != nil {
			return nil, &Error{Code: Malformed, Path: fmt.Sprintf("line %d", i+1), Text: err.Error()}
		}
		for _, key := range []string{fmt.Sprintf(".nodes[%d]", len(p.Nodes)-1), fmt.Sprintf(".edges[%d]", len(p.Edges)-1), fmt.Sprintf(".gates[%d]", len(p.Gates)-1)} {
			if _, ok := at[key]; !ok {
				at[key] = i + 1
			}
		}
	}
	if p.Root == "" {
		return nil, &Error{Code: Malformed, Path: "line 1", Text: "want graph as the first line"}
	}
	out, err := p.Encode()
	if err != nil {
		return nil, err
	}
	q, err := Parse(out)
	if e, ok := errors.AsType[*Error](err); ok {
		record := strings.TrimPrefix(e.Path, p.Root)
		record = record[:strings.Index(record, "]")+1]
		if n := at[record]; n > 0 {
			e.Text += fmt.Sprintf(" (line %d)", n)
		}
	}
	return q, err
}

// records holds the reader of each kind of line, by its first word.
var records = map[string]func(*Plan, *textLine) error{
	"graph": (*Plan).readGraph, "node": (*Plan).readNode, "edge": (*Plan).readEdge, "gate": (*Plan).readGate,
	"ipls": (*Plan).readIPLS, "stage": (*Plan).readStage, "cohort": (*Plan).readCohort,
}

func (p *Plan) line(l *textLine) error {
	what, err := l.Word()
	if err != nil {
		return err
	}
	read, ok := records[what]
	if !ok {
		return fmt.Errorf("%q is not one of graph, node, edge, gate, ipls, stage, cohort", what)
	}
	if (p.Root == "") != (what == "graph") {
		return errors.New("graph must be the first line, and only once")
	}
	return read(p, l)
}

// each calls f with the key of every remaining key=value. Unknown keys, which
// are marked with +, go to extra and inner.
func each(l *textLine, extra, inner *[]Extra, f func(key string) error) error {
	for !l.Done() {
		to := extra
		if l.Take("++") {
			to = inner
		} else if !l.Take("+") {
			key, err := l.Word()
			if err == nil {
				err = f(key)
			}
			if err != nil {
				return err
			}
			continue
		}
		if to == nil {
			return errors.New("an unknown key is not allowed here")
		}
		if err := readExtra(l, to); err != nil {
			return err
		}
	}
	return nil
}

// field reads the value of one of the fields.
func field[T any](l *textLine, x *T, key string, numbers []numeral[T], words []word[T]) error {
	if err := l.Want("="); err != nil {
		return err
	}
	if i := slices.IndexFunc(numbers, func(f numeral[T]) bool { return f.key == key }); i >= 0 {
		v, err := l.Int()
		*numbers[i].of(x) = v
		return err
	}
	if i := slices.IndexFunc(words, func(f word[T]) bool { return f.key == key }); i >= 0 {
		v, err := l.Word()
		*words[i].of(x) = v
		return err
	}
	return fmt.Errorf("unknown field %q", key)
}

func (p *Plan) readGraph(l *textLine) error {
	p.Root = "$.graph"
	return each(l, &p.Extra, &p.Outer, func(key string) (err error) {
		if key == "bare" {
			p.Root = "$"
			return nil
		}
		if err = l.Want("="); err != nil {
			return err
		}
		switch key {
		case "heat":
			p.HeatBudget, err = l.Float()
		case "requires":
			var f string
			f, err = l.Word()
			p.RequiredFeatures = append(p.RequiredFeatures, f)
		default:
			err = fmt.Errorf("unknown field %q", key)
		}
		return err
	})
}

func (p *Plan) readNode(l *textLine) (err error) {
	n := Node{OversampleRatio: 1}
	if n.Name, err = l.Word(); err != nil {
		return err
	}
	if n.Type, err = l.Word(); err != nil {
		return err
	}
	for !l.Done() {
		if l.Take(":") {
			if err = n.readParam(l); err != nil {
				return err
			}
			continue
		}
		var inner *[]Extra
		if len(n.Params) > 0 {
			inner = &n.Params[len(n.Params)-1].Extra
		}
		if err = n.readField(l, inner); err != nil {
			return err
		}
	}
	p.Nodes = append(p.Nodes, n)
	return nil
}

// readField reads fields up to the next parameter.
func (n *Node) readField(l *textLine, inner *[]Extra) error {
	if l.Take("++") {
		if inner == nil {
			return errors.New("++ without a parameter before it")
		}
		return readExtra(l, inner)
	}
	if l.Take("+") {
		return readExtra(l, &n.Extra)
	}
	key, err := l.Word()
	if err != nil {
		return err
	}
	if key == "v2" {
		n.SupportsV2 = true
		return nil
	}
	return field(l, n, key, nodeNumbers, nodeWords)
}

func readExtra(l *textLine, to *[]Extra) error {
	key, err := l.Word()
	if err == nil {
		err = l.Want("=")
	}
	if err != nil {
		return err
	}
	raw, err := l.JSON()
	*to = append(*to, Extra{key, raw})
	return err
}

// readParam reads name=value: a quoted string, true, false, a number or a
// tensor.
func (n *Node) readParam(l *textLine) error {
	name, err := l.Word()
	if err == nil {
		err = l.Want("=")
	}
	if err != nil {
		return err
	}
	p := Param{Name: name}
	switch {
	case l.Take("["):
		p.Value, err = readTensor(l)
	default:
		quoted := l.Quoted()
		var w string
		if w, err = l.Word(); err != nil {
			return err
		}
		switch flag := w == "true"; {
		case quoted:
			p.Text = &w
		case flag || w == "false":
			p.Flag = &flag
		default:
			p.Value, p.Integer = &Tensor{1, 1, 1, make([]float64, 1)}, integral(w)
			p.Value.Data[0], err = newTextLine(w).Float()
		}
	}
	n.Params = append(n.Params, p)
	return err
}

func readTensor(l *textLine) (t *Tensor, err error) {
	t = &Tensor{}
	for _, d := range []*int{&t.B, &t.C, &t.F} {
		if *d, err = l.Int(); err != nil {
			return nil, err
		}
	}
	if err := l.Want(":"); err != nil {
		return nil, err
	}
	for !l.Take("]") {
		x, err := l.Float()
		if err != nil {
			return nil, err
		}
		t.Data = append(t.Data, x)
	}
	return t, nil
}

func (p *Plan) readEdge(l *textLine) (err error) {
	e := Edge{Channel: -1, Scale: 1}
	if e.Source, err = l.Word(); err != nil {
		return err
	}
	if err = l.Want("->"); err != nil {
		return err
	}
	if e.Target, err = l.Word(); err != nil {
		return err
	}
	err = each(l, &e.Extra, nil, func(key string) (err error) {
		switch key {
		case "gates":
			for sep := "="; err == nil && l.Take(sep); sep = "," {
				var id int
				id, err = l.Int()
				e.Gates = append(e.Gates, id)
			}
		case "scale":
			if err = l.Want("="); err == nil {
				e.Scale, err = l.Float()
			}
		default:
			err = field(l, &e, key, edgeNumbers, edgeWords)
		}
		return err
	})
	p.Edges = append(p.Edges, e)
	return err
}

func (p *Plan) readGate(l *textLine) error {
	id, err := l.Int()
	if err != nil {
		return err
	}
	kind, err := l.Word()
	if err != nil {
		return err
	}
	k := slices.Index(gateKinds, kind)
	if k < 0 {
		return fmt.Errorf("%q is not one of %s", kind, strings.Join(gateKinds, ", "))
	}
	g := Gate{ID: id, Kind: GateKind(k)}
	err = each(l, &g.Extra, nil, func(key string) error {
		return field(l, &g, key, []numeral[Gate]{{"period", func(g *Gate) *int { return &g.PeriodFrames }, 0}}, nil)
	})
	p.Gates = append(p.Gates, g)
	return err
}

func (p *Plan) readIPLS(l *textLine) error {
	if p.IPLS != nil {
		return errors.New("ipls appears twice")
	}
	p.IPLS = &IPLS{}
	return each(l, &p.IPLS.Extra, nil, noField)
}

func noField(key string) error { return fmt.Errorf("unknown field %q", key) }

func (p *Plan) readStage(l *textLine) error {
	if p.IPLS == nil {
		return errors.New("ipls comes before its stages")
	}
	var s Stage
	err := each(l, &s.Extra, nil, noField)
	p.IPLS.Stages = append(p.IPLS.Stages, s)
	return err
}

func (p *Plan) readCohort(l *textLine) (err error) {
	if p.IPLS == nil || len(p.IPLS.Stages) == 0 {
		return errors.New("a stage comes before its cohorts")
	}
	c := Cohort{OversampleRatio: 1}
	if c.Type, err = l.Word(); err != nil {
		return err
	}
	err = each(l, &c.Extra, nil, func(word string) (err error) {
		if word == "ratio" && l.Take("=") {
			c.OversampleRatio, err = l.Int()
			return err
		}
		c.Nodes = append(c.Nodes, word)
		return nil
	})
	s := &p.IPLS.Stages[len(p.IPLS.Stages)-1]
	s.Cohorts = append(s.Cohorts, c)
	return err
}
