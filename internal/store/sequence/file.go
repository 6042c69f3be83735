package sequence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"atenia/internal/store/durable"
)

const (
	magic      = "ATENIAKV"
	version    = 1
	fixedBytes = 44 // of a header
	runBytes   = 20

	// The most of each that a file may have, far beyond what a model can use.
	mostTokens = 1 << 24
	mostRuns   = 1 << 12
	mostPages  = 1 << 24
	mostPage   = 1 << 30 // bytes
)

// fileMode keeps prompts, which can be read from a file's tokens, from other users.
const fileMode = 0o600

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Kinds of an [Error], for [errors.Is].
var (
	// ErrDamaged says that a file is cut, changed, or no file of keys and values.
	ErrDamaged = errors.New("damaged")
	// ErrOther says that a file is whole and of another model, or of this one with
	// other settings.
	ErrOther = errors.New("of another model")
)

// An Error says why a file is not used, and where in it. It matches its Kind.
type Error struct {
	Kind   error // ErrDamaged or ErrOther
	Path   string
	Offset int64 // in bytes
	Why    string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: keys and values %v: at byte %d: %s", e.Path, e.Kind, e.Offset, e.Why)
}

func (e *Error) Unwrap() error { return e.Kind }

// A Key is what pages depend on beside the tokens: model, adapter, plan, settings.
type Key [16]byte

// A Header is what a file says of its pages.
type Header struct {
	Key    Key
	Span   int     // the sequence's longest length, by which rotations may be scaled
	Tokens []int32 // that the pages follow from
	Runs   []Run
}

// A Run is consecutive pages of one state.
type Run struct {
	State int // of the plan
	First int // page
	Pages int
	At    int // tokens that the state had seen, at most all
	Bytes int // of a page
}

// pages returns how many pages a file has, and their bytes.
func (h *Header) pages() (n, bytes int64) {
	for _, r := range h.Runs {
		n, bytes = n+int64(r.Pages), bytes+int64(r.Pages)*int64(r.Bytes)
	}
	return n, bytes
}

// Bytes returns the size of the file.
func (h *Header) Bytes() int64 {
	n, bytes := h.pages()
	return h.RunOffset(len(h.Runs)) + 4*n + 4 + bytes
}

// TokenOffset returns where in the file a token of the header is, for an [Error].
func (h *Header) TokenOffset(i int) int64 { return fixedBytes + 4*int64(i) }

// RunOffset returns where in the file a run of the header is, for an [Error].
func (h *Header) RunOffset(i int) int64 { return h.TokenOffset(len(h.Tokens)) + runBytes*int64(i) }

// encode returns the header's bytes. pages are those of all runs.
func (h *Header) encode(pages [][]byte) ([]byte, error) {
	n, bytes := h.pages()
	if int64(len(pages)) != n {
		return nil, fmt.Errorf("%d pages for runs of %d", len(pages), n)
	}
	le := binary.LittleEndian
	b := append(make([]byte, 0, h.Bytes()-bytes), magic...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint32(b, uint32(h.Bytes()-bytes))
	b = append(b, h.Key[:]...)
	for _, v := range []int{h.Span, len(h.Tokens), len(h.Runs)} {
		b = le.AppendUint32(b, uint32(v))
	}
	for _, t := range h.Tokens {
		b = le.AppendUint32(b, uint32(t))
	}
	at := 0
	for _, r := range h.Runs {
		for _, v := range []int{r.State, r.First, r.Pages, r.At, r.Bytes} {
			b = le.AppendUint32(b, uint32(v))
		}
		for _, p := range pages[at : at+r.Pages] {
			if len(p) != r.Bytes {
				return nil, fmt.Errorf("a page of %d bytes in a run of %d", len(p), r.Bytes)
			}
		}
		at += r.Pages
	}
	for _, p := range pages {
		b = le.AppendUint32(b, crc32.Checksum(p, castagnoli))
	}
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli)), nil
}

