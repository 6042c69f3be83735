package blob

import (
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"atenia/internal/store/durable"
)

// A Meta describes the file of a blob.
type Meta struct {
	Codec         Codec
	OriginalBytes uint64 // decoded
	// Hash and Chunks are known for files written by a [Store] or a [Cache]. If
	// Hash is zero, only the length is checked.
	Hash   Hash     // of the decoded bytes
	Chunks []uint32 // CRC-32C of every [chunkBytes] of the file
}

// A Store is a directory with one file for each tensor on the SSD. It may be
// used by several goroutines, provided that they use different ids.
type Store struct {
	// Alloc returns memory for n bytes that are read; nil is Go's heap.
	Alloc func(n int) []byte

	dir  string
	fsys durable.FS

	mu    sync.Mutex
	names map[string]string // lower-case file name → the id it belongs to
}

// NewStore returns the store in a directory, which is created when first needed.
// A nil file system is the operating system's.
func NewStore(dir string, fsys durable.FS) *Store {
	return &Store{dir: dir, fsys: durable.Default(fsys), names: map[string]string{}}
}

// Dir returns the directory.
func (s *Store) Dir() string { return s.dir }

// EnsureDir creates the directory. An empty name is [ErrInvalid].
func (s *Store) EnsureDir() error {
	if s.dir == "" {
		return invalid("no folder is given for tensors on the SSD")
	}
	return s.fsys.MkdirAll(s.dir, 0o777)
}

// Path returns the path of an id's file: tensor_ID.bin if the id is safe in a
// file name and no other id in the store differs from it only in case, else a
// name with a suffix.
func (s *Store) Path(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return filepath.Join(s.dir, s.name(id))
}

func (s *Store) name(id string) string {
	name := "tensor_" + nameOf(id) + ".bin"
	if owner, ok := s.names[strings.ToLower(name)]; ok && owner != id {
		return "tensor_" + suffixed(id) + ".bin"
	}
	return name
}

// Write is [Store.WriteContext] with a context that never ends.
func (s *Store) Write(id string, data []byte, c Codec) (path string, m Meta, err error) {
	return s.WriteContext(context.Background(), id, data, c)
}

// WriteContext replaces the content of an id's file with data and returns its
// description. If it fails, the old file is unchanged; when ctx ends, it stops
// after the current chunk. The directory is not synced: the file serves this
// process only, which does not survive a power failure either.
func (s *Store) WriteContext(ctx context.Context, id string, data []byte, c Codec) (path string, m Meta, err error) {
	content, err := Encode(c, data)
	if err != nil {
		return "", Meta{}, err
	}
	s.mu.Lock()
	name := s.name(id)
	s.names[strings.ToLower(name)] = id
	s.mu.Unlock()
	path = filepath.Join(s.dir, name)
	temp, err := durable.WriteTemp(s.fsys, path, func(w io.Writer) error {
		for part := range slices.Chunk(content, chunkBytes) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := w.Write(part); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return "", Meta{}, err
	}
	if err := s.fsys.Rename(temp, path); err != nil {
		return "", Meta{}, errors.Join(err, s.fsys.Remove(temp))
	}
	return path, Meta{Codec: c, OriginalBytes: uint64(len(data)), Hash: HashOf(data), Chunks: chunkSums(content)}, nil
}

// ReadRaw returns a file's content without decoding or checking it.
func (s *Store) ReadRaw(path string) ([]byte, error) { return s.fsys.ReadFile(path) }

// Read is [Store.ReadContext] with a context that never ends.
func (s *Store) Read(path string, m Meta) ([]byte, error) {
	return s.ReadContext(context.Background(), path, m)
}

// ReadContext returns the decoded bytes of a file. Bytes that contradict the
// description are [ErrInvalid]. When ctx ends, it stops after the current chunk.
func (s *Store) ReadContext(ctx context.Context, path string, m Meta) ([]byte, error) {
	return readContext(ctx, s.fsys, path, m, s.Alloc)
}

// Delete deletes a file. It is no error if it does not exist. If deleting fails,
// its name stays reserved.
func (s *Store) Delete(path string) error {
	if err := s.fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.names, strings.ToLower(filepath.Base(path)))
	return nil
}

func read(fsys durable.FS, path string, m Meta) ([]byte, error) {
	return readContext(context.Background(), fsys, path, m, nil)
}

// readContext reads, verifies and decodes a file.
func readContext(ctx context.Context, fsys durable.FS, path string, m Meta, alloc func(int) []byte) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	data, err := readFile(ctx, f, m, alloc)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return data, nil
}

func readFile(ctx context.Context, f durable.File, m Meta, alloc func(int) []byte) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if m.Codec == None && uint64(st.Size()) != m.OriginalBytes { // before memory is allocated for it
		return nil, lengthMismatch(m.OriginalBytes, uint64(st.Size()))
	}
	content, broken := readChunks(ctx, f, st.Size(), m, alloc)
	if broken != nil && (m.Codec == None || !errors.Is(broken, ErrInvalid)) {
		return nil, broken
	}
	data, err := Decode(m.Codec, content, m.OriginalBytes)
	if err := errors.Join(err, broken); err != nil { // a decoder's error says more than a checksum's
		return nil, err
	}
	if m.Hash != (Hash{}) {
		if got := HashOf(data); got != m.Hash {
			return nil, invalid("%s: hash mismatch: want %s, got %s", f.Name(), m.Hash, got)
		}
	}
	return data, nil
}

// readChunks reads a file and verifies each chunk while it is in the processor's
// cache. If the file is not encoded, it stops at the first corrupt chunk.
func readChunks(ctx context.Context, f durable.File, size int64, m Meta, alloc func(int) []byte) (content []byte, broken error) {
	known := m.Hash != (Hash{})
	chunks := (size + chunkBytes - 1) / chunkBytes
	if known && chunks != int64(len(m.Chunks)) {
		broken = invalid("%s: length mismatch: %d chunks of %d bytes, want %d", f.Name(), chunks, chunkBytes, len(m.Chunks))
	}
	if alloc == nil {
		alloc = func(n int) []byte { return make([]byte, n) }
	}
	content = alloc(int(size))
	for i := range chunks {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part := content[i*chunkBytes : min(size, (i+1)*chunkBytes)]
		if _, err := f.ReadAt(part, i*chunkBytes); err != nil {
			return nil, err
		}
		if !known || broken != nil {
			continue
		}
		if got := crc32.Checksum(part, castagnoli); got != m.Chunks[i] {
			broken = invalid("%s: checksum mismatch in %d bytes at offset %d: want %08x, got %08x",
				f.Name(), len(part), i*chunkBytes, m.Chunks[i], got)
			if m.Codec == None {
				return nil, broken
			}
		}
	}
	return content, broken
}
