package sxlm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	panics "atenia/internal/fault"
	"atenia/internal/machine/ledger"
	"atenia/internal/store/durable"
)

// Options say how files are read and written. The zero value is the default.
type Options struct {
	// MaxRaw bounds the raw bytes of a block; 0 is eight times its compressed size
	// and 64 MiB.
	MaxRaw int64
	// Account is the memory that receives a model; nil is that of the process.
	Account *ledger.Account
	// AllowNaN accepts values that are not finite.
	AllowNaN bool
	// Thinkers is how many the caller wants to run with; more than the file has is
	// an error, 0 is as many as it has.
	Thinkers int
	// Train says that the caller is going to train the model: a file without
	// optimizer state is an error.
	Train bool

	// StripOptimizer writes no optimizer state; the file is for inference only.
	StripOptimizer bool
	// Writer replaces the name of the encoder in meta.writer.
	Writer string
	// Codec replaces zstd.
	Codec Codec
	// FS is the file system that is written to; nil is the operating system's.
	FS durable.FS
}

func (o *Options) account() *ledger.Account {
	if o.Account == nil {
		return ledger.Process
	}
	return o.Account
}

func (o *Options) codec() Codec {
	if o.Codec == nil {
		return Zstd
	}
	return o.Codec
}

// Read loads a model from a file, or fails with an [*Error] and loads nothing.
func Read(ctx context.Context, path string, o Options) (*Model, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return Parse(ctx, f, size, o)
}

