package token

import (
	"encoding/binary"
	"testing"
)

// TestCharsmapInvalidUTF8: bytes that are no characters go through the map one
// by one, however few of them a cluster has left.
func TestCharsmapInvalidUTF8(t *testing.T) {
	blob := binary.LittleEndian.AppendUint32(nil, 4)
	blob = append(blob, 0, 0, 0, 0) // a trie without keys
	m, ok := newCharsmap(append(blob, 'a', 0))
	if !ok {
		t.Fatal("the map was refused")
	}
	for _, s := range []string{"\xff", "a\xcd", "\xf0\x9f\x98", "e\u0301\u0301\u0301\xe2\x82", "\xed\xa0\x80"} {
		m.Normalize(Piece{S: s})
	}
}
