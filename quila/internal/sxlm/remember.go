package sxlm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"atenia/internal/machine/ledger"
	"atenia/internal/store/durable"
	"atenia/quila/internal/stores"
	"atenia/tensor"
)

// StoreOptions say where stores lie.
type StoreOptions struct {
	Account *ledger.Account // nil is that of the process
	Dir     string          // "" is RAM alone
	RAM     uint64          // bytes of entries' pages that stay in RAM if there is a folder; 0 is all
	Learn   bool            // calls add entries (Step 10), even to libraries that are empty
	Warn    func(message string)
}

// Stores are those of one model. Recall may run at once for different neurons;
// everything else waits for it and runs alone.
type Stores struct {
	Libraries *stores.KFE // nil: there are no entries and none are made
	Learn     bool        // whether calls add entries

	memory     *stores.Memory
	cold       string // folder of this process
	removeCold func() error
	reader     *stores.KFEReader[float32]
	table      *stores.EngramTable // nil: all rows are zero
	wk, wv     []float32
	vector     *stores.Vector // nil: the persona is that of the file
	persona    []float32      // nil: zeros
	w, gate    []float32      // head.persona_w, head.persona_gate
	raw        float64
}

// OpenStores makes the stores of a model. What they took over, entries and table, the
// model does not have any more; [Stores.Keep] puts it back.
func OpenStores(ctx context.Context, m *Model, o StoreOptions) (*Stores, error) {
	if o.Account == nil {
		o.Account = ledger.Process
	}
	s := &Stores{Learn: o.Learn}
	if err := s.open(ctx, m, &o); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stores) open(ctx context.Context, m *Model, o *StoreOptions) (err error) {
	if o.Dir != "" {
		if err := os.MkdirAll(o.Dir, 0o777); err != nil {
			return err
		}
		if s.cold, s.removeCold, err = durable.TempDir(o.Dir, "cold-"); err != nil {
			return err
		}
	}
	s.memory = stores.NewMemory(stores.TierConfig{Account: o.Account, Dir: s.cold})
	if err := s.libraries(ctx, m, o); err != nil {
		return err
	}
	if err := s.rows(ctx, m); err != nil {
		return err
	}
	return s.manner(m, o)
}

// libraries takes over block 5.
func (s *Stores) libraries(ctx context.Context, m *Model, o *StoreOptions) (err error) {
	if len(m.Libraries) == 0 && !o.Learn {
		return nil
	}
	k := stores.KFEOptions{Memory: s.memory}
	if o.Dir != "" && o.RAM > 0 {
		k.Cold, k.L2, k.L3 = true, max(o.RAM/2, 1), max(o.RAM/2, 1)
	}
	if s.Libraries, err = stores.NewKFE(&m.Config, k); err != nil {
		return err
	}
	s.reader = stores.NewKFEReader[float32](s.Libraries)
	w := m.Weights.Of("evict.w")
	if err := s.Libraries.SetWeights(stores.KFEWeights{float64(w[0]), float64(w[1]), float64(w[2]), float64(w[3])}); err != nil {
		return err
	}
	for i := range m.Libraries {
		lib := &m.Libraries[i]
		entries := make([]stores.KFEEntry[float32], len(lib.Entries))
		for j := range lib.Entries {
			e := &lib.Entries[j]
			entries[j] = stores.KFEEntry[float32]{ID: e.ID, Embedding: wide(e.Embedding), Snapshot: wide(e.Snapshot), Utility: e.Utility,
				Confidence: e.Confidence, Count: e.Access, Last: e.LastAccess, Soft: e.Soft}
		}
		if err := s.Libraries.Restore(int(lib.Neuron), entries, bytes.NewReader(lib.Image), int64(len(lib.Image))); err != nil {
			return err
		}
		if err := s.Libraries.Commit(ctx, int64(m.Epoch)); err != nil { // keeps the quotas
			return err
		}
	}
	s.Libraries.SetTurn(int64(m.Epoch))
	m.Libraries = nil
	return nil
}

// rows takes over block 6.
func (s *Stores) rows(ctx context.Context, m *Model) (err error) {
	e := &m.Engram
	if !slices.ContainsFunc(e.Table, func(x uint16) bool { return x<<1 != 0 }) {
		return nil
	}
	c := stores.EngramConfig{Bits: bitsOf(e.Rows), Dim: m.Config.D, Mul: stores.Multipliers(e.Mul)}
	if s.table, err = stores.NewEngramTable(c, s.memory); err != nil {
		return err
	}
	row := make([]byte, 0, 2*c.Dim)
	for r := range e.Rows {
		row = row[:0]
		for _, x := range e.Table[r*c.Dim:][:c.Dim] {
			row = append(row, byte(x), byte(x>>8))
		}
		if err := s.table.Load(ctx, r, row); err != nil {
			return err
		}
	}
	s.wk, s.wv = e.WK, e.WV
	e.Table = nil
	return nil
}

func bitsOf(rows int) (n int) {
	for ; 1<<n < rows; n++ {
	}
	return n
}

// manner takes the persona of block 7, or that of the folder, which is newer if it
// was ever set.
func (s *Stores) manner(m *Model, o *StoreOptions) (err error) {
	p := m.Persona
	if o.Dir != "" {
		if s.vector, err = stores.OpenPersona(stores.PersonaConfig{Dim: m.Config.PersonaDim, Path: filepath.Join(o.Dir, "persona"), Warn: o.Warn}); err != nil {
			return err
		}
		if !zero(s.vector.Values()) {
			p = s.vector.Values()
		} else if !zero(p) {
			if err := s.vector.Set(p); err != nil {
				return err
			}
		}
	}
	if zero(p) {
		return nil
	}
	s.persona, s.raw = slices.Clone(p), m.Config.PersonaGate
	s.w, s.gate = m.Weights.Of("head.persona_w"), m.Weights.Of("head.persona_gate")
	return nil
}

