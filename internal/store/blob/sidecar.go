package blob

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// A sidecar is the .sum file of a cache entry. It holds what the .meta file
// cannot, because readers of .meta reject unknown keys.
type sidecar struct {
	Meta
	Kind       Kind
	Owner      string // the key
	Version    uint64 // of the tensor's content, counted by the caller
	Checksum32 uint32 // the checksum in the .meta file
	FileBytes  uint64
}

// of reports whether the sidecar was written together with h. If not, a program
// that does not know sidecars has replaced the entry.
func (s *sidecar) of(h Header) bool {
	return s.Kind == h.Kind && s.OriginalBytes == h.Bytes && s.Checksum32 == h.Checksum32
}

// String returns the text of the file. Its last line is the CRC-32C of the
// lines before it.
func (s *sidecar) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "atenia_sum=1\nkind=%s\nowner=%s\nversion=%d\ncodec=%s\nlen=%d\nchecksum32=%d\nxxh3=%s\nfile_len=%d\ncrc32c=",
		s.Kind.Folder(), strconv.QuoteToASCII(s.Owner), s.Version, s.Codec, s.OriginalBytes, s.Checksum32, s.Hash, s.FileBytes)
	for i, c := range s.Chunks {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%08x", c)
	}
	b.WriteByte('\n')
	fmt.Fprintf(&b, "sum=%08x\n", crc32.Checksum([]byte(b.String()), castagnoli))
	return b.String()
}

// parseSidecar reads the text of a .sum file. It accepts exactly what
// [sidecar.String] writes; errors are [ErrInvalid].
func parseSidecar(text string) (*sidecar, error) {
	s := &sidecar{}
	rest := text
	for i, line := range []struct {
		key string
		set func(value string) bool
	}{
		{"atenia_sum", func(v string) bool { return v == "1" }},
		{"kind", func(v string) (ok bool) { s.Kind, ok = ParseKind(v); return ok }},
		{"owner", func(v string) bool { return unquote(&s.Owner, v) }},
		{"version", func(v string) bool { return number(&s.Version, v) }},
		{"codec", func(v string) (ok bool) { s.Codec, ok = parseCodec(v); return ok }},
		{"len", func(v string) bool { return number(&s.OriginalBytes, v) }},
		{"checksum32", func(v string) bool {
			n, ok := parseNumber(v, 32)
			s.Checksum32 = uint32(n)
			return ok
		}},
		{"xxh3", func(v string) bool { return s.Hash.UnmarshalText([]byte(v)) == nil }},
		{"file_len", func(v string) bool { return number(&s.FileBytes, v) }},
		{"crc32c", func(v string) bool { return s.chunks(v) }},
	} {
		var value string
		var ok bool
		value, rest, ok = strings.Cut(rest, "\n")
		value, found := strings.CutPrefix(value, line.key+"=")
		if !ok || !found || !line.set(value) {
			return nil, invalid("sidecar: line %d: want %s= and a value of it", i+1, line.key)
		}
	}
	if s.String() != text {
		return nil, invalid("sidecar: the checksum of the text is another, or it is written in another way")
	}
	return s, nil
}

func number(n *uint64, v string) (ok bool) {
	*n, ok = parseNumber(v, 64)
	return ok
}

func unquote(s *string, v string) bool {
	u, err := strconv.Unquote(v)
	*s = u
	return err == nil
}

// chunks parses the checksums, one for each chunk of the file.
func (s *sidecar) chunks(v string) bool {
	want := s.FileBytes / chunkBytes
	if s.FileBytes%chunkBytes > 0 {
		want++
	}
	if want == 0 {
		return v == ""
	}
	if uint64(len(v)) != want*9-1 {
		return false
	}
	s.Chunks = make([]uint32, 0, want)
	for c := range strings.SplitSeq(v, ",") {
		n, err := strconv.ParseUint(c, 16, 32)
		if err != nil {
			return false
		}
		s.Chunks = append(s.Chunks, uint32(n))
	}
	return true
}
