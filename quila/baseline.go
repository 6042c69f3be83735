package quila

import (
	"cmp"
	"slices"

	"atenia/quila/internal/grid"
	"atenia/quila/internal/sxlm"
	"atenia/tensor"
)

// begin sets what calls begin with to the states of a model file: S1, S3, S4, S6,
// S8 and the persistent traces. S2 and S5 begin anew whatever the file has
// [R-5.1a].
func begin(b *grid.Baseline, f *sxlm.Model) {
	st, k := b.State, b.Channels
	s := f.States
	copy(k.Activation, s["s1.activation"].F32)
	copy(k.History, s["s1.history"].F32)
	for i, r := range s["s1.refractory"].U8 {
		if f.Config.Refractory {
			st.Refractory[i] = int32(r)
		}
	}
	frames := s["s3.frames"].F16
	perNeuron := len(frames) / st.N
	for n := range st.N {
		widen(st.Frames[n*st.Depth*st.D:][:st.Depth*st.D], frames[n*perNeuron:])
	}
	widen(st.Momentum, s["s3.momentum"].F16)
	copy(k.Attention, s["s4.attention_type"].U8)
	copy(k.GraphPos, s["s4.graph_pos"].U32)
	widen(k.Neighbour, s["s6.neighbour"].F16)
	groups := len(s["s7.trace"].F32) / st.N
	for n := range st.N {
		var sum float32
		for _, x := range s["s7.trace"].F32[n*groups:][:groups] {
			sum += x
		}
		st.PTrace[n] = sum / float32(groups) // a neuron's trace is the mean of its groups'
	}
	copy(st.Utility, s["s8.utility"].F32)
	copy(k.Contribution, s["s8.history"].F32)
	copy(st.UDim, s["s8.u_dim"].F32)
	copy(st.HDim, s["s8.h_dim"].F32)
}

// widen converts halves.
func widen(dst []float32, src []uint16) {
	for i := range dst {
		dst[i] = tensor.F16ToF32(src[i])
	}
}

// scanOrder is the order in which ports scan neurons: by community, then by id
// nil if communities are unknown.
func scanOrder(f *sxlm.Model) []int32 {
	pos := f.States["s4.graph_pos"].U32
	if !slices.ContainsFunc(pos, func(x uint32) bool { return x != 0 }) {
		return nil
	}
	order := make([]int32, f.Config.N)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(pos[2*a], pos[2*b]), cmp.Compare(a, b)) })
	return order
}
