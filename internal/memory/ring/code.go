package ring

import (
	"context"
	"errors"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory/lane"
	"atenia/internal/store/blob"
)

// A code is a coded chunk of a span: it is read into a stage, from which it is
// decoded to its place.
type code struct {
	CodedChunk
	codec blob.Codec
	file  int    // index of the coded source
	dst   []byte // in the ring
	stage [2]int // by the parity of the pass
}

// Stages hold chunks that have been read and not decoded: some are read, others
// decoded.
const leastStages, mostStages = 1, 12

// Stages returns the memory that coded units take beside their places in a ring
// of a size, 0 if there is none for them.
func Stages(units []Unit, bytes int) int {
	n, size := stagesOf(units)
	room := bytes - Floor(units)
	if size == 0 || room < leastStages*size {
		return 0
	}
	return min(n, mostStages, room/size) * size
}

// stagesOf returns the number of chunks and the size of a stage: for the largest
// of them, or what it decodes to, from any offset of a file.
func stagesOf(units []Unit) (n, size int) {
	for _, u := range units {
		for i := range u {
			w := u[i].Coded
			if w == nil {
				continue
			}
			n += len(w.Chunks)
			size = max(size, pages(min(u[i].Bytes, codedChunkBytes))+PageBytes)
			for _, c := range w.Chunks {
				size = max(size, pages(c.Bytes))
			}
		}
	}
	return n, size
}

// codes divides a coded span into reads. The pieces keep where the file has the
// same bytes.
func codes(s *Span, view []byte) (out []piece) {
	at := 0
	for _, c := range s.Coded.Chunks {
		n := min(codedChunkBytes, len(view)-at)
		out = append(out, piece{
			file: s.File, offset: s.Offset + int64(at), need: n,
			code: &code{CodedChunk: c, codec: s.Coded.Codec, file: s.CodedFile, dst: view[at : at+n : at+n]},
		})
		at += n
	}
	return out
}

// A staging is what coded units need besides their places.
type staging struct {
	block   ledger.Block
	size    int
	tasks   []uint64 // by stage: the last task that uses it
	next    int      // stage
	idle    []*blob.Decoder
	damaged func(error)
	told    bool
}

// stage returns memory for a chunk.
func (s *staging) stage(i int) []byte { return s.block.Bytes[i*s.size:][:s.size] }

// openStages reserves the memory for chunks, if a unit has any.
func (r *Ring) openStages(c *Config) (err error) {
	n, size := stagesOf(c.Units)
	if n > 0 {
		n = max(1, min(n, mostStages, c.Stages/size))
		if r.staging.block, err = ledger.NewHugeBlock(c.Account, ledger.Streamed, n*size); err != nil {
			return err
		}
		touch(r.staging.block.Bytes)
	}
	r.staging.size, r.staging.tasks = size, make([]uint64, n)
	r.staging.damaged = c.Damaged
	return nil
}

// close frees the memory.
func (s *staging) close() {
	for _, d := range s.idle {
		d.Close()
	}
	s.block.Release()
}

// readCode reads a coded chunk into its stage. What could not be read shows
// when it is decoded.
func (r *Ring) readCode(p *piece, parity int) {
	mem := r.staging.stage(p.code.stage[parity])[:p.size()]
	if _, err := r.codes[p.code.file].ReadAt(mem, p.code.Offset); err != nil {
		mem[0]++ // perhaps the stage still has this chunk
	}
}

type decodes Ring

// Do decodes a chunk, or reads it from the file that has it as it is.
func (w *decodes) Do(_ context.Context, arg int) (err error) {
	r := (*Ring)(w)
	p := &r.pieces[arg/2]
	x := &r.units[p.unit].uses[arg%2]
	err = lane.ErrDropped
	defer func() { r.finish(p.unit, x, 0, err) }()
	if r.wanted(x, false) {
		err = errInterrupted
		err = r.decode(p, r.staging.stage(p.code.stage[arg%2]))
	}
	return err
}

// errDamaged is wrapped by what [Config.Damaged] is told.
var errDamaged = errors.New("checksum mismatch in coded weights")

// decode decodes what a stage holds of a piece.
func (r *Ring) decode(p *piece, stage []byte) error {
	c := p.code
	content, err := stage[:c.Bytes], error(nil)
	if got := checksum(content); got != c.Sum {
		err = &readError{r.codes[c.file].Name(), c.Offset, c.Bytes, errDamaged}
	} else {
		d := r.decoder()
		err = d.Decode(c.codec, c.dst, content)
		r.mu.Lock()
		r.staging.idle = append(r.staging.idle, d)
		r.mu.Unlock()
	}
	if err == nil {
		return nil
	}
	r.mu.Lock()
	told := r.staging.told
	r.staging.told = true
	r.mu.Unlock()
	if r.staging.damaged != nil && !told {
		r.staging.damaged(err)
	}
	before := int(p.offset % PageBytes)
	plain := piece{file: p.file, offset: p.offset - int64(before), mem: stage[:pages(before+p.need)], need: before + p.need}
	if err := plain.fetch(r.files, false); err != nil {
		return err
	}
	copy(c.dst, plain.mem[before:])
	return nil
}

// decoder takes an idle decoder.
func (r *Ring) decoder() *blob.Decoder {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.staging.idle)
	if n == 0 {
		return new(blob.Decoder)
	}
	d := r.staging.idle[n-1]
	r.staging.idle = r.staging.idle[:n-1]
	return d
}
