package sxlm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"atenia/quila/internal/index"
)

// checkBlink checks the B-link tree over the rows of codebooks: its order, high
// keys and links, as package blink does, and that its entries are those of the
// rows. Keys are modality << 32 | index.
func checkBlink(b []byte, books [][]float32, de int) error {
	t, err := index.ReadTree(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	rows := 0
	for _, book := range books {
		rows += len(book) / de
	}
	if t.Len() != rows {
		return fmt.Errorf("a tree of %d keys for %d rows", t.Len(), rows)
	}
	for m, book := range books {
		for i := range len(book) / de {
			key := blinkKey(m, i)
			e, ok := t.Get(key)
			if want := blinkEntry(book, i, de); !ok || e.Offset != want.Offset || e.Hash != want.Hash {
				return fmt.Errorf("key %#x has %+v, want %+v", key, e, want)
			}
		}
	}
	return nil
}

func blinkKey(modality, i int) uint64 { return uint64(modality)<<32 | uint64(i) }

// blinkEntry is the entry of a row that was never used.
func blinkEntry(book []float32, i, de int) index.TreeEntry {
	sum := sha256.Sum256(floatBytes(book[i*de : (i+1)*de]))
	return index.TreeEntry{Offset: uint64(4 * i * de), Hash: binary.LittleEndian.Uint64(sum[:])}
}

// buildBlink makes the tree of codebooks. usage has a count a row.
func buildBlink(books [][]float32, usage []uint64, de int) []byte {
	t := index.NewTree[index.TreeEntry]()
	k := 0
	for m, book := range books {
		for i := range len(book) / de {
			e := blinkEntry(book, i, de)
			if k < len(usage) {
				e.Usage = usage[k]
			}
			t.Put(blinkKey(m, i), e)
			k++
		}
	}
	return index.Append(nil, t)
}

// floatBytes is the form of float32 values in a file.
func floatBytes(x []float32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
