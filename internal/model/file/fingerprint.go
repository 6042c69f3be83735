package file

import (
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"
)

// What a fingerprint reads of a file: all of a small one; of a larger one the header and
// pieces at equal distances, a matrix of a large model having several.
const (
	wholeBytes  = 64 << 20
	pieceBytes  = 4 << 10
	leastStride = 1 << 20
	mostPieces  = 4096
)

// Fingerprint tells models apart by their configuration, the headers and sizes of their
// files and a sample of their weights. It does not depend on where the files are, and
// takes much less time than reading them.
func (d *Description) Fingerprint() string {
	h := xxh3.New()
	add := func(b []byte) { // a hash has no errors
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(b))))
		_, _ = h.Write(b)
	}
	add(d.Config)
	for _, p := range d.Parts {
		_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(p.Bytes)))
		if p.Bytes <= wholeBytes {
			add(p.data)
			continue
		}
		add(p.data[:p.Data])
		stride := max(leastStride, (p.Bytes-p.Data)/mostPieces)
		for at := p.Data; at < p.Bytes; at += stride {
			add(p.data[at:min(at+pieceBytes, p.Bytes)])
		}
		add(p.data[max(p.Data, p.Bytes-pieceBytes):])
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// Fingerprint is [Description.Fingerprint] of the model at path.
func Fingerprint(path string) (string, error) {
	d, err := Open(path)
	if err != nil {
		return "", err
	}
	return d.Fingerprint(), d.Close()
}
