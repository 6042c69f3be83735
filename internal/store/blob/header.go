package blob

import (
	"fmt"
	"strconv"
	"strings"
)

// A Header is the .meta file of a cache entry.
type Header struct {
	Kind       Kind
	Bytes      uint64 // decoded
	Checksum32 uint32 // FNV-1a of the decoded bytes
	Created    uint64 // seconds since 1970, given by the caller
}

// String returns the text of the file.
func (h Header) String() string {
	return fmt.Sprintf("kind=%s\nlen=%d\nchecksum32=%d\ncreated_unix=%d\n", h.Kind.Folder(), h.Bytes, h.Checksum32, h.Created)
}

// ParseHeader reads the text of a .meta file. Every key must occur, and no
// other. Errors match [ErrInvalid] and name the line.
func ParseHeader(text string) (h Header, err error) {
	seen := map[string]bool{}
	for i, line := range lines(text) {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return Header{}, invalid("line %d has no =: %q", i+1, line)
		}
		switch key {
		case "kind":
			h.Kind, ok = ParseKind(value)
		case "len":
			h.Bytes, ok = parseNumber(value, 64)
		case "checksum32":
			var n uint64
			n, ok = parseNumber(value, 32)
			h.Checksum32 = uint32(n)
		case "created_unix":
			h.Created, ok = parseNumber(value, 64)
		default:
			return Header{}, invalid("line %d has an unknown key: %q", i+1, line)
		}
		if !ok {
			return Header{}, invalid("line %d has a bad value: %q", i+1, line)
		}
		seen[key] = true
	}
	for _, key := range []string{"kind", "len", "checksum32", "created_unix"} {
		if !seen[key] {
			return Header{}, invalid("no line %s=", key)
		}
	}
	return h, nil
}

// lines splits a text at line ends; the last one is optional.
func lines(text string) []string {
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	all := strings.Split(text, "\n")
	for i := range all {
		all[i] = strings.TrimSuffix(all[i], "\r")
	}
	return all
}

// parseNumber reads digits only, without a sign.
func parseNumber(s string, bits int) (uint64, bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, 10, bits)
	return n, err == nil
}
