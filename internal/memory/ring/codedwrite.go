package ring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
	"atenia/tensor"
)

// A CodedSource is where a weight lies in a file of the model.
type CodedSource struct {
	Name   string
	File   string
	Offset int64
	Bytes  int64
	Codec  blob.Codec // to encode it with
}

// CodecOf returns the codec for floats of a type.
func CodecOf(d tensor.DType) blob.Codec {
	if d == tensor.BF16 {
		return blob.PlaneHuff
	}
	return blob.PlaneZstd
}

// WriteCoded writes a file with weights of the files of the id. A weight of which a
// chunk does not become smaller is left out: it is streamed as it is.
func WriteCoded(ctx context.Context, path string, id CodedID, ws []CodedSource) error {
	most := int64(0) // codes are never longer
	for i := range ws {
		most += ws[i].Bytes
	}
	if err := durable.Fits(nil, filepath.Dir(path), most); err != nil {
		return err
	}
	return durable.Replace(path, func(w io.Writer) error {
		x := writer{w: w}
		for i := range ws {
			if err := x.weight(ctx, &ws[i]); err != nil {
				return err
			}
		}
		b, err := marshal(x.list, id, x.at)
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	})
}

// A writer is a file in the making.
type writer struct {
	w    io.Writer
	at   int64
	list []CodedWeight
}

// weight encodes and writes one weight.
func (x *writer) weight(ctx context.Context, s *CodedSource) error {
	f, err := durable.OpenRegular(s.File)
	if err != nil {
		return err
	}
	defer f.Close()
	w := CodedWeight{Name: s.Name, Codec: s.Codec, Bytes: s.Bytes}
	buf := make([]byte, codedChunkBytes)
	for at := int64(0); at < s.Bytes; at += codedChunkBytes {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		raw := buf[:min(codedChunkBytes, s.Bytes-at)]
		if n, err := f.ReadAt(raw, s.Offset+at); n < len(raw) {
			if err == nil || errors.Is(err, io.EOF) {
				err = errCut
			}
			return fmt.Errorf("%s: %d bytes at %d: %w", s.File, len(raw), s.Offset+at, err)
		}
		content, err := blob.Encode(s.Codec, raw)
		if err != nil {
			return err
		}
		if len(content) > len(raw) {
			return nil
		}
		w.Chunks = append(w.Chunks, CodedChunk{x.at, len(content), checksum(content)})
		if err := x.page(content); err != nil {
			return err
		}
	}
	x.list = append(x.list, w)
	return nil
}

var zeros [durable.Align]byte

// page writes bytes, and zeros to the end of their last page.
func (x *writer) page(b []byte) error {
	rest := zeros[:-len(b)&(durable.Align-1)]
	x.at += int64(len(b) + len(rest))
	_, err := x.w.Write(b)
	if err == nil {
		_, err = x.w.Write(rest)
	}
	return err
}
