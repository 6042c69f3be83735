package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"atenia/quila/internal/sxlm"
)

// A vector is a damaged file of section 6.4.
type vector struct {
	name  string
	step  sxlm.Step // that has to refuse it
	forge func(f *forge)
}

// check builds the file of a vector and reports what is wrong with how it is
// refused.
func (v *vector) check(good []byte) error {
	f, err := newForge(good)
	if err != nil {
		return err
	}
	v.forge(f)
	file := f.build()
	m, err := sxlm.Parse(context.Background(), bytes.NewReader(file), int64(len(file)), sxlm.Options{})
	if err == nil {
		m.Close()
		return fmt.Errorf("%s: it was loaded", v.name)
	}
	e, ok := errors.AsType[*sxlm.Error](err)
	if !ok || !errors.Is(err, sxlm.ErrFile) {
		return fmt.Errorf("%s: %v is not an *sxlm.Error", v.name, err)
	}
	if e.Step != v.step {
		return fmt.Errorf("%s: refused by %v, want step %d", v.name, err, v.step)
	}
	return nil
}

// vectors are all of section 6.4, in its order.
func vectors() (list []vector) {
	add := func(name string, step sxlm.Step, forge func(f *forge)) {
		list = append(list, vector{name, step, forge})
	}
	preambleVectors(add)
	headerVectors(add)
	descriptorVectors(add)
	hashVectors(add)
	frameVectors(add)
	indexVectors(add)
	inventoryVectors(add)
	graphVectors(add)
	libraryVectors(add)
	return list
}

type adder func(name string, step sxlm.Step, forge func(f *forge))

func preambleVectors(add adder) {
	head := func(change func(b []byte)) func(f *forge) { return func(f *forge) { f.onHead = change } }
	file := func(change func(b []byte) []byte) func(f *forge) { return func(f *forge) { f.onFile = change } }
	add("magic byte", sxlm.StepPreamble, head(func(b []byte) { b[2] ^= 1 }))
	add("version 0", sxlm.StepPreamble, head(func(b []byte) { le.PutUint32(b[4:], 0) }))
	add("version 2", sxlm.StepPreamble, head(func(b []byte) { le.PutUint32(b[4:], 2) }))
	add("header_len 0", sxlm.StepPreamble, head(func(b []byte) { le.PutUint32(b[8:], 0) }))
	add("header_len above 16 MiB", sxlm.StepPreamble, head(func(b []byte) { le.PutUint32(b[8:], 16<<20+1) }))
	add("header_len beyond the end", sxlm.StepPreamble, head(func(b []byte) { le.PutUint32(b[8:], 8<<20) }))
	add("header bit flipped", sxlm.StepHeaderHash, file(func(b []byte) []byte { b[64+30] ^= 4; return b }))
	add("trailing bytes", sxlm.StepPreamble, file(func(b []byte) []byte { return append(b, 0) }))
	add("truncated by 1", sxlm.StepPreamble, file(func(b []byte) []byte { return b[:len(b)-1] }))
	add("data_start no multiple of 4096", sxlm.StepPreamble, head(func(b []byte) { le.PutUint64(b[16:], 4096+64) }))
	add("padding not zero", sxlm.StepDescriptors, file(func(b []byte) []byte { b[4095] = 1; return b }))
	add("inner magic differs", sxlm.StepFields, func(f *forge) { f.magic = "SXLN" })
}

func headerVectors(add adder) {
	blocks := func(change func(b [][]part) [][]part) func(f *forge) { return func(f *forge) { f.onBlocks = change } }
	add("6 descriptors", sxlm.StepDescriptors, blocks(func(b [][]part) [][]part { return b[:6] }))
	add("8 descriptors", sxlm.StepDescriptors, blocks(func(b [][]part) [][]part { return append(b, set(slices.Clone(b[6]), part{number: 1, value: 8})) }))
	add("duplicate id", sxlm.StepDescriptors, blocks(func(b [][]part) [][]part { b[3][0].value = 3; return b }))
	add("missing id", sxlm.StepDescriptors, blocks(func(b [][]part) [][]part { b[6][0].value = 8; return b }))
	add("unordered ids", sxlm.StepDescriptors, blocks(func(b [][]part) [][]part { b[1], b[2] = b[2], b[1]; return b }))
}