// writeTo writes a whole file.
func (h *Header) writeTo(w io.Writer, pages [][]byte) error {
	b, err := h.encode(pages)
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	for _, p := range pages {
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// Write replaces a file by one with these pages, those of the header's runs in order,
// durably and with mode 0600. fsys nil is the operating system's.
func Write(fsys durable.FS, path string, h *Header, pages [][]byte) error {
	if st, err := os.Lstat(path); err == nil && st.IsDir() {
		return &Error{Kind: ErrDamaged, Path: path, Why: "it is a folder"}
	}
	return durable.ReplaceAt(fsys, path, func(f durable.File) error {
		return errors.Join(f.Chmod(fileMode), h.writeTo(f, pages))
	})
}

// A Reader is a file whose header has been checked.
type Reader struct {
	Header
	Path string
	f    io.ReaderAt
	sums []uint32
	at   []int64 // of every page
	size []int
}

// NewReader reads and checks the header of a file of so many bytes. Errors are an
// [*Error], with the offset of what is wrong, or those of reading. A file whose header
// promises more or less than size bytes is refused before anything is allocated for it.
func NewReader(f io.ReaderAt, size int64, path string) (*Reader, error) {
	bad := func(at int64, format string, args ...any) (*Reader, error) {
		return nil, &Error{Kind: ErrDamaged, Path: path, Offset: at, Why: fmt.Sprintf(format, args...)}
	}
	var head [fixedBytes]byte
	if size < fixedBytes {
		return bad(size, "it ends in the header")
	}
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	if string(head[:8]) != magic {
		return bad(0, "got %q, want %q", head[:8], magic)
	}
	if v := le.Uint32(head[8:]); v != version {
		return bad(8, "version %d, want %d", v, version)
	}
	length, span, tokens, runs := int64(le.Uint32(head[12:])), le.Uint32(head[32:]), int64(le.Uint32(head[36:])), int64(le.Uint32(head[40:]))
	switch {
	case tokens < 1 || tokens > mostTokens || span > mostTokens:
		return bad(32, "%d tokens of a span of %d, want 1 to %d", tokens, span, mostTokens)
	case runs < 1 || runs > mostRuns:
		return bad(40, "%d runs, want 1 to %d", runs, mostRuns)
	case length < fixedBytes+4*tokens+runBytes*runs+4 || length > size:
		return bad(12, "a header of %d bytes with %d tokens and %d runs in a file of %d", length, tokens, runs, size)
	}
	b := make([]byte, length)
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, err
	}
	if got, want := crc32.Checksum(b[:length-4], castagnoli), le.Uint32(b[length-4:]); got != want {
		return bad(length-4, "the sum of the header is %08x, not %08x", got, want)
	}
	r := &Reader{Path: path, f: f, Header: Header{Key: Key(head[16:32]), Span: int(span), Tokens: make([]int32, tokens), Runs: make([]Run, runs)}}
	at := int64(fixedBytes)
	for i := range r.Tokens {
		r.Tokens[i] = int32(le.Uint32(b[at:]))
		at += 4
	}
	var pages, bytes int64
	for i := range r.Runs {
		var v [5]int
		for k := range v {
			v[k] = int(le.Uint32(b[at+4*int64(k):]))
		}
		x := Run{State: v[0], First: v[1], Pages: v[2], At: v[3], Bytes: v[4]}
		if x.State > mostRuns || x.First > mostPages || x.Pages < 1 || x.Pages > mostPages || x.Bytes < 1 || x.Bytes > mostPage || x.At < 1 || int64(x.At) > tokens {
			return bad(at, "run %d has %d pages of %d bytes from %d on, of %d of %d tokens", i, x.Pages, x.Bytes, x.First, x.At, tokens)
		}
		r.Runs[i] = x
		pages, bytes = pages+int64(x.Pages), bytes+int64(x.Pages)*int64(x.Bytes)
		at += runBytes
		if pages > mostPages || bytes > size {
			return bad(at, "%d pages of %d bytes in a file of %d", pages, bytes, size)
		}
	}
	if at+4*pages+4 != length {
		return bad(12, "a header of %d bytes for %d pages, want %d", length, pages, at+4*pages+4)
	}
	if length+bytes != size {
		return bad(min(size, length+bytes), "the file has %d bytes, want %d", size, length+bytes)
	}
	r.sums, r.at, r.size = make([]uint32, pages), make([]int64, 0, pages), make([]int, 0, pages)
	for i := range r.sums {
		r.sums[i] = le.Uint32(b[at:])
		at += 4
	}
	from := length
	for _, x := range r.Runs {
		for range x.Pages {
			r.at, r.size = append(r.at, from), append(r.size, x.Bytes)
			from += int64(x.Bytes)
		}
	}
	return r, nil
}

// Open opens a file and reads its header, as [NewReader] does. A pipe or a device in its
// place is an error. Close the file in the end.
func Open(path string) (r *Reader, size int64, end func() error, err error) {
	f, err := durable.OpenRegular(path)
	if kind, is := errors.AsType[*durable.KindError](err); is {
		return nil, 0, nil, &Error{Kind: ErrDamaged, Path: path, Why: kind.Error()}
	}
	if err != nil {
		return nil, 0, nil, err
	}
	st, err := f.Stat()
	if err == nil {
		r, err = NewReader(f, st.Size(), path)
	}
	if err != nil {
		return nil, 0, nil, errors.Join(err, f.Close())
	}
	return r, st.Size(), f.Close, nil
}

// ReadPage reads a page, counted through all runs, into dst, which has its bytes. If
// they are not those that were written, dst holds garbage.
func (r *Reader) ReadPage(i int, dst []byte) error {
	if len(dst) != r.size[i] {
		return fmt.Errorf("%s: page %d has %d bytes, not %d", r.Path, i, r.size[i], len(dst))
	}
	if _, err := r.f.ReadAt(dst, r.at[i]); err != nil {
		return fmt.Errorf("%s: page %d: %w", r.Path, i, err)
	}
	if got := crc32.Checksum(dst, castagnoli); got != r.sums[i] {
		return &Error{Kind: ErrDamaged, Path: r.Path, Offset: r.at[i], Why: fmt.Sprintf("the sum of page %d is %08x, not %08x", i, got, r.sums[i])}
	}
	return nil
}

// Of returns an [*Error] of the kind [ErrOther] if the file is of another key.
func (r *Reader) Of(k Key) error {
	if r.Key != k {
		return &Error{Kind: ErrOther, Path: r.Path, Offset: 16, Why: fmt.Sprintf("it is of the key %x, not %x", r.Key, k)}
	}
	return nil
}
