package sxlm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"atenia/quila/config"
	"atenia/quila/internal/index"
	"atenia/quila/internal/weights"
	"atenia/tensor"
)

// checkImage checks the index of a library: every link and level, as package
// hnsw does, and that its vectors and labels are those of the entries.
func checkImage(b []byte, entries []Entry, c *config.Config) error {
	const countAt = 16 // of the elements, tombstones among them
	if len(b) >= countAt+8 {
		if n := binary.LittleEndian.Uint64(b[countAt:]); n != uint64(len(entries)) {
			return fmt.Errorf("an index of %d elements for %d entries", n, len(entries))
		}
	}
	x, err := index.ReadGraph(bytes.NewReader(b), int64(len(b)), index.GraphConfig{Dim: c.D})
	if err != nil {
		return err
	}
	defer x.Release()
	switch {
	case x.Len() != len(entries):
		return fmt.Errorf("%d of %d elements are deleted", len(entries)-x.Len(), len(entries))
	case x.Config().M != c.HNSWM:
		return fmt.Errorf("an index with M = %d, want %d", x.Config().M, c.HNSWM)
	}
	var v []float32
	for i := range entries {
		if v, err = x.Vector(v[:0], entries[i].ID); err != nil {
			return err
		}
		for k, h := range entries[i].Embedding {
			if math.Float32bits(v[k]) != math.Float32bits(tensor.F16ToF32(h)) {
				return fmt.Errorf("the vector of entry %#x is not its embedding", entries[i].ID)
			}
		}
	}
	return nil
}

// newImage builds the index of a library.
func newImage(lib *Library, c *config.Config) ([]byte, error) {
	x, err := index.NewGraph(index.GraphConfig{Dim: c.D, M: c.HNSWM, EfConstruction: c.HNSWEFC, Stream: weights.Stream{Neuron: lib.Neuron, Site: weights.InitSite}})
	if err != nil {
		return nil, err
	}
	defer x.Release()
	v := make([]float32, c.D)
	for i := range lib.Entries {
		for k, h := range lib.Entries[i].Embedding {
			v[k] = tensor.F16ToF32(h)
		}
		if err := x.Add(lib.Entries[i].ID, v); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	_, err = x.Write(&out)
	return out.Bytes(), err
}
