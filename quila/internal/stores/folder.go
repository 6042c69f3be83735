package stores

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"atenia/internal/store/durable"
	"atenia/quila/internal/index"
)

// The levels of compression.
const (
	hot     = 3  // of a block that this session writes
	archive = 19 // of one that was archived
)

// A ColdConfig configures a [Folder].
type ColdConfig struct {
	Dir string
	FS  durable.FS // nil: the operating system's
	// Wrote, if not nil, learns of every block that was written and its level.
	Wrote func(block uint64, level int)
}

// A ColdRecord is a key and where its bytes lie in a block's raw bytes.
type ColdRecord struct {
	Key            uint64
	Offset, Length uint32
}

// ColdStats count what a folder did.
type ColdStats struct {
	Reads, Writes int64
	Rebuilt       bool     // Open had to read all blocks
	Damaged       []string // files that are no blocks
}

// The errors of a folder, for [errors.Is].
var (
	ErrNotFound = errors.New("no such record")
	errDamaged  = errors.New("damaged block")
	errClosed   = errors.New("the folder is closed")
)

// A blockError says what is wrong with a block. It matches [errDamaged].
type blockError struct {
	File, Why string
	Err       error
}

func (e *blockError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("cold block %s: %s: %v", e.File, e.Why, e.Err)
	}
	return fmt.Sprintf("cold block %s: %s", e.File, e.Why)
}

// Is reports whether target is [errDamaged].
func (e *blockError) Is(target error) bool { return target == errDamaged }

// Unwrap returns the cause.
func (e *blockError) Unwrap() error { return e.Err }

// A place is where a record is.
type place struct {
	block          uint64
	offset, length uint32
}

// A Folder is a folder of blocks. It is safe for concurrent use: reads run
// beside each other, changes alone.
type Folder struct {
	cfg   ColdConfig
	codec codec
	reads atomic.Int64

	mu     sync.RWMutex
	index  *index.Tree[place]
	blocks map[uint64]blockInfo
	stats  ColdStats
	clean  bool // the index file is that of these blocks
	closed bool
}

// A blockInfo is what a folder knows of a block.
type blockInfo struct {
	size  int64 // of the file
	level int
}

// OpenCold opens a folder, which the first [Folder.Put] creates.
func OpenCold(c ColdConfig) (*Folder, error) {
	c.FS = durable.Default(c.FS)
	f := &Folder{cfg: c, index: index.NewTree[place](), blocks: map[uint64]blockInfo{}}
	sizes, err := f.list()
	if err != nil {
		return nil, err
	}
	if f.clean = f.readIndex(sizes); !f.clean && len(sizes) > 0 {
		f.rebuild(sizes)
	}
	return f, nil
}

