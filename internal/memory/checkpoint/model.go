package checkpoint

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"atenia/internal/memory"
	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// A Model says what the tensors of a checkpoint are of, and what was computed
// with it. Readers of a manifest reject unknown keys, so it is in a separate
// file, whose name and second line identify the manifest:
//
//	atenia_checkpoint_model=1
//	manifest=0123…
//	path="model.gguf"
//	content=89ab…     XXH3-128 of what the files' headers say, and samples
//	written=cdef…     XXH3-128 of the files' sizes and times
//	state="f16 …"     what cached keys and values depend on beside the files
//	file 0 "/models/model.gguf"
//	source 0 4096 "blk.0.attn_q.weight"   file and offset of an entry's bytes
//	type F32 "blk.0.attn_q.weight"           of its elements
//	sequence 2 1 15043 29892              class and tokens of a conversation
//	part 0 0 16 "kv:…"   its keys and values: state, first page, pages, entry
//	sum=01234567      CRC-32C of all lines before
type Model struct {
	Path      string // as it was opened; empty for the embedded one
	Content   blob.Hash
	Written   blob.Hash
	State     string
	Types     map[string]string // element types of entries, by id, as package tensor names them
	Sequences []Sequence
}

// A Sequence is a conversation whose keys and values were kept.
type Sequence struct {
	Class  int // of rotations, as package exec numbers them
	Tokens []int32
	Parts  []Part // in order, state by state
}

// A Part is consecutive pages of one state of a sequence.
type Part struct {
	State int
	First int // page
	Pages int
	ID    string // of the manifest's entry
}

// modelName returns the name of the model file of a manifest.
func modelName(manifest blob.Hash) string {
	return "checkpoint." + manifest.String()[:16] + ".model"
}

// modelText returns the content of the model file, nil if there is no model.
func (m *Manifest) modelText(manifest blob.Hash) []byte {
	if m.Model == nil {
		return nil
	}
	var b []byte
	b = fmt.Appendf(b, "atenia_checkpoint_model=1\nmanifest=%s\npath=%s\ncontent=%s\nwritten=%s\nstate=%s\n", manifest,
		strconv.QuoteToASCII(m.Model.Path), m.Model.Content, m.Model.Written, strconv.QuoteToASCII(m.Model.State))
	files := map[string]int{}
	for i := range m.Entries {
		e := &m.Entries[i]
		if e.Source == nil {
			continue
		}
		k, ok := files[e.Source.Path]
		if !ok {
			k = len(files)
			files[e.Source.Path] = k
			b = fmt.Appendf(b, "file %d %s\n", k, strconv.QuoteToASCII(e.Source.Path))
		}
		b = fmt.Appendf(b, "source %d %d %s\n", k, e.Source.Offset, strconv.QuoteToASCII(e.ID))
	}
	for i := range m.Entries {
		if t, ok := m.Model.Types[m.Entries[i].ID]; ok {
			b = fmt.Appendf(b, "type %s %s\n", t, strconv.QuoteToASCII(m.Entries[i].ID))
		}
	}
	for _, s := range m.Model.Sequences {
		b = fmt.Appendf(b, "sequence %d", s.Class)
		for _, t := range s.Tokens {
			b = append(b, ' ')
			b = strconv.AppendInt(b, int64(t), 10)
		}
		b = append(b, '\n')
		for _, p := range s.Parts {
			b = fmt.Appendf(b, "part %d %d %d %s\n", p.State, p.First, p.Pages, strconv.QuoteToASCII(p.ID))
		}
	}
	return fmt.Appendf(b, "sum=%08x\n", crc32.Checksum(b, castagnoli))
}

// readModel reads the model file of a manifest. A missing file leaves the model
// unknown; a corrupt one is an error.
func (m *Manifest) readModel(dir string, text []byte, fsys durable.FS) error {
	manifest := blob.HashOf(text)
	path := filepath.Join(dir, modelName(manifest))
	b, err := fsys.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &Error{Kind: ErrIO, Path: path, Why: "what the checkpoint is of cannot be read", Err: err}
	}
	if line, why := m.parseModel(string(b), manifest); why != "" {
		return &Error{Kind: ErrInvalidFormat, Path: path, Line: line, Why: why + "; remove the file to keep the tensors alone"}
	}
	return nil
}

