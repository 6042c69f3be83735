package call

import (
	"context"
	"errors"

	"atenia/internal/machine/ledger"
	"atenia/quila/internal/grid"
	"atenia/quila/internal/neuron"
	"atenia/quila/internal/stores"
	"atenia/quila/internal/sxlm"
)

// A memory is what a call needs to use the stores; zero without them.
type memory struct {
	recall func(s *grid.Session, neuron int, hMid, hKFE []float32)
	turn   int64
	mid    []float32 // [N][D]: h_mid of those who fired at this tick
	fired  []bool    // [N]
	recent []float32
	rows   *sxlm.Rows
	state  []float32 // [D]: mean of h_final
}

// remember connects a call with the stores, as a turn of its own.
func (k *Call) remember() {
	s, c, m := k.m.stores, k.m.c, &k.memory
	if s == nil {
		return
	}
	if s.Libraries != nil {
		m.turn = s.Libraries.Turn() + 1
		m.mid, m.fired = make([]float32, c.N*c.D), make([]bool, c.N)
		m.recall = func(_ *grid.Session, n int, hMid, hKFE []float32) {
			s.Recall(n, hMid, hKFE)
			copy(m.mid[n*c.D:][:c.D], hMid)
			m.fired[n] = true
		}
	}
	if m.rows = s.Rows(); m.rows != nil {
		m.state = make([]float32, c.D)
		k.step.Extra = make([]neuron.Extra[float32], len(k.m.ports.List))
	}
}

// tick is one tick with recall. What was found is counted, and what is worth an
// entry offered, before the next. No caller cuts that short: it would leave the
// libraries between two ticks.
func (k *Call) tick(o grid.Options) error {
	s, m := k.m.stores, &k.memory
	if m.recall == nil {
		return k.m.grid.Tick(k.one[:], o)
	}
	o.Recall = m.recall
	clear(m.fired)
	if err := k.m.grid.Tick(k.one[:], o); err != nil {
		return err
	}
	if s.Learn && o.Phase >= stores.FirstPhase {
		if err := k.offer(o.Phase); err != nil {
			return err
		}
	}
	err := s.Libraries.Commit(context.Background(), m.turn)
	if errors.Is(err, ledger.ErrFull) || errors.Is(err, stores.ErrFull) {
		return nil // there is no room to remember more; what is there still counts
	}
	return err
}

// offer is step 10 of those who fired.
func (k *Call) offer(phase int) error {
	m, c := &k.memory, k.m.c
	st, slot := k.session.View()
	for n, f := range m.fired {
		if !f {
			continue
		}
		m.recent = k.session.Channels.Recent(m.recent[:0], n)
		var mean float32
		for _, x := range m.recent {
			mean += x / float32(len(m.recent))
		}
		i := n*st.B + slot
		mid, smooth := m.mid[n*c.D:][:c.D], st.Hidden[i*c.D:][:c.D]
		if !usable(mid) || !usable(smooth) {
			continue
		}
		_, err := k.m.stores.Libraries.Offer(n, stores.Offer{Activation: mean, Utility: st.Utility[i], Confidence: st.Conf[i], Phase: phase, Mid: mid, Smooth: smooth})
		if err != nil {
			return err
		}
	}
	return nil
}

// usable reports whether a vector has a direction.
func usable(x []float32) bool {
	var sum float32
	for _, v := range x {
		sum += v * v
	}
	return sum > 0 && sum-sum == 0
}

// lookUp puts the rows of the look-up memory in front of the Planner and the
// Thinkers; the state of their gates is the mean of the grid's.
func (k *Call) lookUp(code int32) error {
	m, c := &k.memory, k.m.c
	if m.rows == nil {
		return nil
	}
	st, slot := k.session.View()
	clear(m.state)
	for n := range c.N {
		for d, x := range st.HFinal[(n*st.B+slot)*c.D:][:c.D] {
			m.state[d] += x / float32(c.N)
		}
	}
	keys, values, err := m.rows.Hear(context.Background(), code, m.state)
	if err != nil {
		return err
	}
	for i, p := range k.m.ports.List {
		if p.Kind != neuron.Analysis {
			k.step.Extra[i].Keys, k.step.Extra[i].Values = keys, values
		}
	}
	return nil
}

// End ends the call's turn: what becomes of shadows is decided. A call that
// was broken off ends like any other.
func (k *Call) End() error {
	if s := k.m.stores; s != nil && s.Libraries != nil {
		return s.Libraries.EndTurn(context.Background(), k.memory.turn)
	}
	return nil
}
