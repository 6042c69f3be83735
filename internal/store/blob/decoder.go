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
	plane  []byte // of PlaneZstd
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

// frame decodes a Zstandard frame.
func (d *Decoder) frame(dst, content []byte) (_ []byte, err error) {
	if len(content) == 0 {
		return dst, nil
	}
	if d.frames == nil {
		if d.frames, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true)); err != nil {
			return nil, err
		}
	}
	return d.frames.DecodeAll(content, dst)
}

// Close frees what the decoder keeps. It may be used again.
func (d *Decoder) Close() {
	if d.frames != nil {
		d.frames.Close()
	}
	*d = Decoder{}
}
