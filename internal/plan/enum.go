package plan

import "fmt"

// Every enumeration is text both ways, from one table of names beside its
// constants. Plan text, JSON, flags and logs all use these names.

// named returns the position of a name in a table.
func named[E ~uint8](table []string, what string, b []byte) (E, error) {
	for i, n := range table {
		if n == string(b) {
			return E(i), nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q", what, b)
}

// name returns an entry of a table; a value without one has no text.
func name[E ~uint8](table []string, what string, e E) ([]byte, error) {
	if int(e) >= len(table) {
		return nil, fmt.Errorf("unknown %s %d", what, e)
	}
	return []byte(table[e]), nil
}

// ParseMode reads what [Mode.String] prints.
func ParseMode(s string) (Mode, error) { return named[Mode](modeNames[:], "mode", []byte(s)) }

// MarshalText implements [encoding.TextMarshaler].
func (m Mode) MarshalText() ([]byte, error) { return name(modeNames[:], "mode", m) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (m *Mode) UnmarshalText(b []byte) (err error) {
	*m, err = named[Mode](modeNames[:], "mode", b)
	return err
}

// MarshalText implements [encoding.TextMarshaler].
func (r RowKind) MarshalText() ([]byte, error) { return name(rowNames[:], "row kind", r) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *RowKind) UnmarshalText(b []byte) (err error) {
	*r, err = named[RowKind](rowNames[:], "row kind", b)
	return err
}

// MarshalText implements [encoding.TextMarshaler].
func (l Layout) MarshalText() ([]byte, error) { return name(layoutNames[:], "layout", l) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *Layout) UnmarshalText(b []byte) (err error) {
	*l, err = named[Layout](layoutNames[:], "layout", b)
	return err
}

// MarshalText implements [encoding.TextMarshaler].
func (k StateKind) MarshalText() ([]byte, error) { return name(stateNames[:], "state kind", k) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (k *StateKind) UnmarshalText(b []byte) (err error) {
	*k, err = named[StateKind](stateNames[:], "state kind", b)
	return err
}

// MarshalText implements [encoding.TextMarshaler].
func (l Lifecycle) MarshalText() ([]byte, error) { return name(lifecycleNames[:], "lifecycle", l) }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *Lifecycle) UnmarshalText(b []byte) (err error) {
	*l, err = named[Lifecycle](lifecycleNames[:], "lifecycle", b)
	return err
}

// MarshalText implements [encoding.TextMarshaler].
func (o Opcode) MarshalText() ([]byte, error) {
	if Specs.Get(o) == nil {
		return nil, &OpcodeError{Op: o, Index: Whole}
	}
	return []byte(o.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (o *Opcode) UnmarshalText(b []byte) error {
	op, ok := parseOpcode(string(b))
	if !ok {
		return fmt.Errorf("%w: %q", ErrUnsupportedOpcode, b)
	}
	*o = op
	return nil
}