// list returns the sizes of the files that are named like blocks.
func (f *Folder) list() (map[uint64]int64, error) {
	entries, err := f.cfg.FS.ReadDir(f.cfg.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sizes := map[uint64]int64{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		n, err := strconv.ParseUint(name, 16, 64)
		if !ok || err != nil || fileName(n) != e.Name() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		sizes[n] = info.Size()
	}
	return sizes, nil
}

const suffix = ".zst"

func fileName(block uint64) string { return fmt.Sprintf("%016x%s", block, suffix) }

func (f *Folder) path(block uint64) string { return filepath.Join(f.cfg.Dir, fileName(block)) }

// rebuild reads every block for its keys.
func (f *Folder) rebuild(sizes map[uint64]int64) {
	f.stats.Rebuilt = true
	f.index = index.NewTree[place]()
	for _, block := range slices.Sorted(maps.Keys(sizes)) {
		level, recs, _, err := f.load(block)
		if err != nil {
			f.stats.Damaged = append(f.stats.Damaged, fileName(block))
			continue
		}
		f.note(block, blockInfo{sizes[block], level}, recs)
	}
}

// note enters a block into the index.
func (f *Folder) note(block uint64, info blockInfo, recs []ColdRecord) {
	f.blocks[block] = info
	for _, r := range recs {
		f.index.Put(r.Key, place{block, r.Offset, r.Length})
	}
}

// forget takes the records of a block out of the index, but for those that
// another block has by now.
func (f *Folder) forget(block uint64, recs []ColdRecord) {
	for _, r := range recs {
		if p, ok := f.index.Get(r.Key); ok && p.block == block {
			f.index.Delete(r.Key)
		}
	}
	delete(f.blocks, block)
}

// load reads and checks a block.
func (f *Folder) load(block uint64) (level int, recs []ColdRecord, raw []byte, err error) {
	f.reads.Add(1)
	content, err := f.cfg.FS.ReadFile(f.path(block))
	if err != nil {
		return 0, nil, nil, err
	}
	plain, err := f.codec.decode(content)
	if err != nil {
		return 0, nil, nil, &blockError{fileName(block), "it does not decode", err}
	}
	level, recs, raw, why := parse(plain)
	if why != "" {
		return 0, nil, nil, &blockError{File: fileName(block), Why: why}
	}
	return level, recs, raw, nil
}

// Put writes a block, in place of the one of that number. Offsets are those in
// raw. It is on disk when Put returns.
func (f *Folder) Put(block uint64, recs []ColdRecord, raw []byte) error {
	for _, r := range recs {
		if uint64(r.Offset)+uint64(r.Length) > uint64(len(raw)) {
			return &blockError{File: fileName(block), Why: fmt.Sprintf("record %#x ends at %d of %d bytes", r.Key, uint64(r.Offset)+uint64(r.Length), len(raw))}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var old []ColdRecord
	if _, ok := f.blocks[block]; ok {
		if _, recs, _, err := f.load(block); err == nil {
			old = recs
		}
	}
	if err := f.write(block, hot, recs, raw); err != nil {
		return err
	}
	info := f.blocks[block]
	f.forget(block, old)
	f.note(block, info, recs)
	return nil
}

// write writes a block's file. The caller holds the mutex.
func (f *Folder) write(block uint64, level int, recs []ColdRecord, raw []byte) error {
	if err := f.change(); err != nil {
		return err
	}
	content := f.codec.encode(level, compose(level, recs, raw))
	err := durable.ReplaceIn(f.cfg.FS, f.path(block), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	f.stats.Writes++
	f.blocks[block] = blockInfo{int64(len(content)), level}
	if f.cfg.Wrote != nil {
		f.cfg.Wrote(block, level)
	}
	return nil
}

// change makes the folder ready for a change: it exists and has no index file,
// which would be of other blocks. The caller holds the mutex.
func (f *Folder) change() error {
	if f.closed {
		return errClosed
	}
	if f.clean {
		if err := f.cfg.FS.Remove(f.indexPath()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := f.cfg.FS.SyncDir(f.cfg.Dir); err != nil {
			return err
		}
		f.clean = false
	}
	return f.cfg.FS.MkdirAll(f.cfg.Dir, 0o777)
}

// Get returns a record. It reads one block.
func (f *Folder) Get(key uint64) ([]byte, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	p, ok := f.index.Get(key)
	if !ok {
		return nil, fmt.Errorf("cold record %#x: %w", key, ErrNotFound)
	}
	_, recs, raw, err := f.load(p.block)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(recs, ColdRecord{key, p.offset, p.length}) {
		return nil, &blockError{File: fileName(p.block), Why: "it lacks a record that its index has"}
	}
	return raw[p.offset : p.offset+p.length : p.offset+p.length], nil
}

// Read returns a block's records and raw bytes.
func (f *Folder) Read(block uint64) ([]ColdRecord, []byte, error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	_, recs, raw, err := f.load(block)
	return recs, raw, err
}

// Remove deletes a block. It is no error if there is none.
func (f *Folder) Remove(block uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.blocks[block]; !ok {
		return nil
	}
	_, recs, _, err := f.load(block)
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	if err := f.change(); err != nil {
		return err
	}
	if err := f.cfg.FS.Remove(f.path(block)); err != nil {
		return err
	}
	f.forget(block, recs)
	return f.cfg.FS.SyncDir(f.cfg.Dir)
}

// Archive rewrites the blocks that were written since the last time, at the
// level for what stays.
func (f *Folder) Archive() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, block := range slices.Sorted(maps.Keys(f.blocks)) {
		if f.blocks[block].level == archive {
			continue
		}
		_, recs, raw, err := f.load(block)
		if err == nil {
			err = f.write(block, archive, recs, raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Level returns the level that a block is compressed at.
func (f *Folder) Level(block uint64) (level int, ok bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	info, ok := f.blocks[block]
	return info.level, ok
}

// Blocks returns the numbers of all blocks, ascending.
func (f *Folder) Blocks() []uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Sorted(maps.Keys(f.blocks))
}

// Stats returns what the folder did since it was opened.
func (f *Folder) Stats() ColdStats {
	f.mu.RLock()
	defer f.mu.RUnlock()
	s := f.stats
	s.Reads, s.Damaged = f.reads.Load(), slices.Clone(f.stats.Damaged)
	return s
}

// Close writes the index. The folder must not be used afterwards.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	f.codec.close()
	if f.clean || len(f.blocks) == 0 {
		return nil
	}
	return f.writeIndex()
}

// All yields the records of all blocks by ascending key: where they are and how
// long.
func (f *Folder) All() iter.Seq2[uint64, ColdRecord] {
	return func(yield func(block uint64, r ColdRecord) bool) {
		for key, p := range f.index.All() {
			if !yield(p.block, ColdRecord{key, p.offset, p.length}) {
				return
			}
		}
	}
}
