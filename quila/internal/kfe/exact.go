package kfe

import (
	"cmp"
	"slices"

	"atenia/quila/config"
)

type hit struct {
	Label uint64
	Dot   float32
}

type index interface {
	Add(label uint64, v []float32) error
	Remove(label uint64) error
	Search(q []float32, k int, dst []hit) []hit
}

type scan struct {
	labels []uint64
	vecs   [][]float32
}

func newIndex(*config.Config) index { return &scan{} }

func (s *scan) Add(l uint64, v []float32) error {
	s.labels, s.vecs = append(s.labels, l), append(s.vecs, v)
	return nil
}
func (s *scan) Remove(l uint64) error {
	i := slices.Index(s.labels, l)
	s.labels, s.vecs = slices.Delete(s.labels, i, i+1), slices.Delete(s.vecs, i, i+1)
	return nil
}
func (s *scan) Search(q []float32, k int, dst []hit) []hit {
	for i, v := range s.vecs {
		dst = append(dst, hit{s.labels[i], dot(q, v)})
	}
	slices.SortStableFunc(dst, func(a, b hit) int { return cmp.Compare(b.Dot, a.Dot) })
	return dst[:min(k, len(dst))]
}
