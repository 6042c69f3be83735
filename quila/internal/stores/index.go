package stores

// The index file: the blocks it is of and the places of all records, so that
// opening a folder does not read its blocks.
//
//	"QCLI"  u32 version  u64 blocks  u64 records
//	blocks × {u64 block, u64 size, u32 level}   records × {u64 key, u64 block, u32 offset, u32 length}
//	u64 XXH3 of all before

import (
	"encoding/binary"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/zeebo/xxh3"

	"atenia/internal/store/durable"
)

const (
	indexMagic  = "QCLI"
	indexHeader = 24
	blockRow    = 20
	recordRow   = 24
	indexSum    = 8
)

func (f *Folder) indexPath() string { return filepath.Join(f.cfg.Dir, "index") }

// writeIndex writes the index file. The caller holds the mutex.
func (f *Folder) writeIndex() error {
	le := binary.LittleEndian
	b := append(make([]byte, 0, indexHeader+blockRow*len(f.blocks)+recordRow*f.index.Len()+indexSum), indexMagic...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint64(b, uint64(len(f.blocks)))
	b = le.AppendUint64(b, uint64(f.index.Len()))
	for _, block := range slices.Sorted(maps.Keys(f.blocks)) {
		info := f.blocks[block]
		b = le.AppendUint64(b, block)
		b = le.AppendUint64(b, uint64(info.size))
		b = le.AppendUint32(b, uint32(info.level))
	}
	for key, p := range f.index.All() {
		b = le.AppendUint64(b, key)
		b = le.AppendUint64(b, p.block)
		b = le.AppendUint32(b, p.offset)
		b = le.AppendUint32(b, p.length)
	}
	b = le.AppendUint64(b, xxh3.Hash(b))
	return durable.ReplaceIn(f.cfg.FS, f.indexPath(), func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// readIndex fills the index from its file and reports whether that is of the
// blocks that lie in the folder.
func (f *Folder) readIndex(sizes map[uint64]int64) bool {
	le := binary.LittleEndian
	b, err := f.cfg.FS.ReadFile(f.indexPath())
	if err != nil || len(b) < indexHeader+indexSum || string(b[:4]) != indexMagic || le.Uint32(b[4:]) != version {
		return false
	}
	body := b[:len(b)-indexSum]
	blocks, records := le.Uint64(b[8:]), le.Uint64(b[16:])
	rest := uint64(len(body) - indexHeader)
	if xxh3.Hash(body) != le.Uint64(b[len(body):]) || blocks != uint64(len(sizes)) || records > rest/recordRow || rest != blocks*blockRow+records*recordRow {
		return false
	}
	rows := body[indexHeader:]
	found := map[uint64]blockInfo{}
	for ; blocks > 0; blocks-- {
		block, info := le.Uint64(rows), blockInfo{int64(le.Uint64(rows[8:])), int(le.Uint32(rows[16:]))}
		if size, ok := sizes[block]; !ok || size != info.size {
			return false
		}
		found[block] = info
		rows = rows[blockRow:]
	}
	if len(found) != len(sizes) {
		return false
	}
	f.blocks = found
	for ; records > 0; records-- {
		f.index.Put(le.Uint64(rows), place{le.Uint64(rows[8:]), le.Uint32(rows[16:]), le.Uint32(rows[20:])})
		rows = rows[recordRow:]
	}
	return true
}
