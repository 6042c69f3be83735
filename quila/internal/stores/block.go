package stores

// The bytes of a block and how they are compressed.

import (
	"encoding/binary"
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	blockMagic  = "QCLD"
	version     = 1
	headerBytes = 16
	recordBytes = 16
	// maxBlock bounds what a block decodes to, so that a forged frame costs no more.
	maxBlock = 256 << 20
)

// compose returns what a block's frame holds.
func compose(level int, recs []ColdRecord, raw []byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, 0, headerBytes+recordBytes*len(recs)+len(raw))
	b = append(b, blockMagic...)
	b = le.AppendUint32(b, version)
	b = le.AppendUint32(b, uint32(level))
	b = le.AppendUint32(b, uint32(len(recs)))
	for _, r := range recs {
		b = le.AppendUint64(b, r.Key)
		b = le.AppendUint32(b, r.Offset)
		b = le.AppendUint32(b, r.Length)
	}
	return append(b, raw...)
}

// parse is the reverse of compose; why says what is wrong, if anything.
func parse(b []byte) (level int, recs []ColdRecord, raw []byte, why string) {
	le := binary.LittleEndian
	if len(b) < headerBytes || string(b[:4]) != blockMagic {
		return 0, nil, nil, "it does not begin like a block"
	}
	if v := le.Uint32(b[4:]); v != version {
		return 0, nil, nil, "it is of another version"
	}
	level = int(le.Uint32(b[8:]))
	n := int(le.Uint32(b[12:]))
	if n > (len(b)-headerBytes)/recordBytes {
		return 0, nil, nil, "it has fewer records than it says"
	}
	raw = b[headerBytes+recordBytes*n:]
	recs = make([]ColdRecord, n)
	for i := range recs {
		r := b[headerBytes+recordBytes*i:]
		recs[i] = ColdRecord{le.Uint64(r), le.Uint32(r[8:]), le.Uint32(r[12:])}
		if uint64(recs[i].Offset)+uint64(recs[i].Length) > uint64(len(raw)) {
			return 0, nil, nil, "a record lies outside of it"
		}
	}
	return level, recs, raw, ""
}

// A codec compresses blocks. Its encoders are made when they are first needed.
type codec struct {
	mu  sync.Mutex
	enc map[int]*zstd.Encoder
	dec *zstd.Decoder
}

func (c *codec) encode(level int, data []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.enc[level]
	if e == nil { // one segment: only then small frames have their size, too
		e, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true)) // no option fails
		if c.enc == nil {
			c.enc = map[int]*zstd.Encoder{}
		}
		c.enc[level] = e
	}
	return e.EncodeAll(data, nil)
}

var errNotAFrame = errors.New("it is not one frame with its size and checksum")

// decode returns what a frame holds, which has to be the whole of content.
func (c *codec) decode(content []byte) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(content); err != nil {
		return nil, err
	}
	if h.Skippable || !h.HasFCS || !h.HasCheckSum || h.FrameContentSize > maxBlock {
		return nil, errNotAFrame
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dec == nil {
		c.dec, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlock)) // no option fails
	}
	// The size is believed as far as frames are likely to grow, so that a forged
	// one costs no memory.
	const likelyRatio = 128
	data, err := c.dec.DecodeAll(content, make([]byte, 0, min(h.FrameContentSize, uint64(len(content))*likelyRatio)))
	if err == nil && uint64(len(data)) != h.FrameContentSize {
		err = errNotAFrame
	}
	return data, err
}

func (c *codec) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dec != nil {
		c.dec.Close()
	}
	c.enc, c.dec = nil, nil
}
