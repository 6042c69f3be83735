package blob

import (
	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

// A Decoder decodes into memory of the caller and keeps its scratch: the second
// call for data of one size allocates nothing. Its zero value is ready to use,
// by one goroutine at a time.
type Decoder struct {
	exps   []byte // of a block of PlaneHuff
	huff   *huff0.Scratch
	frames *zstd.Decoder
	parts  []byte // planes of PlaneZstd
}

// Decode fills dst with what is encoded in content. Errors are [ErrInvalid].
func (d *Decoder) Decode(c Codec, dst, content []byte) error {
	switch c {
	case PlaneHuff:
		return d.planes(dst, content)
	case PlaneZstd:
		return d.planeZstd(dst, content)
	}
	data, err := Decode(c, content, uint64(len(dst)))
	copy(dst, data)
	return err
}

// planeZstd decodes PlaneZstd.
func (d *Decoder) planeZstd(dst, content []byte) (err error) {
	if len(content) == 0 {
		return invalid("Invalid PlaneZstd data: it is empty")
	}
	if d.frames == nil {
		if d.frames, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true)); err != nil {
			return err
		}
	}
	if cap(d.parts) < len(dst) {
		d.parts = make([]byte, len(dst))
	}
	got, err := d.frames.DecodeAll(content[1:], d.parts[:0:len(dst)])
	if err != nil {
		return invalid("Invalid Zstd data: %v", err)
	}
	if len(got) != len(dst) {
		return invalid("Invalid Zstd data: %d bytes, want %d", len(got), len(dst))
	}
	return joinBytes(dst, got, int(content[0]))
}

// Close frees what the decoder keeps. It may be used again.
func (d *Decoder) Close() {
	if d.frames != nil {
		d.frames.Close()
	}
	*d = Decoder{}
}
