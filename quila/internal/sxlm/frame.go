package sxlm

import (
	"encoding/binary"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A Codec compresses and decompresses blocks; nil in [Options] is zstd.
type Codec interface {
	// Decoder returns the raw bytes of a block's frame. Seven goroutines call it
	// at once, one a block.
	Decoder(block int, frame io.Reader) (io.ReadCloser, error)
	// Encoder returns a writer of so many raw bytes, whose Close ends the frame.
	Encoder(block, level int, frame io.Writer, raw int64) (io.WriteCloser, error)
}

// Zstd is the codec of the files. Other codecs wrap it.
var Zstd Codec = zstdCodec{}

// encoderVersion is the version of the encoder in go.mod, which meta.writer
// names.
const encoderVersion = "v1.20.3"

// writer is the content of meta.writer.
const writer = "atenia klauspost/compress/zstd " + encoderVersion + " 19=best 3=default"

// maxWindow is the largest window of a frame, 27 bits.
const maxWindow = 128 << 20

type zstdCodec struct{}

func (zstdCodec) Decoder(_ int, frame io.Reader) (io.ReadCloser, error) {
	d, err := zstd.NewReader(frame, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	return d.IOReadCloser(), nil
}

func (zstdCodec) Encoder(_, level int, frame io.Writer, raw int64) (io.WriteCloser, error) {
	kind := 0
	if level > 3 {
		kind |= bestEffort
	}
	// A frame of one segment is the only one that tells a size below 256.
	const small = 1 << 10
	if raw <= small {
		kind |= oneSegment
	}
	e, ok := encoders[kind].Get().(*zstd.Encoder)
	if !ok {
		var err error
		if e, err = newEncoder(kind); err != nil {
			return nil, err
		}
	}
	e.ResetContentSize(frame, raw)
	return &encoder{e, &encoders[kind]}, nil
}

// The kinds of encoders.
const (
	bestEffort = 1 << iota
	oneSegment
	encoderKinds
)

// encoders are those that are not in use, by kind: one of best effort has tables of
// 36 MB, which are cleared when it is made. What was encoded before is out of its
// reach: the bytes of a frame are those of a new encoder.
var encoders [encoderKinds]sync.Pool

func newEncoder(kind int) (*zstd.Encoder, error) {
	effort := zstd.SpeedDefault
	if kind&bestEffort != 0 {
		effort = zstd.SpeedBestCompression
	}
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(effort), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithSingleSegment(kind&oneSegment != 0))
}

// An encoder goes back to its pool when its frame has ended well.
type encoder struct {
	*zstd.Encoder
	pool *sync.Pool // nil once it is there
}

func (e *encoder) Close() error {
	if e.pool == nil {
		return nil
	}
	if err := e.Encoder.Close(); err != nil {
		return err
	}
	e.Reset(nil) // lets go of the writer
	e.pool.Put(e.Encoder)
	e.Encoder, e.pool = nil, nil
	return nil
}

const (
	frameMagic = 0xFD2FB528
	skipMagic  = 0x184D2A50 // and the next 15
)

// checkFrame reads the headers of a block's frame and of the pieces in it: one
// frame that fills the block, with content size and checksum, without a
// dictionary, with a window in bounds.
func checkFrame(r io.ReaderAt, d *Block) error {
	id, start, size := int(d.ID), int64(d.Offset), int64(d.Size)
	bad := func(at int64, format string, args ...any) error {
		return fault(StepFrames, id, start+at, format, args...)
	}
	var b [14]byte
	n := min(int64(len(b)), size)
	if _, err := r.ReadAt(b[:n], start); err != nil && err != io.EOF {
		return because(StepFrames, id, start, "reading the frame header", err)
	}
	const least = 4 + 1 + 1 + 3 + 4 // magic, descriptor, size, an empty piece, checksum
	m := binary.LittleEndian.Uint32(b[:])
	switch {
	case size < least:
		return bad(0, "%d bytes are no frame", size)
	case m&^15 == skipMagic:
		return bad(0, "a skippable frame")
	case m != frameMagic:
		return bad(0, "the magic of the frame is %#x", m)
	}
	flags := b[4]
	single := flags&32 != 0
	switch {
	case flags&3 != 0:
		return bad(4, "the frame wants a dictionary")
	case flags&4 == 0:
		return bad(4, "the frame has no checksum")
	case flags&8 != 0:
		return bad(4, "a reserved bit of the frame is set")
	case !single && flags>>6 == 0:
		return bad(4, "the frame has no content size")
	}
	at, window := int64(5), d.Raw
	if !single {
		base := uint64(1) << (10 + b[5]>>3)
		window = base + base/8*uint64(b[5]&7)
		at++
	}
	var content uint64
	switch flags >> 6 {
	case 0:
		content = uint64(b[at])
		at++
	case 1:
		content = uint64(binary.LittleEndian.Uint16(b[at:])) + 256
		at += 2
	case 2:
		content = uint64(binary.LittleEndian.Uint32(b[at:]))
		at += 4
	case 3:
		content = binary.LittleEndian.Uint64(b[at:])
		at += 8
	}
	switch {
	case content != d.Raw:
		return bad(4, "the frame has %d raw bytes, the descriptor %d", content, d.Raw)
	case window > maxWindow:
		return bad(5, "the window has %d bytes, at most %d", window, maxWindow)
	}
	return checkPieces(r, d, at)
}

// checkPieces walks over the zstd blocks of a frame, the first of which is at
// that byte of it.
func checkPieces(r io.ReaderAt, d *Block, at int64) error {
	id, start, size := int(d.ID), int64(d.Offset), int64(d.Size)
	const checksum = 4
	for last := false; !last; {
		var h [3]byte
		if at+int64(len(h))+checksum > size {
			return fault(StepFrames, id, start+at, "the frame is longer than the block")
		}
		if _, err := r.ReadAt(h[:], start+at); err != nil {
			return because(StepFrames, id, start+at, "reading the frame", err)
		}
		v := int64(h[0]) | int64(h[1])<<8 | int64(h[2])<<16
		last = v&1 != 0
		switch v >> 1 & 3 {
		case 0, 2:
			at += v >> 3
		case 1:
			at++ // one byte, repeated
		default:
			return fault(StepFrames, id, start+at, "a piece of a reserved type")
		}
		at += int64(len(h))
	}
	if at+checksum != size {
		return fault(StepFrames, id, start+at, "the frame ends %d bytes before the block", size-at-checksum)
	}
	return nil
}
