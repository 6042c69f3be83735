package blob

import (
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// likelyRatio is the highest compression ratio for which a frame's claimed size
// is allocated at once. Beyond it the output grows as bytes are decoded, so that
// a forged size costs no memory.
const likelyRatio = 128

func encodeZstd(data []byte) ([]byte, error) {
	if len(data) == 0 {
		return nil, nil
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(data, nil), nil
}

func decodeZstd(content []byte, size uint64) ([]byte, error) {
	data, err := func() ([]byte, error) {
		if size == 0 || len(content) == 0 {
			return nil, nil
		}
		if size > uint64(len(content))*likelyRatio {
			return decodeZstdSlowly(content, size)
		}
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return d.DecodeAll(content, make([]byte, 0, size))
	}()
	switch {
	case err != nil:
		return nil, invalid("Invalid Zstd data: %v", err)
	case uint64(len(data)) != size || size == 0 && len(content) > 0:
		return nil, invalid("Invalid Zstd data: %d bytes, want %d", len(data), size)
	}
	return data, nil
}

// decodeZstdSlowly grows its output as bytes are decoded.
func decodeZstdSlowly(content []byte, size uint64) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(content), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var data bytes.Buffer
	n, err := io.Copy(&data, io.LimitReader(d, int64(min(size, 1<<62))+1))
	if err == nil && uint64(n) > size {
		err = errors.New("it is longer")
	}
	return data.Bytes(), err
}
