package flow

import (
	"fmt"
	"slices"

	"atenia/flow/node"
)

// A Group is a cohort: nodes of one stage, type, oversampling ratio and shape with the same gates before them. If
// their type implements [node.Fuser] they are called as one, with their rows stacked.
type Group struct {
	Stage, Ratio int
	Type         string
	Nodes        []int // indices in the plan
	Fused        bool
}

// A key is what the nodes of a group have in common.
type key struct {
	stage, ratio, channels, tokens int
	typ, gates                     string
}

func (s *Session[F]) key(p *process[F]) key {
	k := key{stage: p.Stage, ratio: p.OversampleRatio, channels: p.Rows.C, tokens: p.Tokens, typ: p.Type}
	var gates []int
	for _, r := range p.all {
		gates = append(gates, r.edge.Gates...)
	}
	slices.Sort(gates)
	k.gates = fmt.Sprint(slices.Compact(gates))
	return k
}

// cohorts puts calls of whole blocks into groups; the call of a slice is a group of its own.
func (s *Session[F]) cohorts(units []*unit[F]) {
	keys := map[key]int{}
	for _, u := range units {
		k := s.key(u.process)
		i, ok := keys[k]
		if !ok || u.tokens != u.Tokens {
			i = len(s.groups)
			keys[k] = i
			s.groups = append(s.groups, Group{Stage: u.Stage, Type: u.Type, Ratio: u.OversampleRatio})
		}
		u.cohort = i
		if g := &s.groups[i]; !slices.Contains(g.Nodes, u.Index) {
			g.Nodes = append(g.Nodes, u.Index)
		}
	}
}

// align gives each unit a level, so that units of one level do not depend on each other. Units of one group get the
// same level where that is possible.
func align[F node.Float](units []*unit[F], groups int) {
	floor := make([]int, groups)
	for range groups + 1 {
		done := true
		for _, u := range units {
			u.level = floor[u.cohort]
			for _, v := range u.needs {
				u.level = max(u.level, v.level+1)
			}
		}
		for _, u := range units {
			if u.level > floor[u.cohort] {
				floor[u.cohort], done = u.level, false
			}
		}
		if done {
			return
		}
	}
	for _, u := range units { // groups that depend on each other are not aligned
		u.level = 0
		for _, v := range u.needs {
			u.level = max(u.level, v.level+1)
		}
	}
}

// A job is the calls that are made in one go: a fused group, or one unit.
type job[F node.Float] struct {
	units []*unit[F]
	list  []func()
}

// fuse makes jobs of units that are sorted by level and group.
func (s *Session[F]) fuse(units []*unit[F]) []*job[F] {
	var jobs []*job[F]
	for len(units) > 0 {
		n := 1
		for n < len(units) && units[n].level == units[0].level && units[n].cohort == units[0].cohort {
			n++
		}
		same := units[:n]
		units = units[n:]
		parts := min(s.opt.Threads, n)
		for i := range parts {
			part := same[n*i/parts : n*(i+1)/parts]
			if t, ok := s.fused(part); ok {
				jobs = append(jobs, t)
				continue
			}
			for _, u := range part {
				t := &job[F]{units: []*unit[F]{u}, list: u.before}
				if u.run != nil {
					t.list = append(t.list, u.run)
				}
				t.list = append(t.list, u.rest()...)
				jobs = append(jobs, t)
			}
		}
	}
	return jobs
}

// rest is what follows the call.
func (u *unit[F]) rest() []func() {
	if u.heat == nil {
		return u.after
	}
	return append([]func(){u.heat}, u.after...)
}

// fused makes one call of several units, if their type can.
func (s *Session[F]) fused(units []*unit[F]) (*job[F], bool) {
	if s.opt.DisableFusion || len(units) < 2 {
		return nil, false
	}
	first, ok := units[0].inst.(node.Fuser[F])
	if !ok {
		return s.joined(units)
	}
	var others []node.Instance[F]
	var calls []*node.Call[F]
	t := &job[F]{units: units}
	for _, u := range units {
		others, calls = append(others, u.inst), append(calls, u.bound)
		t.list = append(t.list, u.before...)
	}
	run, ok := first.Fuse(others[1:], calls)
	if !ok {
		return nil, false
	}
	t.list = append(t.list, s.timed(units, run))
	for i, u := range units {
		if s.opt.Scan == ScanAll {
			t.list = append(t.list, func() { s.scan(u.process, calls[i]) })
		}
		t.list = append(t.list, u.rest()...)
	}
	s.groups[units[0].cohort].Fused = true
	return t, true
}

// Groups returns the cohorts of the graph's static part, and whether each was fused.
func (s *Session[F]) Groups() []Group { return slices.Clone(s.groups) }
