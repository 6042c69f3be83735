package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"

	"atenia/tensor"
)

// tableBits is the size of a table of normal values. Drawing from it costs a
// few bits and one load for each weight instead of logarithms; matrix products
// are unaffected.
const tableBits = 12

// table holds normal values of deviation d in the file's element type. Their
// mean is exactly zero before rounding: every value stands there with both
// signs.
func table(rng *rand.Rand, d tensor.DType, deviation float64) []uint16 {
	half := tensor.F32ToBF16
	if d == tensor.F16 {
		half = tensor.F32ToF16
	}
	t := make([]uint16, 1<<tableBits)
	for i := 0; i < len(t); i += 2 {
		x := float32(rng.NormFloat64() * deviation)
		t[i], t[i+1] = half(x), half(-x)
	}
	return t
}

// fill draws len(dst)/2 values.
func fill(dst []byte, src rand.Source, t []uint16) {
	const per = 64 / tableBits
	for len(dst) > 0 {
		bits := src.Uint64()
		for range min(per, len(dst)/2) {
			binary.LittleEndian.PutUint16(dst, t[bits%(1<<tableBits)])
			dst, bits = dst[2:], bits>>tableBits
		}
	}
}

// pieceBytes is the size of the pieces that goroutines generate.
const pieceBytes = 1 << 20

// writeWeights writes a safetensors file: the length of a JSON header, the
// header, and the data in its order. Each piece has a generator of its own, so
// that the bytes do not depend on the number of goroutines.
func writeWeights(w io.Writer, ws []weight, d tensor.DType, seed uint64) error {
	var header strings.Builder
	header.WriteString(`{"__metadata__":{"format":"pt"}`)
	offset := 0
	for _, t := range ws {
		n, err := t.shape.Bytes(d)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		shape, _ := json.Marshal(t.shape)
		fmt.Fprintf(&header, `,%q:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, t.name, strings.ToUpper(d.String()), shape, offset, offset+n)
		offset += n
	}
	header.WriteByte('}')
	for header.Len()%8 != 0 {
		header.WriteByte(' ')
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(header.Len()))); err != nil {
		return err
	}
	if _, err := io.WriteString(w, header.String()); err != nil {
		return err
	}
	for i := range ws {
		if err := ws[i].write(w, d, seed, uint64(i)); err != nil {
			return err
		}
	}
	return nil
}

// write makes a tensor in pieces, as many at once as there are processors.
func (t *weight) write(w io.Writer, d tensor.DType, seed, index uint64) error {
	values := table(rand.New(rand.NewPCG(seed, index)), d, t.deviation)
	if t.constant != 0 {
		half := tensor.F32ToBF16(t.constant)
		if d == tensor.F16 {
			half = tensor.F32ToF16(t.constant)
		}
		for i := range values {
			values[i] = half
		}
	}
	left, err := t.shape.Bytes(d)
	if err != nil {
		return err
	}
	slab := make([]byte, min(left, pieceBytes*runtime.GOMAXPROCS(0)))
	for piece := uint64(0); left > 0; {
		out := slab[:min(left, len(slab))]
		var wg sync.WaitGroup
		for at := 0; at < len(out); at += pieceBytes {
			part := out[at:min(at+pieceBytes, len(out))]
			piece++
			src := rand.NewPCG(seed^index<<32, piece)
			wg.Go(func() { fill(part, src, values) })
		}
		wg.Wait()
		if _, err := w.Write(out); err != nil {
			return err
		}
		left -= len(out)
	}
	return nil
}
