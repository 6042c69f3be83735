package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"atenia/tensor"

	"github.com/klauspost/compress/zstd"
	"github.com/zeebo/xxh3"
)

// mutateSnapshot changes a snapshot of training: values, or what its header
// says, with the sums that fit.
func mutateSnapshot(r random, data []byte) []byte {
	out := bytes.Clone(data)
	kept := r.chance(2) // the structure: only values and the note are changed
	if !kept {
		out = mutateSafetensors(r, data, nil)
	}
	if len(out) < 8 || le.Uint64(out) > uint64(len(out)-8) {
		return out
	}
	n := int(le.Uint64(out))
	header, body := out[8:8+n], out[8+n:]
	var entries map[string]json.RawMessage
	if json.Unmarshal(header, &entries) != nil {
		return out
	}
	var notes map[string]string
	if json.Unmarshal(entries["__metadata__"], &notes) != nil || notes == nil {
		return out
	}
	delete(entries, "__metadata__")
	if kept && len(body) > 0 && r.chance(2) {
		for range 1 + r.IntN(8) {
			body[r.IntN(len(body))] = byte(r.Uint32())
		}
	} else if kept {
		note := mutateJSON(r, []byte(notes["note"]), nil)
		notes["note"] = string(mutateText(r, note, nil))
	}
	sums := map[string]string{}
	var lines []string
	for name, raw := range entries {
		var t struct {
			DType   string       `json:"dtype"`
			Shape   tensor.Shape `json:"shape"`
			Offsets [2]int       `json:"data_offsets"`
		}
		if json.Unmarshal(raw, &t) != nil || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] || t.Offsets[1] > len(body) {
			return out
		}
		sums[name] = fmt.Sprintf("%016x", xxh3.Hash(body[t.Offsets[0]:t.Offsets[1]]))
		lines = append(lines, fmt.Sprintf("%q %v %v", name, t.DType, t.Shape))
	}
	slices.Sort(lines)
	table, _ := json.Marshal(sums)
	notes["sums"] = string(table)
	notes["check"] = fmt.Sprintf("%016x", xxh3.HashString(fmt.Sprintf("%q %q %q %q", notes["format"], notes["note"], table, lines)))
	entries["__metadata__"], _ = json.Marshal(notes)
	header, _ = json.Marshal(entries)
	header = padded(header)
	return append(append(le.AppendUint64(nil, uint64(len(header))), header...), body...)
}

// Of a model file of Quila: the preamble, and where its blocks begin.
const (
	sxlmPreamble = 64
	sxlmStart    = 4096
	sxlmBlocks   = 7
)

// mutateSXLM changes a block below its compression, or the header, and makes all
// hashes again.
func mutateSXLM(r random, data []byte) []byte {
	if len(data) < sxlmStart || string(data[:4]) != "SXLM" {
		return nil
	}
	size := int(le.Uint32(data[8:]))
	if size > len(data)-sxlmPreamble {
		return nil
	}
	header := parseProto(data[sxlmPreamble : sxlmPreamble+size])
	var frames [][]byte
	var blocks []*field
	for i := range header {
		if f := &header[i]; f.tag == 4<<3|2 {
			var at, n uint64
			for _, d := range parseProto(f.data) {
				switch d.tag >> 3 {
				case 2:
					at = d.value
				case 3:
					n = d.value
				}
			}
			if at > uint64(len(data)) || n > uint64(len(data))-at {
				return nil
			}
			frames, blocks = append(frames, data[at:at+n]), append(blocks, f)
		}
	}
	if len(frames) != sxlmBlocks {
		return nil
	}
	lie := map[int]uint64{}
	k := r.IntN(sxlmBlocks)
	raws := make([]uint64, sxlmBlocks)
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil
	}
	defer z.Close()
	for i, f := range frames {
		raw, err := z.DecodeAll(f, nil)
		if err != nil {
			return nil
		}
		if i == k && !r.chance(6) {
			raw = mutateBytes(r, raw, nil)
			w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(len(raw) < 1024))
			if err != nil {
				return nil
			}
			frames[i] = w.EncodeAll(raw, nil)
		}
		raws[i] = uint64(len(raw))
	}
	if r.chance(8) {
		lie[k] = r.number(raws[k])
	}
	at, all := uint64(sxlmStart), sha256.New()
	offsets := make([]uint64, sxlmBlocks)
	for i, f := range frames {
		one := sha256.Sum256(f)
		all.Write(f)
		parts := parseProto(blocks[i].data)
		for j := range parts {
			switch d := &parts[j]; d.tag >> 3 {
			case 2:
				d.value = at
			case 3:
				d.value = uint64(len(f))
			case 4:
				if d.value = raws[i]; lie[i] != 0 {
					d.value = lie[i]
				}
			case 6:
				d.data = one[:]
			}
		}
		blocks[i].data = encodeProto(parts)
		offsets[i] = at
		at = (at + uint64(len(f)) + 63) / 64 * 64
	}
	for i := range header {
		if f := &header[i]; f.tag == 3<<3|2 {
			parts := parseProto(f.data)
			for j := range parts {
				if parts[j].tag>>3 == 9 {
					parts[j].data = all.Sum(nil)
				} else if parts[j].tag&7 == 0 && r.chance(40) {
					parts[j].value = r.number(parts[j].value)
				}
			}
			f.data = encodeProto(parts)
		}
	}
	head := encodeProto(header)
	total := offsets[sxlmBlocks-1] + uint64(len(frames[sxlmBlocks-1]))
	out := make([]byte, total)
	copy(out, data[:sxlmPreamble])
	le.PutUint32(out[8:], uint32(len(head)))
	le.PutUint64(out[24:], total)
	sum := sha256.Sum256(head)
	copy(out[32:], sum[:])
	if len(head) > sxlmStart-sxlmPreamble {
		return bytes.Clone(data)
	}
	copy(out[sxlmPreamble:], head)
	for i, f := range frames {
		copy(out[offsets[i]:], f)
	}
	return out
}
