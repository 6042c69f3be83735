package checkpoint

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
)

// Name is the manifest's file name in a checkpoint's directory.
const Name = "checkpoint.meta"

// A Blob names an entry of the persistent cache.
type Blob struct {
	Kind blob.Kind `json:"kind"`
	Key  string    `json:"key"`
}

// An Entry is one tensor of a manifest.
type Entry struct {
	ID     string
	IsGrad bool
	Tier   memory.Tier // at the time of the checkpoint
	Bytes  uint64
	Blob   *Blob       // nil: the bytes are in no durable place
	Hint   memory.Hint // preferred tier and last plan
	// Hash is of the entry's bytes, zero if unknown. It is kept in a separate file,
	// not in the manifest's text.
	Hash blob.Hash
	// Source is where a file outside the cache has the bytes, such as that of a
	// model; nil if none does. It is kept in a separate file, too.
	Source *memory.Source
}

// A Manifest is the text of a checkpoint:
//
//	version=1
//	created_unix=1234
//	entry_count=1
//
//	id=t1
//	is_grad=0
//	tier=ram
//	len=3
//	cache_kind=tensor
//	cache_key=tensor:t1:len3
//	desired_tier=vram
//	plan_summary=Prefer VRAM later
//
// with an empty line after the header and after every entry. An absent value is
// written none; a summary that is itself the word none, after any number of
// spaces, is escaped with one more space.
type Manifest struct {
	Created uint64 // seconds since 1970
	Entries []Entry
	// Model is what the tensors are of; nil if that is unknown. It is kept in a
	// separate file.
	Model *Model
}

const none = "none"

// oneLine replaces each CR and LF of a summary by a space.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

// MarshalText returns the manifest's text. It rejects ids and keys that [parse]
// would not read back unchanged.
func (m *Manifest) MarshalText() ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "version=1\ncreated_unix=%d\nentry_count=%d\n\n", m.Created, len(m.Entries))
	for i := range m.Entries {
		e := &m.Entries[i]
		if why := e.unwritable(); why != "" {
			return nil, &Error{Kind: ErrInvalidFormat, ID: e.ID, Why: why}
		}
		kind, key, desired := none, none, none
		if e.Blob != nil {
			kind, key = e.Blob.Kind.Folder(), e.Blob.Key
		}
		if e.Hint.Desired != nil {
			desired = e.Hint.Desired.Lower()
		}
		grad := 0
		if e.IsGrad {
			grad = 1
		}
		fmt.Fprintf(&b, "id=%s\nis_grad=%d\ntier=%s\nlen=%d\ncache_kind=%s\ncache_key=%s\ndesired_tier=%s\nplan_summary=%s\n\n",
			e.ID, grad, e.Tier.Lower(), e.Bytes, kind, key, desired, summaryText(e.Hint))
	}
	return b.Bytes(), nil
}

// unwritable returns which part of an entry cannot be written, or "".
func (e *Entry) unwritable() string {
	switch {
	case !plain(e.ID):
		return "an id is UTF-8 text without control characters"
	case e.Blob != nil && (!plain(e.Blob.Key) || e.Blob.Key == none):
		return fmt.Sprintf("the cache key %q is not UTF-8 text without control characters, or the word none", e.Blob.Key)
	case !utf8.ValidString(e.Hint.Summary):
		return "its summary is not UTF-8"
	}
	return ""
}

// plain reports whether a text can be written on a line unchanged.
func plain(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl) }

// summaryText returns the written form of a summary.
func summaryText(h memory.Hint) string {
	if !h.HasSummary {
		return none
	}
	s := oneLine.Replace(h.Summary)
	if strings.TrimLeft(s, " ") == none {
		return " " + s
	}
	return s
}

// readSummary is the inverse of summaryText.
func readSummary(s string, h *memory.Hint) {
	if s == none {
		return
	}
	if strings.TrimLeft(s, " ") == none {
		s = s[1:]
	}
	h.Summary, h.HasSummary = s, true
}