// open opens a file and returns its size.
func open(path string) (*os.File, int64, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

// Parse is [Read] for content of so many bytes.
func Parse(ctx context.Context, r io.ReaderAt, size int64, o Options) (*Model, error) {
	info, err := Verify(ctx, r, size, o)
	if err != nil {
		return nil, err
	}
	return info.load(ctx, r, o)
}

// load runs steps 6 to 8 on a file whose hashes were verified.
func (info *Info) load(ctx context.Context, r io.ReaderAt, o Options) (*Model, error) {
	sink, err := inMemory(info, &o)
	if err != nil {
		return nil, err
	}
	defer sink.release()
	if err := unpack(ctx, r, info, &o, sink.write); err != nil {
		return nil, err
	}
	l := &loader{info: info, opt: &o, raw: sink.raws()}
	return l.load(ctx)
}

// load runs steps 7 and 8.
func (l *loader) load(ctx context.Context) (*Model, error) {
	if err := l.containers(); err != nil {
		return nil, err
	}
	if err := l.contents(ctx); err != nil {
		l.m.Close()
		return nil, err
	}
	if err := l.agree(); err != nil {
		l.m.Close()
		return nil, err
	}
	return l.m, nil
}

// wanted compares the model with what the caller is going to do with it.
func (l *loader) wanted() error {
	switch {
	case l.opt.Thinkers > l.m.Config.Thinkers:
		return fmt.Errorf("sxlm: %d Thinkers, the model has %d, which is fixed", l.opt.Thinkers, l.m.Config.Thinkers)
	case l.opt.Train && l.m.Inference:
		return errInference
	}
	return nil
}

// Header runs steps 1 to 4: what the header of a file says, checked against its
// size but not against the content of its blocks.
func Header(r io.ReaderAt, size int64, o Options) (*Info, error) {
	info, sum, err := readPreamble(r, size)
	if err != nil {
		return nil, err
	}
	return info, info.readHeader(r, sum, &o)
}

// readPreamble is step 1; it returns the hash of the header.
func readPreamble(r io.ReaderAt, size int64) (*Info, [32]byte, error) {
	var b [preambleBytes]byte
	if size < preambleBytes {
		return nil, [32]byte{}, fault(StepPreamble, 0, size, "%d bytes are less than a preamble", size)
	}
	if _, err := r.ReadAt(b[:], 0); err != nil {
		return nil, [32]byte{}, because(StepPreamble, 0, 0, "reading", err)
	}
	return decodePreamble(b[:], size)
}

// readHeader is steps 2 to 4.
func (i *Info) readHeader(r io.ReaderAt, sum [32]byte, o *Options) error {
	h := make([]byte, i.HeaderLen)
	if _, err := r.ReadAt(h, preambleBytes); err != nil {
		return because(StepHeaderHash, 0, preambleBytes, "reading the header", err)
	}
	if got := sha256.Sum256(h); got != sum {
		return fault(StepHeaderHash, 0, 32, "the header has the SHA-256 %x, want %x", got, sum)
	}
	if err := i.decode(h); err != nil {
		return err
	}
	if err := i.checkBlocks(o.MaxRaw, o.account().Free()); err != nil {
		return err
	}
	end := uint64(preambleBytes + i.HeaderLen)
	for k := range i.Blocks {
		d := &i.Blocks[k]
		if err := checkPadding(r, int64(end), int64(d.Offset)); err != nil {
			return err
		}
		end = d.Offset + d.Size
	}
	return nil
}

// checkPadding reports a byte between two places that is not zero.
func checkPadding(r io.ReaderAt, from, to int64) error {
	var buf [page]byte
	for from < to {
		b := buf[:min(int64(len(buf)), to-from)]
		if _, err := r.ReadAt(b, from); err != nil {
			return because(StepDescriptors, 0, from, "reading", err)
		}
		for i, x := range b {
			if x != 0 {
				return fault(StepDescriptors, 0, from+int64(i), "the byte %#x in padding", x)
			}
		}
		from += int64(len(b))
	}
	return nil
}

// Verify runs steps 1 to 5: what the header says, and every hash. It allocates
// the header and a buffer.
func Verify(ctx context.Context, r io.ReaderAt, size int64, o Options) (*Info, error) {
	info, err := Header(r, size, o)
	if err != nil {
		return nil, err
	}
	return info, info.hashes(ctx, r)
}

// hashes is step 5.
func (i *Info) hashes(ctx context.Context, r io.ReaderAt) error {
	all := sha256.New()
	buf := make([]byte, chunk)
	for k := range i.Blocks {
		d := &i.Blocks[k]
		one := sha256.New()
		for at, end := int64(d.Offset), int64(d.Offset+d.Size); at < end; {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := buf[:min(int64(len(buf)), end-at)]
			if _, err := r.ReadAt(b, at); err != nil {
				return because(StepHashes, int(d.ID), at, "reading", err)
			}
			one.Write(b)
			all.Write(b)
			at += int64(len(b))
		}
		if [32]byte(one.Sum(nil)) != d.SHA256 {
			return fault(StepHashes, int(d.ID), int64(d.Offset), "the block has the SHA-256 %x, want %x", one.Sum(nil), d.SHA256)
		}
	}
	if [32]byte(all.Sum(nil)) != i.Meta.Checkpoint {
		return fault(StepHashes, 0, int64(i.DataStart), "the blocks have the SHA-256 %x, want %x", all.Sum(nil), i.Meta.Checkpoint)
	}
	return nil
}

// unpack is step 6: the frames of all blocks, each in a goroutine of its own,
// through a codec into sink, which gets exactly as many bytes as the descriptor
// says.
func unpack(ctx context.Context, r io.ReaderAt, info *Info, o *Options, sink func(block int, raw io.Reader) error) error {
	for k := range info.Blocks {
		if err := checkFrame(r, &info.Blocks[k]); err != nil {
			return err
		}
	}
	var errs [blocks]error
	var wg panics.Group
	for k := range info.Blocks {
		wg.Go(func() {
			d := &info.Blocks[k]
			err := unpackBlock(ctx, io.NewSectionReader(r, int64(d.Offset), int64(d.Size)), d, o, sink)
			if err != nil && !errors.Is(err, ErrFile) && ctx.Err() == nil {
				err = because(StepFrames, int(d.ID), int64(d.Offset), "decompression", err)
			}
			errs[k] = err
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func unpackBlock(ctx context.Context, frame io.Reader, d *Block, o *Options, sink func(block int, raw io.Reader) error) (err error) {
	z, err := o.codec().Decoder(int(d.ID), frame)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	if err := sink(int(d.ID), &limited{ctx: ctx, r: z, left: int64(d.Raw)}); err != nil {
		return err
	}
	var one [1]byte
	switch n, err := z.Read(one[:]); {
	case n > 0:
		return fault(StepFrames, int(d.ID), int64(d.Offset), "more than %d raw bytes", d.Raw)
	case err != nil && err != io.EOF:
		return err // such as a wrong checksum
	}
	return nil
}

// limited reads at most so many bytes, until a context ends.
type limited struct {
	ctx  context.Context
	r    io.Reader
	left int64
}

func (l *limited) Read(b []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	if l.left == 0 {
		return 0, io.EOF
	}
	n, err := l.r.Read(b[:min(int64(len(b)), l.left)])
	l.left -= int64(n)
	return n, err
}

// A memory sink keeps raw blocks in reserved memory.
type memory struct {
	held ledger.Reservation
	raw  [blocks][]byte
}

// inMemory reserves and allocates the raw blocks of a file.
func inMemory(info *Info, o *Options) (*memory, error) {
	var sum int64
	for _, d := range info.Blocks {
		sum += int64(d.Raw) // each is at most what is free
		if sum < 0 {
			return nil, fault(StepFrames, int(d.ID), 0, "the raw sizes overflow")
		}
	}
	held, err := o.account().Reserve(ledger.Scratch, sum)
	if err != nil {
		return nil, because(StepFrames, 0, 0, "memory of the raw blocks", err)
	}
	m := &memory{held: held}
	for k, d := range info.Blocks {
		m.raw[k] = make([]byte, d.Raw)
	}
	return m, nil
}

func (m *memory) write(block int, r io.Reader) error {
	_, err := io.ReadFull(r, m.raw[block-1])
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func (m *memory) raws() (out [blocks]raw) {
	for k, b := range m.raw {
		out[k] = raw{k + 1, bytes.NewReader(b), int64(len(b))}
	}
	return out
}

func (m *memory) release() { m.held.Release() }