func descriptorVectors(add adder) {
	block := func(k int, change func(b []part)) func(f *forge) {
		return func(f *forge) { f.onBlocks = func(b [][]part) [][]part { change(b[k-1]); return b } }
	}
	step := sxlm.StepDescriptors
	add("offset overlaps", step, block(2, func(b []part) { b[1].value -= 64 }))
	add("offset in the header", step, block(1, func(b []part) { b[1].value = 64 }))
	add("offset past the end", step, block(7, func(b []part) { b[1].value += 1 << 30 }))
	add("offset misaligned", step, block(3, func(b []part) { b[1].value += 8 }))
	add("offset and size wrap", step, block(7, func(b []part) { b[2].value = math.MaxUint64 - b[1].value + 1 + 4096 }))
	add("size_bytes 0", step, block(4, func(b []part) { b[2].value = 0 }))
	add("raw_size differs from the frame", sxlm.StepFrames, block(2, func(b []part) { b[3].value++ }))
	add("raw_size is a bomb", step, func(f *forge) {
		// 1 MiB of memory in 32 bytes of frame: 128 MiB in 4 KiB.
		const pieces, piece = 1024, 128 << 10
		z := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x84, 56} // checksum, content size in 4 bytes, window 128 KiB
		z = le.AppendUint32(z, pieces*piece)
		for i := range pieces {
			h := uint32(piece<<3 | 1<<1)
			if i == pieces-1 {
				h |= 1
			}
			z = append(z, byte(h), byte(h>>8), byte(h>>16), 0)
		}
		f.frames[5] = append(z, 0, 0, 0, 0)
		f.onBlocks = func(b [][]part) [][]part { b[5][3].value = pieces * piece; return b }
	})
	add("level of block 5 is not 3", step, block(5, func(b []part) { b[4].value = 19 }))
}

func hashVectors(add adder) {
	for k := range 7 {
		add(fmt.Sprintf("bit of block %d flipped", k+1), sxlm.StepHashes, func(f *forge) {
			at := 4096
			for _, z := range f.frames[:k] {
				at = (at + len(z) + 63) / 64 * 64
			}
			at += len(f.frames[k]) / 2
			f.onFile = func(b []byte) []byte { b[at] ^= 16; return b }
		})
	}
	add("blocks 1 and 2 swapped, descriptors fixed", sxlm.StepHashes, func(f *forge) {
		var before []byte
		f.onSum = func([]byte) []byte { return before }
		good := *f
		good.onSum = func(sum []byte) []byte { before = sum; return sum }
		good.build()
		f.frames[0], f.frames[1] = f.frames[1], f.frames[0]
		f.raw[0], f.raw[1] = f.raw[1], f.raw[0]
	})
}

func frameVectors(add adder) {
	frame := func(k int, change func(z []byte) []byte) func(f *forge) {
		return func(f *forge) { f.frames[k-1] = change(bytes.Clone(f.frames[k-1])) }
	}
	step := sxlm.StepFrames
	add("corrupt frame with valid hashes", step, frame(4, func(z []byte) []byte { z[len(z)/2] ^= 0x55; return z }))
	add("two frames", step, frame(6, func(z []byte) []byte { return append(z, compress(nil, true)...) }))
	add("skippable frame", step, frame(6, func(z []byte) []byte {
		return append([]byte{0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}, z...)
	}))
	add("dictionary id", step, frame(2, func(z []byte) []byte { z[4] |= 1; return slices.Insert(z, 6, 7) }))
	add("window of 31 bits", step, func(f *forge) {
		z := bytes.Clone(compress(f.raw[1], true))
		if z[4]&32 != 0 { // a single segment has no window: give it one
			z[4] &^= 32
			z = slices.Insert(z, 5, 0)
		}
		z[5] = (31 - 10) << 3
		f.frames[1] = z
	})
	add("no content checksum", step, func(f *forge) { f.frames[3] = compress(f.raw[3], false) })
}