func zero(x []float32) bool { return !slices.ContainsFunc(x, func(v float32) bool { return v != 0 }) }

// Close gives all memory back. It may be called more than once.
func (s *Stores) Close() error {
	var errs []error
	if s.Libraries != nil {
		errs = append(errs, s.Libraries.Close())
	}
	if s.table != nil {
		errs = append(errs, s.table.Close())
	}
	if s.memory != nil {
		errs = append(errs, s.memory.Close())
	}
	if s.vector != nil {
		errs = append(errs, s.vector.Close())
	}
	if s.cold != "" {
		errs = append(errs, s.removeCold())
	}
	*s = Stores{}
	return errors.Join(errs...)
}

// Recall is step 6 of a neuron.
func (s *Stores) Recall(neuron int, hMid, hKFE []float32) {
	s.reader.Recall(neuron, 0, hMid, hKFE, nil)
}

// Recaller is step 6 for the sessions of an evaluation, which counts nothing; nil if
// there are no entries.
func (s *Stores) Recaller() func(neuron, session int, hMid, hKFE []float32) {
	if s.Libraries == nil {
		return nil
	}
	quiet := s.reader.Quiet()
	return func(neuron, session int, hMid, hKFE []float32) { quiet.Recall(neuron, session, hMid, hKFE, nil) }
}

// Manner adds the persona to a merge: m += σ(raw + gate·m)·W_persona·p.
func (s *Stores) Manner(m []float32) {
	if s.persona == nil {
		return
	}
	z := s.raw
	for i, x := range m {
		z += float64(s.gate[i]) * float64(x)
	}
	open := 1 / (1 + math.Exp(-z))
	n := len(s.persona)
	for i := range m {
		var sum float64
		for j, p := range s.persona {
			sum += float64(s.w[i*n+j]) * float64(p)
		}
		m[i] += float32(open * sum)
	}
}

// Rows are what the look-up memory says to the codes of one session. They are for
// one goroutine.
type Rows struct {
	s                     *Stores
	codes                 []uint32
	rows, keys, values, g []float32
}

// longest is the longest suffix that the look-up memory knows.
const longest = 3

// Rows begins a session; nil if the table is empty.
func (s *Stores) Rows() *Rows {
	if s.table == nil {
		return nil
	}
	d := s.table.Config().Dim
	n := stores.Heads * d
	return &Rows{s, make([]uint32, 0, longest+1), make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, stores.Heads)}
}

// Hear adds a code and returns the keys and values [≤ 8, D] for a state [D] of the
// grid. They are valid until the next code.
func (r *Rows) Hear(ctx context.Context, code int32, state []float32) (keys, values []float32, err error) {
	if r.codes = append(r.codes, uint32(code)); len(r.codes) > longest {
		r.codes = append(r.codes[:0], r.codes[1:]...)
	}
	n, err := stores.Lookup(ctx, r.s.table, r.rows, r.codes)
	if err != nil {
		return nil, nil, err
	}
	d := len(state)
	stores.Gate(r.keys[:n*d], r.values[:n*d], r.g[:n], r.rows[:n*d], state, r.s.wk, r.s.wv)
	return r.keys[:n*d], r.values[:n*d], nil
}

// Keep puts what the stores hold back into a model, to be written.
func (s *Stores) Keep(ctx context.Context, m *Model) error {
	if s.Libraries != nil {
		if err := KeepLibraries(m, s.Libraries); err != nil {
			return err
		}
	}
	if s.table == nil {
		return nil
	}
	b, err := s.table.Save(ctx, nil, 0, s.table.Rows())
	if err != nil {
		return err
	}
	m.Engram.Table = make([]uint16, len(b)/2)
	for i := range m.Engram.Table {
		m.Engram.Table[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
	}
	return nil
}

// KeepLibraries gives a model the entries of a store, with their indexes, its turn
// and the weights of the eviction score.
func KeepLibraries(m *Model, s *stores.KFE) error {
	m.Libraries = nil
	for n := range m.Config.N {
		l := s.Library(n)
		if l.Len() == 0 {
			continue
		}
		lib := Library{Neuron: uint32(n)}
		for e, err := range l.Entries() {
			if err != nil {
				return fmt.Errorf("the library of neuron %d: %w", n, err)
			}
			lib.Entries = append(lib.Entries, Entry{ID: e.ID, Embedding: Narrow(e.Embedding), Snapshot: Narrow(e.Snapshot), Utility: e.Utility,
				Confidence: e.Confidence, Access: e.Count, LastAccess: e.Last, Soft: e.Soft})
		}
		var image bytes.Buffer
		if _, err := l.Index().Write(&image); err != nil {
			return fmt.Errorf("the library of neuron %d: %w", n, err)
		}
		lib.Image = image.Bytes()
		m.Libraries = append(m.Libraries, lib)
	}
	m.Epoch = uint64(s.Turn())
	for i, x := range s.Weights() {
		m.Weights.Of("evict.w")[i] = float32(x)
	}
	return nil
}

func wide(x []uint16) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = tensor.F16ToF32(v)
	}
	return out
}

// Narrow rounds to half precision.
func Narrow(x []float32) []uint16 {
	out := make([]uint16, len(x))
	for i, v := range x {
		out[i] = tensor.F32ToF16(v)
	}
	return out
}
