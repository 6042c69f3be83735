package checkpoint

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// Readers of a manifest reject unknown keys, so the hashes of its entries are in
// a separate file, whose name and second line identify the manifest:
//
//	atenia_checkpoint_sums=1
//	manifest=0123…    XXH3-128 of the manifest's text
//	xxh3=89ab… "t1"   of an entry's bytes, in the order of the manifest
//	sum=01234567      CRC-32C of all lines before
//
// Without it, a cache entry replaced by another of the same length would pass
// for the saved one.

// sumsName returns the name of the hash file of a manifest.
func sumsName(manifest blob.Hash) string {
	return "checkpoint." + manifest.String()[:16] + ".sums"
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumsText returns the content of the hash file, nil if no hash is known.
func (m *Manifest) sumsText(manifest blob.Hash) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "atenia_checkpoint_sums=1\nmanifest=%s\n", manifest)
	known := false
	for i := range m.Entries {
		if e := &m.Entries[i]; e.Hash != (blob.Hash{}) {
			known = true
			fmt.Fprintf(&b, "xxh3=%s %s\n", e.Hash, strconv.QuoteToASCII(e.ID))
		}
	}
	if !known {
		return nil
	}
	fmt.Fprintf(&b, "sum=%08x\n", crc32.Checksum([]byte(b.String()), castagnoli))
	return []byte(b.String())
}

// readSums sets the hashes of the entries. A missing file, or one of another
// manifest, sets none; a corrupt one is an error.
func (m *Manifest) readSums(dir string, text []byte, fsys durable.FS) error {
	manifest := blob.HashOf(text)
	path := filepath.Join(dir, sumsName(manifest))
	sums, err := fsys.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Error{Kind: ErrIO, Path: path, Why: "the hashes cannot be read", Err: err}
	}
	if line, why := m.parseSums(string(sums), manifest); why != "" {
		return &Error{Kind: ErrInvalidFormat, Path: path, Line: line, Why: why}
	}
	return nil
}

// parseSums is the inverse of sumsText. On failure it returns the line and why.
func (m *Manifest) parseSums(text string, manifest blob.Hash) (line int, why string) {
	hashes := map[string]blob.Hash{}
	body := 0
	for s := range strings.Lines(text) {
		line++
		var want string
		switch {
		case line == 1:
			want = "atenia_checkpoint_sums=1\n"
		case line == 2:
			want = fmt.Sprintf("manifest=%s\n", manifest)
		case strings.HasPrefix(s, "sum="):
			want = fmt.Sprintf("sum=%08x\n", crc32.Checksum([]byte(text[:body]), castagnoli))
		default:
			var h blob.Hash
			hex, quoted, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(s, "xxh3="), "\n"), " ")
			id, err := strconv.Unquote(quoted)
			if err := errors.Join(err, h.UnmarshalText([]byte(hex))); err != nil {
				return line, fmt.Sprintf("got %.80q, want a hash and an id", s)
			}
			hashes[id] = h
			want = fmt.Sprintf("xxh3=%s %s\n", h, strconv.QuoteToASCII(id))
		}
		if s != want {
			return line, fmt.Sprintf("got %.80q, want %.80q", s, want)
		}
		body += len(s)
	}
	if !strings.HasPrefix(text[strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1:], "sum=") {
		return line, "the text ends without its sum"
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		e.Hash = hashes[e.ID]
	}
	return 0, ""
}
