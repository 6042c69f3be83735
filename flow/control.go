package flow

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"atenia/flow/graph"
)

// heatParam is the parameter that every node has.
const heatParam = "thermo.heat"

// A Token is something that came from outside at a block's start: a gate was
// opened, or a parameter got a value. What a session was told is part of its
// input; played to another session it gives the same bits.
type Token struct {
	Block  int64
	Gate   int       // opened, when Node is ""
	Node   string    // whose parameter is set
	Param  string    // its name
	Values []float64 // nil: the default again
}

// String is the token as [ParseTokens] reads it.
//
//	3 open 9
//	5 set eq.f0 1000
//	8 clear eq.f0
func (t Token) String() string {
	if t.Node == "" {
		return fmt.Sprintf("%d open %d", t.Block, t.Gate)
	}
	if t.Values == nil {
		return fmt.Sprintf("%d clear %s.%s", t.Block, t.Node, t.Param)
	}
	s := fmt.Sprintf("%d set %s.%s", t.Block, t.Node, t.Param)
	for _, v := range t.Values {
		s += " " + strconv.FormatFloat(v, 'g', -1, 64)
	}
	return s
}

// ParseTokens reads tokens, one a line. Empty lines are nothing.
func ParseTokens(r io.Reader) ([]Token, error) {
	var all []Token
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		w := strings.Fields(lines.Text())
		if len(w) == 0 {
			continue
		}
		t, err := parseToken(w)
		if err != nil {
			return nil, fmt.Errorf("control tokens: line %d: %w", n, err)
		}
		all = append(all, t)
	}
	return all, lines.Err()
}

func parseToken(w []string) (t Token, err error) {
	if len(w) < 3 {
		return t, fmt.Errorf("%q is no token: want BLOCK open GATE, BLOCK set NODE.PARAM VALUE… or BLOCK clear NODE.PARAM", strings.Join(w, " "))
	}
	if t.Block, err = strconv.ParseInt(w[0], 10, 64); err != nil {
		return t, fmt.Errorf("block: %w", err)
	}
	if w[1] == "open" {
		if t.Gate, err = strconv.Atoi(w[2]); err != nil {
			return t, fmt.Errorf("gate: %w", err)
		}
		return t, nil
	}
	if w[1] != "set" && w[1] != "clear" || (w[1] == "set") != (len(w) > 3) {
		return t, fmt.Errorf("%q: want set NODE.PARAM VALUE… or clear NODE.PARAM", strings.Join(w[1:], " "))
	}
	name := strings.TrimSuffix(w[2], heatParam) // it has a dot of its own, as nodes may have
	dot := strings.LastIndex(name, ".")
	if len(name) < len(w[2]) {
		dot = len(name) - 1
	}
	if dot <= 0 {
		return t, fmt.Errorf("%q: want NODE.PARAM", w[2])
	}
	t.Node, t.Param = w[2][:dot], w[2][dot+1:]
	for _, x := range w[3:] {
		v, err := strconv.ParseFloat(x, 64)
		if err != nil {
			return t, fmt.Errorf("value: %w", err)
		}
		t.Values = append(t.Values, v)
	}
	return t, nil
}

// Control returns what the session was told so far.
func (s *Session[F]) Control() []Token { return slices.Clone(s.told) }

// Play tells the session tokens, each when its block begins. Those of blocks
// that are over are an error.
func (s *Session[F]) Play(tokens []Token) error {
	for _, t := range tokens {
		if t.Block < s.block {
			return &RunError{Code: graph.State, Block: s.block, Text: fmt.Sprintf("the token %q comes too late", t)}
		}
		if t.Node == "" {
			if err := s.OpenGate(t.Gate, t.Block); err != nil {
				return err
			}
			continue
		}
		if _, _, err := s.override(t.Node, t.Param, t.Values); err != nil {
			return err
		}
		s.coming = append(s.coming, t)
	}
	slices.SortStableFunc(s.coming, func(a, b Token) int { return int(a.Block - b.Block) })
	return nil
}