func indexVectors(add adder) {
	step := sxlm.StepContainers
	add("tensor name twice", step, func(f *forge) {
		f.arrays(1, func(l []array) []array { return slices.Insert(l, 1, l[0]) })
	})
	add("tensor names unsorted", step, func(f *forge) {
		f.arrays(1, func(l []array) []array { l[0], l[1] = l[1], l[0]; return l })
	})
	add("tensor name not UTF-8", step, func(f *forge) { f.array(7, "persona", func(a *array) { a.name = "persona\xff" }) })
	add("tensor past the payload", step, func(f *forge) {
		f.arrays(6, func(l []array) []array {
			l[3].data = l[3].data[:len(l[3].data)-64]
			l[3].lie = func(_, n *uint64) { *n += 64 }
			return l
		})
	})
	add("element type 7", step, func(f *forge) { f.array(7, "persona", func(a *array) { a.kind = 7 }) })
	add("tensor length neither 0 nor product", step, func(f *forge) {
		f.array(7, "persona", func(a *array) { a.data = append(a.data, 0, 0, 0, 0) })
	})
	add("dimensions overflow", step, func(f *forge) {
		f.array(6, "engram.table", func(a *array) { a.dims, a.data = []uint64{1 << 33, 1 << 33}, nil })
	})
	add("elided tensor beyond the budget", step, func(f *forge) {
		f.array(6, "engram.table", func(a *array) { a.dims, a.data = []uint64{1 << 50, 64}, nil })
	})
	add("NaN in a parameter", sxlm.StepContents, func(f *forge) {
		f.array(1, "n.nsa", func(a *array) { le.PutUint32(a.data[400:], math.Float32bits(float32(math.NaN()))) })
	})
}

func inventoryVectors(add adder) {
	drop := func(block int, name string) func(f *forge) {
		return func(f *forge) {
			f.arrays(block, func(l []array) []array { return slices.DeleteFunc(l, func(a array) bool { return a.name == name }) })
		}
	}
	text := func(a *array, b []byte) { a.data, a.dims = b, []uint64{uint64(len(b))} }
	step := sxlm.StepContainers
	add("meta.config missing", step, drop(1, "meta.config"))
	add("meta.config not canonical", step, func(f *forge) {
		f.array(1, "meta.config", func(a *array) { text(a, bytes.Replace(a.data, []byte(`":`), []byte(`": `), 1)) })
	})
	add("meta.config at odds with the meta data", sxlm.StepContents, func(f *forge) { f.meta = set(f.meta, part{number: 5, value: 265}) })
	add("meta.config at odds with a tensor", step, func(f *forge) {
		f.array(1, "meta.config", func(a *array) {
			var c map[string]any
			if err := json.Unmarshal(a.data, &c); err != nil {
				panic(err) // the file was loaded
			}
			text(a, bytes.Replace(a.data, []byte(`"N_s":4`), []byte(`"N_s":5`), 1))
		})
	})
	add("tensor missing", step, drop(1, "n.gate"))
	add("tensor unknown", step, func(f *forge) {
		f.arrays(1, func(l []array) []array {
			return append(l, array{name: "z", dims: []uint64{1}, data: []byte{1, 2, 3, 0}})
		})
	})
	add("neuron_count is not the rows", sxlm.StepContents, func(f *forge) { f.meta = set(f.meta, part{number: 1, value: 9}) })
}

// Places in block 3 of a network of 8 neurons and 24 edges.
const (
	graphRows = 32
	graphDst  = graphRows + 8*9
)

