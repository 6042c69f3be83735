package grammar

import "fmt"

// A Matcher follows one answer through an [Automaton]. It must be used by one
// goroutine at a time, but for Follows beside Allowed. Once the states that it visits have been made, it
// allocates nothing.
type Matcher struct {
	a    *Automaton
	at   *state
	over bool     // a token that ends an answer was accepted
	bits []uint64 // scratch
}

// Start returns a matcher at the start of an answer.
func (a *Automaton) Start() *Matcher {
	a.lock()
	defer a.mu.Unlock()
	return &Matcher{a: a, at: a.begin, bits: make([]uint64, a.v.words())}
}

// Allowed returns the set of tokens that may come next, a bit for each id,
// when the answer may have left more tokens, that one included. Of the tokens
// that the grammar allows it leaves out those after which the answer could not
// be completed in time; if no token leads to an end in time, only those that lead
// closest remain. Tokens that end the answer are allowed when the text is complete.
//
// The set is valid until the next call of a method but Follows, and must not be modified.
// While it is made, which takes long in a new state, other matchers go on.
func (m *Matcher) Allowed(left int) ([]uint64, error) {
	a := m.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made > maxStates || a.masks > maxSets {
		if err := a.reset(); err != nil {
			return nil, err
		}
	}
	if m.over {
		clear(m.bits)
		return m.bits, nil
	}
	s, ends := m.at, int32(min(1, len(a.v.ends)))
	all, err := a.maskOf(s)
	if err != nil {
		return nil, err
	}
	after := int32(min(max(left-1, 0), never-1))
	bits := all.bits
	if all.far+ends > after {
		c, err := a.costsOf(s, ends, m.bits)
		if err == nil && c.usual <= after && len(c.more) < len(a.v.text)/16 {
			copy(m.bits, bits)
			for _, x := range c.more {
				if x.need > after {
					m.bits[x.id>>6] &^= 1 << (x.id & 63)
				}
			}
		} else if err == nil {
			err = m.hurry(s, after, ends)
		}
		if err != nil {
			return nil, err
		}
		bits = m.bits
	}
	if s.popped && ends > 0 {
		if &bits[0] != &m.bits[0] {
			copy(m.bits, bits)
			bits = m.bits
		}
		for _, id := range a.v.ends {
			bits[id>>6] |= 1 << (id & 63)
		}
	}
	return bits, nil
}

// hurry sets m.bits to the tokens after which the answer can end within after
// tokens, or if there are none, as soon as possible.
func (m *Matcher) hurry(s *state, after, ends int32) error {
	clear(m.bits)
	w := walk{bits: m.bits, most: after, ends: ends}
	a := m.a
	if err := a.walk(&w, s, 0, 0, int32(len(a.v.char))); err != nil {
		return err
	}
	if s.popped && ends > 0 || w.near == 0 || w.near >= never {
		return nil
	}
	for _, b := range m.bits {
		if b != 0 {
			return nil
		}
	}
	w = walk{bits: m.bits, most: w.near, ends: ends}
	return a.walk(&w, s, 0, 0, int32(len(a.v.char)))
}

// Accept follows a token. One that is not allowed is an error.
func (m *Matcher) Accept(id int32) error {
	a := m.a
	a.lock()
	defer a.mu.Unlock()
	if m.at.popped && !m.over {
		for _, e := range a.v.ends {
			if e == id {
				m.over = true
				return nil
			}
		}
	}
	s, err := a.after(m.at, id)
	switch {
	case err != nil:
		return err
	case m.over || s == nil:
		return fmt.Errorf("grammar: token %d is not allowed here", id)
	}
	m.at = s
	return nil
}

// after returns the state after the text of a token, nil if no answer goes on so.
func (a *Automaton) after(s *state, id int32) (*state, error) {
	if id < 0 || int(id) >= len(a.v.text) || len(a.v.text[id]) == 0 {
		return nil, nil
	}
	for _, c := range a.v.text[id] {
		var err error
		if s, err = a.step(s, c); err != nil {
			return nil, err
		}
	}
	if s == a.dead || s.need >= never {
		return nil, nil
	}
	return s, nil
}

// Follows returns how many of ids, from the first on, are the text of an answer from
// here on. It does not move. Tokens that end the answer are not counted.
func (m *Matcher) Follows(ids []int32) int {
	a := m.a
	a.lock()
	defer a.mu.Unlock()
	s := m.at
	for i, id := range ids {
		var err error
		if s, err = a.after(s, id); m.over || err != nil || s == nil {
			return i
		}
	}
	return len(ids)
}

// Done reports whether the answer is complete and nothing can follow.
func (m *Matcher) Done() bool { return m.over || m.at.terminal() }