// parseModel is the inverse of modelText. On failure it returns the line and why.
func (m *Manifest) parseModel(text string, manifest blob.Hash) (line int, why string) {
	at := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
	if want := fmt.Sprintf("sum=%08x\n", crc32.Checksum([]byte(text[:at]), castagnoli)); text[at:] != want {
		return strings.Count(text, "\n"), fmt.Sprintf("got %.80q, want %.80q: the file was cut or edited", text[at:], want)
	}
	m.Model = &Model{}
	p := modelParser{m: m, byID: make(map[string]int, len(m.Entries))}
	for i := range m.Entries {
		p.byID[m.Entries[i].ID] = i
	}
	head := []struct {
		key string
		set func(string) error
	}{
		{"atenia_checkpoint_model=", equals("1")}, {"manifest=", equals(manifest.String())},
		{"path=", unquote(&m.Model.Path)}, {"content=", func(s string) error { return m.Model.Content.UnmarshalText([]byte(s)) }},
		{"written=", func(s string) error { return m.Model.Written.UnmarshalText([]byte(s)) }}, {"state=", unquote(&m.Model.State)},
	}
	for s := range strings.Lines(text[:at]) {
		s = strings.TrimSuffix(s, "\n")
		var err error
		if line < len(head) {
			v, ok := strings.CutPrefix(s, head[line].key)
			if err = head[line].set(v); !ok {
				err = fmt.Errorf("want %s…", head[line].key)
			}
		} else {
			err = p.line(s)
		}
		line++
		if err != nil {
			m.Model = nil
			return line, fmt.Sprintf("got %.80q: %v", s, err)
		}
	}
	if line < len(head) {
		m.Model = nil
		return line, "the file ends before its head does"
	}
	return 0, ""
}

func equals(want string) func(string) error {
	return func(s string) error {
		if s != want {
			return fmt.Errorf("want %s", want)
		}
		return nil
	}
}

func unquote(to *string) func(string) error {
	return func(s string) (err error) {
		*to, err = strconv.Unquote(s)
		return err
	}
}

// A modelParser reads the lines after the head.
type modelParser struct {
	m     *Manifest
	byID  map[string]int
	files []string
}

func (p *modelParser) line(s string) error {
	kind, rest, _ := strings.Cut(s, " ")
	switch kind {
	case "file":
		n, name, err := numbers(rest, 1)
		if err == nil && int(n[0]) != len(p.files) {
			err = errors.New("files are numbered in order")
		}
		p.files = append(p.files, name)
		return err
	case "source":
		n, id, err := numbers(rest, 2)
		if err != nil {
			return err
		}
		i, ok := p.byID[id]
		if n[0] >= int64(len(p.files)) || !ok {
			return errors.New("there is no such file or entry")
		}
		p.m.Entries[i].Source = &memory.Source{Path: p.files[n[0]], Offset: n[1]}
		return nil
	case "type":
		name, quoted, _ := strings.Cut(rest, " ")
		id, err := strconv.Unquote(quoted)
		if _, ok := p.byID[id]; err != nil || !ok || name == "" {
			return errors.New("there is no such entry, or no type")
		}
		if p.m.Model.Types == nil {
			p.m.Model.Types = map[string]string{}
		}
		p.m.Model.Types[id] = name
		return nil
	case "sequence":
		return p.sequence(rest)
	case "part":
		n, id, err := numbers(rest, 3)
		list := p.m.Model.Sequences
		if _, ok := p.byID[id]; err == nil && (!ok || len(list) == 0) {
			err = errors.New("there is no such entry, or no sequence it is of")
		}
		if err != nil {
			return err
		}
		q := &list[len(list)-1]
		q.Parts = append(q.Parts, Part{State: int(n[0]), First: int(n[1]), Pages: int(n[2]), ID: id})
		return nil
	}
	return errors.New("want file, source, type, sequence or part")
}

func (p *modelParser) sequence(s string) error {
	var q Sequence
	for i, f := range strings.Fields(s) {
		n, err := strconv.ParseInt(f, 10, 32)
		switch {
		case err != nil:
			return err
		case i == 0:
			q.Class = int(n)
		default:
			q.Tokens = append(q.Tokens, int32(n))
		}
	}
	if len(q.Tokens) == 0 {
		return errors.New("a sequence without tokens")
	}
	p.m.Model.Sequences = append(p.m.Model.Sequences, q)
	return nil
}

// numbers reads n numbers of 0 or more and a quoted text.
func numbers(s string, n int) (out []int64, text string, err error) {
	for range n {
		var word string
		word, s, _ = strings.Cut(s, " ")
		v, err := strconv.ParseInt(word, 10, 64)
		if err != nil || v < 0 {
			return nil, "", fmt.Errorf("%.40q is no number", word)
		}
		out = append(out, v)
	}
	text, err = strconv.Unquote(s)
	return out, text, err
}
