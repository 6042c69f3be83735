package flow

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// A team is processes on the dynamic path whose nodes can be called together, as those of one library in a separate
// process can: one request for all that are ready costs as much as one for the first. Whoever is ready may fire, in any
// order (Kahn), so nothing else changes.
type team[F node.Float] struct {
	members []*process[F]
	tokens  []int // of this firing, 0: not ready
	which   []bool
	codes   []graph.Code
	run     func(which []bool, codes []graph.Code)
}

// teams finds the processes that can be called together.
func (s *Session[F]) teams() {
	var all []*team[F]
	for _, p := range s.order {
		if _, ok := p.inst.(node.Joiner[F]); !ok {
			continue
		}
		found := false
		for _, m := range all {
			if found = m.add(p); found {
				break
			}
		}
		if !found {
			all = append(all, &team[F]{members: []*process[F]{p}})
		}
	}
	for _, m := range all {
		n := len(m.members)
		m.tokens, m.which, m.codes = make([]int, n), make([]bool, n), make([]graph.Code, n)
		for _, p := range m.members {
			if n > 1 {
				p.team = m
			}
		}
	}
}

func (m *team[F]) add(p *process[F]) bool {
	var others []node.Instance[F]
	var calls []*node.Call[F]
	all := append(m.members[:len(m.members):len(m.members)], p)
	for i, q := range all {
		if calls = append(calls, &q.call); i > 0 {
			others = append(others, q.inst)
		}
	}
	run, ok := m.members[0].inst.(node.Joiner[F]).Join(others, calls)
	if ok {
		m.members, m.run = all, run
	}
	return ok
}

// fireTeam fires all of a team that are ready.
func (s *Session[F]) fireTeam(m *team[F]) graph.Code {
	asked := 0
	for i, p := range m.members {
		t := s.want(p)
		m.tokens[i], m.which[i] = t, false
		if t == 0 {
			continue
		}
		if s.opt.Log {
			s.log = append(s.log, Firing{Block: s.block, Node: p.Name, Tokens: t})
		}
		s.load(p, t)
		begin(s.prepare(p, t), p.n0+p.origin)
		if m.which[i] = s.watch == nil || !s.suspended(p); m.which[i] {
			asked++
		}
	}
	ns := int64(0)
	if asked > 0 {
		if s.watch != nil {
			ns = -s.watch.Now()
		}
		if m.run(m.which, m.codes); s.watch != nil {
			ns = (ns + s.watch.Now()) / int64(asked)
		}
	}
	worst := graph.Success
	for i, p := range m.members {
		switch c := &p.call; {
		case m.tokens[i] == 0:
			continue
		case !m.which[i]:
			worst = min(worst, s.mute(c))
		default:
			worst = min(worst, s.applyPolicy(p, c, m.codes[i]))
			if s.watch != nil {
				s.took(p, c, ns)
			}
		}
		s.account(p, &p.call)
		s.store(p, m.tokens[i])
	}
	return worst
}

// joined makes one call of several units whose nodes can be called together.
func (s *Session[F]) joined(units []*unit[F]) (*job[F], bool) {
	if len(units) < 2 {
		return nil, false
	}
	first, ok := units[0].inst.(node.Joiner[F])
	if !ok {
		return nil, false
	}
	var others []node.Instance[F]
	var calls []*node.Call[F]
	j := &job[F]{units: units}
	for _, u := range units {
		others, calls = append(others, u.inst), append(calls, u.bound)
		j.list = append(j.list, u.before...)
	}
	run, ok := first.Join(others[1:], calls)
	if !ok {
		return nil, false
	}
	codes, which := make([]graph.Code, len(units)), make([]bool, len(units))
	j.list = append(j.list, s.timed(units, func() {
		for i, u := range units {
			begin(u.bound, u.n0+u.process.origin)
			which[i] = !s.suspended(u.process)
		}
		run(which, codes)
		for i, u := range units {
			if which[i] {
				s.applyPolicy(u.process, u.bound, codes[i])
				s.account(u.process, u.bound)
			}
		}
	}))
	for _, u := range units {
		j.list = append(j.list, u.rest()...)
	}
	return j, true
}