// OpenGate opens a gate for blocks that are still to come, counted from the
// start of the stream. Gates that follow from counts open by themselves:
// barriers and tempo gates cannot be opened.
func (s *Session[F]) OpenGate(id int, blocks ...int64) error {
	i := slices.IndexFunc(s.gates, func(g *gate) bool { return g.ID == id && g.Kind != graph.Tempo })
	if i < 0 {
		return &graph.Error{Code: graph.InvalidArg, Path: s.link.Plan.Root + ".gates", Text: fmt.Sprintf("no gate %d that the host opens stands before a node", id)}
	}
	g := s.gates[i]
	for _, k := range blocks {
		if at, there := slices.BinarySearch(g.blocks, k); !there {
			g.blocks = slices.Insert(g.blocks, at, k)
			s.told = append(s.told, Token{Block: k, Gate: id})
		}
	}
	return nil
}

// Set gives a parameter other values from the next block on. There must be as
// many as the default has, in the same shape; or k times as many frames, of
// which each block takes one default's length, and the last stays.
func (s *Session[F]) Set(nodeName, param string, values []float64) error {
	if values == nil {
		values = []float64{}
	}
	return s.tell(Token{Block: s.block, Node: nodeName, Param: param, Values: values})
}

// Clear gives a parameter its default again.
func (s *Session[F]) Clear(nodeName, param string) error {
	return s.tell(Token{Block: s.block, Node: nodeName, Param: param})
}

func (s *Session[F]) tell(t Token) error {
	p, i, err := s.override(t.Node, t.Param, t.Values)
	if err != nil {
		return err
	}
	s.told = append(s.told, t)
	s.settle()
	pm, values := &p.params[i], t.Values
	if values == nil {
		values = p.Spec.Params[i].Value.Data
	}
	pm.staged = pm.staged[:0]
	for _, v := range values {
		pm.staged = append(pm.staged, F(v))
	}
	pm.at, pm.since = 0, s.block
	pm.turn()
	if !slices.Contains(s.staged, pm) {
		s.staged = append(s.staged, pm)
	}
	s.reheat(p)
	return nil
}

// override checks values for a parameter.
func (s *Session[F]) override(nodeName, param string, values []float64) (*process[F], int, error) {
	p, err := s.find(nodeName, "")
	if err != nil {
		return nil, 0, err
	}
	i := slices.IndexFunc(p.Spec.Params, func(x graph.ParamSpec) bool { return x.Name == param })
	if i < 0 {
		return nil, 0, &graph.Error{Code: graph.InvalidArg, Path: p.Path + ".params", Names: []string{nodeName}, Text: "no parameter " + param}
	}
	v := &p.Spec.Params[i].Value
	if k := len(v.Data); values != nil && (len(values) == 0 || len(values)%k != 0 || len(values) > k && p.params[i].table) {
		return nil, 0, &graph.Error{Code: graph.BadShape, Path: p.Path + ".params", Names: []string{nodeName},
			Text: fmt.Sprintf("shape [%d, %d, %d] for %s, whose default has [%d, %d, %d]", v.B, v.C, len(values)/(v.B*v.C), param, v.B, v.C, v.F)}
	}
	return p, i, nil
}

// turn takes the next staged values, one default's length of each row.
func (p *param[F]) turn() {
	n, rows := p.value.N, p.value.B*p.value.C
	if p.table {
		n, rows = len(p.value.Data), 1
	}
	for r := range rows {
		copy(p.value.Data[r*n:(r+1)*n], p.staged[r*len(p.staged)/rows+p.at:])
	}
	p.at += n
}

// pending reports whether there are staged values for a later block.
func (p *param[F]) pending() bool { return p.at*p.value.B*p.value.C < len(p.staged) }

// hear does what was told for this block.
func (s *Session[F]) hear() error {
	s.staged = slices.DeleteFunc(s.staged, func(p *param[F]) bool {
		if p.since < s.block {
			p.turn()
		}
		return !p.pending()
	})
	for len(s.coming) > 0 && s.coming[0].Block <= s.block {
		t := s.coming[0]
		s.coming = s.coming[1:]
		if err := s.tell(t); err != nil {
			return err
		}
	}
	return nil
}

// reheat counts the heat of a node's calls anew.
func (s *Session[F]) reheat(p *process[F]) {
	for i := range s.static.constant {
		if r := &s.static.constant[i]; r.proc == p.Index {
			r.joules = joules(r.call)
		}
	}
}
