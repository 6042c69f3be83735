package blob

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"

	"github.com/zeebo/xxh3"
)

// chunkBytes is the number of bytes of a file that one checksum covers.
const chunkBytes = 4 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A Hash is the XXH3-128 of bytes. The zero Hash means unknown.
type Hash [16]byte

// HashOf returns the hash of bytes.
func HashOf(data []byte) Hash { return xxh3.Hash128(data).Bytes() }

// String returns the hash as 32 hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText returns the 32 hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads 32 hexadecimal digits.
func (h *Hash) UnmarshalText(b []byte) error {
	if len(b) == 2*len(h) {
		if _, err := hex.Decode(h[:], b); err == nil {
			return nil
		}
	}
	return fmt.Errorf("want 32 hexadecimal digits, got %q", b)
}

// chunkSums returns the CRC-32C of each chunk of a file's content.
func chunkSums(content []byte) []uint32 {
	sums := make([]uint32, 0, (len(content)+chunkBytes-1)/chunkBytes)
	for len(content) > 0 {
		n := min(len(content), chunkBytes)
		sums = append(sums, crc32.Checksum(content[:n], castagnoli))
		content = content[n:]
	}
	return sums
}

// Checksum32 is the 32-bit FNV-1a hash in an entry's .meta file. It is slower
// than a disk and detects only accidental corruption; entries with a sidecar are
// verified by its checksums instead.
func Checksum32(data []byte) uint32 {
	const basis, prime = 0x811C9DC5, 0x01000193
	h := uint32(basis)
	for _, b := range data {
		h = (h ^ uint32(b)) * prime
	}
	return h
}
