package checkpoint

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
)

// parse reads the text of a manifest. It accepts only the form shown at
// [Manifest]; other text is [ErrInvalidFormat] with the line. Entries without
// desired_tier and plan_summary, as older versions wrote them, have no hint.
func parse(text []byte) (*Manifest, error) {
	p := &parser{rest: string(text)}
	m, err := p.manifest()
	if err != nil {
		return nil, err
	}
	return m, nil
}

// A parser splits a text into lines.
type parser struct {
	rest string
	line int // number of the line returned last
	end  bool
}

func (p *parser) failf(format string, args ...any) error {
	return &Error{Kind: ErrInvalidFormat, Line: p.line, Why: fmt.Sprintf(format, args...)}
}

// next returns the next line; after the last one it returns "" and sets end.
func (p *parser) next() (string, error) {
	if p.rest == "" {
		p.end = true
		return "", nil
	}
	p.line++
	var s string
	s, p.rest, _ = strings.Cut(p.rest, "\n")
	switch {
	case !utf8.ValidString(s):
		return "", p.failf("not UTF-8")
	case strings.Contains(s, "\r"):
		return "", p.failf("a carriage return: the file's line ends were changed")
	}
	return s, nil
}

func (p *parser) manifest() (*Manifest, error) {
	version, err := p.header("version", 32)
	if err != nil {
		return nil, err
	}
	if version != 1 {
		return nil, p.failf("version %d; this program reads version 1", version)
	}
	m := &Manifest{}
	if m.Created, err = p.header("created_unix", 64); err != nil {
		return nil, err
	}
	count, err := p.header("entry_count", 64)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for {
		e, err := p.entry()
		if err != nil {
			return nil, err
		}
		if e == nil {
			break
		}
		if seen[e.ID] {
			return nil, p.failf("a second entry of id %q", e.ID)
		}
		seen[e.ID] = true
		m.Entries = append(m.Entries, *e)
	}
	if uint64(len(m.Entries)) != count {
		return nil, p.failf("%d entries, but entry_count=%d: the file was cut or edited", len(m.Entries), count)
	}
	return m, nil
}

func (p *parser) header(key string, bits int) (uint64, error) {
	s, err := p.next()
	if err != nil {
		return 0, err
	}
	k, v, ok := strings.Cut(s, "=")
	if !ok || k != key {
		return 0, p.failf("got %.60q, want %s=…", s, key)
	}
	return p.number(key, v, bits)
}

func (p *parser) number(key, v string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(v, 10, bits)
	if err != nil {
		return 0, p.failf("%s is %.60q, want a number below 2^%d", key, v, bits)
	}
	return n, nil
}

// The keys of an entry. The first group occurs in every file.
var (
	entryKeys = [...]string{"id", "is_grad", "tier", "len", "cache_kind", "cache_key", "desired_tier", "plan_summary"}
	mustHave  = 6
)

// entry reads the next block of lines; nil at the end of the text.
func (p *parser) entry() (*Entry, error) {
	e := &Entry{}
	var have [len(entryKeys)]bool
	lines := 0
	for {
		s, err := p.next()
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(s) == "" {
			if p.end && lines == 0 {
				return nil, nil
			}
			if lines == 0 {
				continue
			}
			break
		}
		lines++
		if err := p.field(e, &have, s); err != nil {
			return nil, err
		}
	}
	for i, key := range entryKeys[:mustHave] {
		if !have[i] {
			return nil, p.failf("an entry ends here without %s", key)
		}
	}
	if e.Blob != nil && (e.Blob.Key == "" || e.Blob.Kind == absent) {
		return nil, p.failf("cache_kind and cache_key of %q: one is none and the other is not", e.ID)
	}
	return e, nil
}

// absent stands for the kind none while an entry is read.
const absent = blob.Kind(255)

func (p *parser) field(e *Entry, have *[len(entryKeys)]bool, s string) error {
	key, v, ok := strings.Cut(s, "=")
	at := -1
	for i, k := range entryKeys {
		if ok && k == key {
			at = i
		}
	}
	if at < 0 {
		return p.failf("got %.60q, want one of %s=…", s, strings.Join(entryKeys[:], "=…, "))
	}
	if have[at] {
		return p.failf("a second %s in one entry", key)
	}
	have[at] = true
	var err error
	switch key {
	case "id":
		if e.ID = v; !plain(v) {
			err = p.failf("an id with control characters")
		}
	case "is_grad":
		if e.IsGrad = v == "1"; v != "0" && v != "1" {
			err = p.failf("is_grad is %.60q, want 0 or 1", v)
		}
	case "tier":
		e.Tier, err = p.tier(key, v)
	case "len":
		e.Bytes, err = p.number(key, v, 64)
	case "cache_kind":
		err = p.kind(e, v)
	case "cache_key":
		err = p.key(e, v)
	case "desired_tier":
		if v != none {
			var t memory.Tier
			t, err = p.tier(key, v)
			e.Hint.Desired = &t
		}
	case "plan_summary":
		readSummary(v, &e.Hint)
	}
	return err
}

func (p *parser) tier(key, v string) (memory.Tier, error) {
	if t, ok := memory.Parse(v); ok && t.Lower() == v {
		return t, nil
	}
	return 0, p.failf("%s is %.60q, want vram, ram, ssd or cpu", key, v)
}

func (p *parser) kind(e *Entry, v string) error {
	if v == none {
		return nil
	}
	k, ok := blob.ParseKind(v)
	if !ok || k.Folder() != v {
		return p.failf("cache_kind is %.60q, want tensor, gradient, kernel_meta or none", v)
	}
	if e.Blob == nil {
		e.Blob = &Blob{}
	}
	e.Blob.Kind = k
	return nil
}

func (p *parser) key(e *Entry, v string) error {
	if v == none {
		return nil
	}
	if v == "" || !plain(v) {
		return p.failf("cache_key is %.60q, want text without control characters", v)
	}
	if e.Blob == nil {
		e.Blob = &Blob{Kind: absent}
	}
	e.Blob.Key = v
	return nil
}
