package graph

import (
	"errors"
	"fmt"
	"strings"
)

// String returns the table's text, which [ParseSchedule] reads back: nodes in visiting
// order, edges in plan order, calls of a block.
//
//	block 64 warmup 2
//	node x stage 0 tokens 64 first 0 late 0
//	node o stage 1 tokens 64 first 2 late 100 sink
//	edge x -> o rate 1 hold 100 prefill 0 capacity 192 least 192
//	call x 64
//	call o 64
func (s *Schedule) String() string {
	var w strings.Builder
	fmt.Fprintf(&w, "block %d warmup %d\n", s.BlockFrames, s.Warmup)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		fmt.Fprintf(&w, "node %s stage %d tokens %d first %d late %v", quoteWord(n.Name), n.Stage, n.Tokens, n.First, n.Late)
		if n.Sink {
			w.WriteString(" sink")
		}
		w.WriteByte('\n')
	}
	for i := range s.Edges {
		e := &s.Edges[i]
		fmt.Fprintf(&w, "edge %s -> %s rate %v hold %d prefill %d capacity %d least %d\n", quoteWord(e.Source), quoteWord(e.Target), e.Rate, e.Hold, e.Prefill, e.Capacity, e.Least)
	}
	for _, c := range s.Calls {
		fmt.Fprintf(&w, "call %s %d\n", quoteWord(s.Nodes[c.Node].Name), c.Tokens)
	}
	return w.String()
}

// ParseSchedule reads a table's text. An error is an [Error] of code
// [Malformed] whose path is line N.
func ParseSchedule(text string) (*Schedule, error) {
	s, place := &Schedule{}, map[string]int{}
	for i, row := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		l := newTextLine(row)
		err := s.line(l, i, place)
		if err == nil && !l.Done() {
			err = errors.New("unexpected text at the end of the line")
		}
		if err != nil {
			return nil, &Error{Code: Malformed, Path: fmt.Sprintf("line %d", i+1), Text: err.Error()}
		}
	}
	return s, nil
}

func (s *Schedule) line(l *textLine, row int, place map[string]int) error {
	what, err := l.Word()
	switch {
	case err != nil:
		return err
	case row == 0 && what == "block":
		if s.BlockFrames, err = l.Int(); err != nil {
			return err
		}
		return numbers(l, scheduleField{"warmup", &s.Warmup})
	case row > 0 && what == "node":
		return s.node(l, place)
	case row > 0 && what == "edge":
		return s.edge(l)
	case row > 0 && what == "call":
		name, err := l.Word()
		if err != nil {
			return err
		}
		c := ScheduledCall{}
		var ok bool
		if c.Node, ok = place[name]; !ok {
			return fmt.Errorf("no node %s above", name)
		}
		c.Tokens, err = l.Int()
		s.Calls = append(s.Calls, c)
		return err
	}
	return fmt.Errorf("%q: want block on the first line, then node, edge or call", what)
}

// A scheduleField is a number with its key before it.
type scheduleField struct {
	key string
	to  *int
}

func numbers(l *textLine, fields ...scheduleField) (err error) {
	for _, f := range fields {
		if err = key(l, f.key); err != nil {
			return err
		}
		if *f.to, err = l.Int(); err != nil {
			return err
		}
	}
	return nil
}

func key(l *textLine, want string) error {
	got, err := l.Word()
	if err == nil && got != want {
		err = fmt.Errorf("want %s, got %q", want, got)
	}
	return err
}

func (s *Schedule) node(l *textLine, place map[string]int) (err error) {
	var n ScheduledNode
	if n.Name, err = l.Word(); err != nil {
		return err
	}
	if _, twice := place[n.Name]; twice {
		return fmt.Errorf("node %s appears twice", n.Name)
	}
	if err = numbers(l, scheduleField{"stage", &n.Stage}, scheduleField{"tokens", &n.Tokens}, scheduleField{"first", &n.First}); err != nil {
		return err
	}
	if n.Late, err = fraction(l, "late", 0); err != nil {
		return err
	}
	if !l.Done() {
		n.Sink = true
		err = key(l, "sink")
	}
	place[n.Name] = len(s.Nodes)
	s.Nodes = append(s.Nodes, n)
	return err
}

func (s *Schedule) edge(l *textLine) (err error) {
	var e ScheduledEdge
	if e.Source, err = l.Word(); err != nil {
		return err
	}
	if err = l.Want("->"); err != nil {
		return err
	}
	if e.Target, err = l.Word(); err != nil {
		return err
	}
	if e.Rate, err = fraction(l, "rate", 1); err != nil {
		return err
	}
	s.Edges = append(s.Edges, e)
	x := &s.Edges[len(s.Edges)-1]
	return numbers(l, scheduleField{"hold", &x.Hold}, scheduleField{"prefill", &x.Prefill}, scheduleField{"capacity", &x.Capacity}, scheduleField{"least", &x.Least})
}

// fraction reads n or n/d with n no less than least.
func fraction(l *textLine, name string, least int64) (r Rat, err error) {
	if err = key(l, name); err != nil {
		return r, err
	}
	w, err := l.Word()
	if err != nil {
		return r, err
	}
	r.Den = 1
	if n, scanErr := fmt.Sscanf(w, "%d/%d", &r.Num, &r.Den); n < 1 || r.String() != w || r.Num < least || r.Den < 1 {
		return r, fmt.Errorf("%q is not a fraction: %v", w, scanErr)
	}
	return r, nil
}
