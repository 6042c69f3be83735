package sxlm

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"slices"

	"atenia/internal/store/durable"
)

// Write replaces a file by a model, atomically: a reader, or the next start
// after a kill, finds the old file or the new one. It returns what the header
// says. Blocks are compressed one after the other straight into the file.
//
// The bytes depend on the model and the options alone. Options.StripOptimizer
// makes a file that cannot be trained.
func Write(ctx context.Context, path string, m *Model, o Options) (Info, error) {
	parts, err := m.blocks(&o)
	if err != nil {
		return Info{}, err
	}
	info := m.info(&o)
	err = durable.WriteFileAt(o.FS, path, func(f durable.File) error {
		at := info.DataStart
		all := sha256.New()
		for k := range parts {
			d := &info.Blocks[k]
			d.Offset, d.Raw = at, uint64(parts[k].size())
			if err := pack(ctx, f, d, parts[k], all, &o); err != nil {
				return fmt.Errorf("block %d: %w", k+1, err)
			}
			info.FileSize = d.Offset + d.Size
			at = (info.FileSize + align - 1) / align * align
		}
		info.Meta.Checkpoint = [32]byte(all.Sum(nil))
		h := info.header()
		info.HeaderLen = len(h)
		_, err := f.WriteAt(append(info.preamble(h), h...), 0)
		return err
	})
	return info, err
}

// info is the header before sizes and hashes are known.
func (m *Model) info(o *Options) Info {
	c := &m.Config
	info := Info{Meta: Meta{
		Neurons: uint32(c.N), Thinkers: uint32(c.Thinkers), Hidden: uint32(c.D), Persona: uint32(c.PersonaDim), Codebook: uint32(c.V),
		Edges: uint64(m.Graph.Edges()), CreatedAt: m.CreatedAt, Parent: m.Parent,
	}}
	for i := range m.Libraries {
		info.Meta.Entries += uint64(len(m.Libraries[i].Entries))
	}
	if m.Inference || o.StripOptimizer {
		info.Flags |= flagInference
	}
	if m.Teacherless {
		info.Flags |= flagCT
	}
	// The header has offsets that depend on its length: the region is sized for
	// the longest varints.
	worst := info
	worst.Meta.Checkpoint[0] = 1
	for k := range blocks {
		info.Blocks = append(info.Blocks, Block{ID: uint32(k + 1), Level: levels[k]})
		worst.Blocks = append(worst.Blocks, Block{ID: uint32(k + 1), Level: levels[k], Offset: math.MaxUint64, Size: math.MaxUint64, Raw: math.MaxUint64})
	}
	info.DataStart = uint64(preambleBytes+len(worst.header())+page-1) / page * page
	return info
}

// pack writes a block to its place and fills in its descriptor.
func pack(ctx context.Context, f durable.File, d *Block, c container, all hash.Hash, o *Options) error {
	one := sha256.New()
	var count counter
	buf := bufio.NewWriterSize(io.NewOffsetWriter(f, int64(d.Offset)), chunk)
	z, err := o.codec().Encoder(int(d.ID), int(d.Level), io.MultiWriter(buf, one, all, &count), int64(d.Raw))
	if err != nil {
		return err
	}
	if err := errors.Join(c.write(&until{ctx, z}), z.Close(), buf.Flush()); err != nil {
		return err
	}
	d.Size, d.SHA256 = uint64(count), [32]byte(one.Sum(nil))
	return nil
}

// A counter counts bytes.
type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// until writes until a context ends.
type until struct {
	ctx context.Context
	w   io.Writer
}

func (u *until) Write(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(b)
}

// blocks lays out the seven blocks of a model.
func (m *Model) blocks(o *Options) ([]container, error) {
	if err := m.Config.Check(); err != nil {
		return nil, err
	}
	k := kind(&m.Config)
	s := m.shape(k)
	s.inference = m.Inference || o.StripOptimizer
	var parts [blocks + 1][]named
	for _, r := range inventory(&m.Config, s) {
		t, err := m.tensor(r, o)
		if err != nil {
			return nil, err
		}
		parts[r.block] = append(parts[r.block], named{r.name, t})
	}
	for name, t := range m.Other {
		if free.MatchString(name) {
			parts[freeBlock(name)] = append(parts[freeBlock(name)], named{name, t})
		}
	}
	libs, err := newKFEL(m)
	if err != nil {
		return nil, err
	}
	return []container{newTSEC(parts[1]), newTSEC(parts[2]), &grph{m, k}, newTSEC(parts[4]), libs, newTSEC(parts[6]), newTSEC(parts[7])}, nil
}

// tensor is what a model has for a row of the inventory. Its shape is the
// model's, so a field of the wrong length is a fault of the caller.
func (m *Model) tensor(r row, o *Options) (*Tensor, error) {
	t := &Tensor{Kind: r.kind, Dims: r.dims}
	text := func(b []byte) { t.U8, t.Dims = b, []int{len(b)} }
	switch r.hold {
	case inWeights:
		t.F32 = m.Weights.Of(r.name)
	case inMask:
		t.U8 = mask(m.Weights.Of(r.name), m.Config.N, m.Config.D)
	case inState:
		t = m.States[r.name]
	case inOther:
		t = m.Other[r.name]
	case inMoments, inOptional:
		if x := m.Moments[r.name[len(momentM):]]; x != nil {
			if t.F32 = x.M; r.name[:len(momentV)] == momentV {
				t.F32 = x.V
			}
		}
	case inIgnored:
		t = ignored(r, &m.Config)
	case inPersona:
		t.F32 = m.Persona
	case inEngram:
		switch r.name {
		case "engram.table":
			t.F16 = m.Engram.Table
		case "engram.mul":
			t.U64 = m.Engram.Mul[:]
		case "engram.w_k":
			t.F32 = m.Engram.WK
		case "engram.w_v":
			t.F32 = m.Engram.WV
		}
	case inText:
		switch r.name {
		case "meta.config":
			text(m.configText())
		case "meta.writer":
			if text([]byte(o.Writer)); o.Writer == "" {
				text([]byte(writer))
			}
		case "tokenizer":
			text(m.Tokenizer)
		case "blink.index":
			text(m.Blink())
		case "s7.step":
			t = word(m.Step)
		case "codebook.sha256":
			t.U8 = m.sums()
		}
	}
	if t == nil {
		return nil, fmt.Errorf("sxlm: the model has no %s", r.name)
	}
	want := r.dims
	if r.hold == inText {
		want = t.Dims
	}
	got := len(t.F32) + len(t.F16) + len(t.U8) + len(t.U32) + len(t.U64)
	if t.present() && got != t.Len() || t.Kind != r.kind || !slices.Equal(t.Dims, want) {
		return nil, fmt.Errorf("sxlm: %s has %d values, %v %v, want %v %v", r.name, got, t.Kind, t.Dims, r.kind, want)
	}
	return t, nil
}