func graphVectors(add adder) {
	step := sxlm.StepContents
	add("graph_edge_count is not the edges", sxlm.StepContainers, func(f *forge) { f.meta = set(f.meta, part{number: 7, value: 25}) })
	add("kfe_count is not the entries", step, func(f *forge) { f.meta = set(f.meta, part{number: 6, value: 7}) })
	add("entries are not those of the index", step, func(f *forge) {
		// the index says two elements and is as long as two
		f.edit(5, func([]byte) {})
		f.change(5, dropElement(f.raw[4]))
	})
	add("target out of range", step, func(f *forge) { f.edit(3, func(b []byte) { le.PutUint32(b[graphDst+8:], 8) }) })
	add("self loop", step, func(f *forge) { f.edit(3, func(b []byte) { le.PutUint32(b[graphDst:], 0) }) })
	add("edge twice", step, func(f *forge) { f.edit(3, func(b []byte) { le.PutUint32(b[graphDst+4:], le.Uint32(b[graphDst:])) }) })
	add("rows not monotone", step, func(f *forge) { f.edit(3, func(b []byte) { le.PutUint64(b[graphRows+8:], 7) }) })
	add("kernels too short", sxlm.StepContainers, func(f *forge) { f.change(3, f.raw[2][:len(f.raw[2])-4]) })
	add("persona length is not persona_dim", sxlm.StepContainers, func(f *forge) {
		f.array(7, "persona", func(a *array) { a.dims, a.data = []uint64{7}, a.data[:28] })
	})
	add("hash of 31 bytes", sxlm.StepFields, func(f *forge) {
		f.onBlocks = func(b [][]part) [][]part { b[2][5].data = b[2][5].data[:31]; return b }
	})
	add("thinker_n 0", sxlm.StepFields, func(f *forge) { f.meta = set(f.meta, part{number: 2}) })
	add("hidden_dim 0", sxlm.StepFields, func(f *forge) { f.meta = set(f.meta, part{number: 3}) })
	add("created_at negative", sxlm.StepFields, func(f *forge) { f.meta = set(f.meta, part{number: 8, value: math.MaxUint64}) })
}

// dropElement removes the last element of the first library's index, which then
// is a good index of one entry less.
func dropElement(raw []byte) []byte {
	body, image := int(le.Uint64(raw[28:])), int(le.Uint64(raw[36:]))
	at := 44 + body
	b := bytes.Clone(raw)
	size := int(le.Uint64(b[at+24:]))
	n := int(le.Uint64(b[at+16:]))
	le.PutUint64(b[at+8:], uint64(n-1))
	le.PutUint64(b[at+16:], uint64(n-1))
	for i := range n - 1 { // links to the removed element
		le.PutUint16(b[at+96+i*size:], 1)
		le.PutUint32(b[at+96+i*size+4:], uint32(1-i))
	}
	le.PutUint64(b[36:], uint64(image-size-4))
	end := at + image
	b = slices.Delete(b, end-4, end)
	return slices.Delete(b, at+96+(n-1)*size, at+96+n*size)
}

func libraryVectors(add adder) {
	// image gives the index of the first library.
	image := func(change func(b []byte, size int)) func(f *forge) {
		return func(f *forge) {
			f.edit(5, func(b []byte) {
				at := 44 + int(le.Uint64(b[28:]))
				change(b[at:], int(le.Uint64(b[at+24:])))
			})
		}
	}
	step := sxlm.StepContents
	add("link past the elements", step, image(func(b []byte, _ int) { le.PutUint32(b[96+4:], 3) }))
	add("33 links on level 0", step, image(func(b []byte, _ int) { le.PutUint16(b[96:], 33) }))
	add("entry point below the top level", step, image(func(b []byte, _ int) { le.PutUint32(b[48:], 1) }))
	add("label twice", step, image(func(b []byte, size int) { copy(b[96+2*size-8:96+2*size], b[96+size-8:96+size]) }))
	add("unknown field", sxlm.StepFields, func(f *forge) {
		f.onHeader = func(h []byte) []byte { return append(h, 5<<3, 1) }
	})
	add("varint not minimal", sxlm.StepFields, func(f *forge) {
		// The level of block 7 as 93 00: its descriptor is one byte longer.
		f.onHeader = func(h []byte) []byte {
			start, level := bytes.LastIndex(h, []byte{8, 7, 2 << 3}), bytes.LastIndex(h, []byte{5 << 3, 19, 6<<3 | 2})
			h = slices.Insert(bytes.Clone(h), level+2, 0)
			h[level+1] |= 0x80
			h[start-1]++
			return h
		}
	})
}
