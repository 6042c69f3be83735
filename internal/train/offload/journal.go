package offload

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"
)

// A journal records the step of a state and the current version of every layer's
// files. Replacing it commits a step. Its text:
//
//	version=1
//	step=3
//	written_bytes=98765
//	chunk_elements=1397760
//	beta1=0.9
//	beta2=0.999
//	epsilon=1e-08
//	decay=0.01
//	note="epoch 1"
//	layer_count=1
//
//	name="blk.0"
//	elements=1000
//	no_decay=0
//	version=1
//	sums=0123abcd:4567ef00
//
//	sum=89abcdef
//
// There is one pair of sums per chunk, the CRC-32C of its state and of its
// parameters; the last line is the CRC-32C of all lines before it.
type journal struct {
	step          uint64
	written       uint64 // bytes, since the state was created
	chunkElements int
	opt           Optimizer
	note          string
	layers        []layerState
}

// A layerState is the journal's record of a layer.
type layerState struct {
	Layer
	version int        // of its files: 0 or 1
	sums    []chunkSum // one per chunk
}

// chunkSum holds the CRC-32C of a chunk's state and of its parameters.
type chunkSum struct{ state, params uint32 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (j *journal) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "version=1\nstep=%d\nwritten_bytes=%d\nchunk_elements=%d\n", j.step, j.written, j.chunkElements)
	for _, f := range []struct {
		name string
		x    float32
	}{{"beta1", j.opt.Beta1}, {"beta2", j.opt.Beta2}, {"epsilon", j.opt.Epsilon}, {"decay", j.opt.Decay}} {
		fmt.Fprintf(&b, "%s=%s\n", f.name, strconv.FormatFloat(float64(f.x), 'g', -1, 32))
	}
	fmt.Fprintf(&b, "note=%s\nlayer_count=%d\n\n", strconv.QuoteToASCII(j.note), len(j.layers))
	for i := range j.layers {
		l := &j.layers[i]
		noDecay := 0
		if l.NoDecay {
			noDecay = 1
		}
		fmt.Fprintf(&b, "name=%s\nelements=%d\nno_decay=%d\nversion=%d\nsums=",
			strconv.QuoteToASCII(l.Name), l.Elements, noDecay, l.version)
		for k, s := range l.sums {
			if k > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%08x:%08x", s.state, s.params)
		}
		b.WriteString("\n\n")
	}
	fmt.Fprintf(&b, "sum=%08x\n", crc32.Checksum(b.Bytes(), castagnoli))
	return b.Bytes()
}

// parseJournal accepts exactly what text writes.
func parseJournal(data []byte) (*journal, error) {
	p := &journalParser{rest: string(data)}
	j := &journal{}
	if v := p.number("version", 1<<32); v != 1 {
		p.failf("version %d; this program knows version 1", v)
	}
	j.step = p.number("step", math.MaxUint64)
	j.written = p.number("written_bytes", math.MaxUint64)
	j.chunkElements = int(p.number("chunk_elements", maxChunkElements))
	j.opt = Optimizer{Beta1: p.float("beta1"), Beta2: p.float("beta2"), Epsilon: p.float("epsilon"), Decay: p.float("decay")}
	j.note = p.quoted("note")
	count := p.number("layer_count", maxElements)
	p.blank()
	if p.err == nil && j.chunkElements == 0 {
		p.failf("chunks of no elements")
	}
	for i := uint64(0); i < count && p.err == nil; i++ {
		l := layerState{Layer: Layer{Name: p.quoted("name")}}
		l.Elements = int(p.number("elements", maxElements))
		l.NoDecay = p.number("no_decay", 1) == 1
		l.version = int(p.number("version", 1))
		l.sums = p.sums(l.Elements, j.chunkElements)
		p.blank()
		j.layers = append(j.layers, l)
	}
	body := len(data) - len(p.rest)
	if sum := p.value("sum"); p.err == nil && sum != fmt.Sprintf("%08x", crc32.Checksum(data[:body], castagnoli)) {
		p.failf("the sum of its lines is not %s", sum)
	}
	if p.err == nil && p.rest != "" {
		p.line++
		p.failf("something follows the last line")
	}
	if p.err == nil {
		if err := checkLayers(layersOf(j)); err != nil {
			p.err = fmt.Errorf("%w: %w", errFormat, err)
		}
	}
	// Other spellings of the same numbers would have another sum.
	if p.err == nil && !bytes.Equal(j.text(), data) {
		p.failf("numbers are not written as this program writes them")
	}
	if p.err != nil {
		return nil, p.err
	}
	return j, nil
}

func layersOf(j *journal) []Layer {
	out := make([]Layer, len(j.layers))
	for i := range j.layers {
		out[i] = j.layers[i].Layer
	}
	return out
}

// A journalParser reads a text line by line and keeps the first error.
type journalParser struct {
	rest string
	line int
	err  error
}

func (p *journalParser) failf(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: line %d: %s", errFormat, p.line, fmt.Sprintf(format, args...))
	}
}

func (p *journalParser) next() string {
	p.line++
	s, rest, ok := strings.Cut(p.rest, "\n")
	if !ok {
		p.failf("the text ends in the middle of a line")
		return ""
	}
	p.rest = rest
	return s
}

func (p *journalParser) blank() {
	if p.err == nil && p.next() != "" {
		p.failf("want an empty line")
	}
}

func (p *journalParser) value(key string) string {
	if p.err != nil {
		return ""
	}
	s := p.next()
	k, v, ok := strings.Cut(s, "=")
	if !ok || k != key {
		p.failf("got %.40q, want %s=…", s, key)
	}
	return v
}

func (p *journalParser) number(key string, limit uint64) uint64 {
	v := p.value(key)
	if p.err != nil {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil || n > limit {
		p.failf("%s is %.40q, want a number up to %d", key, v, limit)
		return 0
	}
	return n
}

func (p *journalParser) float(key string) float32 {
	v := p.value(key)
	if p.err != nil {
		return 0
	}
	x, err := strconv.ParseFloat(v, 32)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		p.failf("%s is %.40q, want a finite number", key, v)
		return 0
	}
	return float32(x)
}

func (p *journalParser) quoted(key string) string {
	v := p.value(key)
	if p.err != nil {
		return ""
	}
	s, err := strconv.Unquote(v)
	if err != nil {
		p.failf("%s is %.40q, want a quoted text", key, v)
	}
	return s
}

// sums reads one pair per chunk. It allocates no more than the line holds.
func (p *journalParser) sums(elements, perChunk int) []chunkSum {
	v := p.value("sums")
	if p.err != nil {
		return nil
	}
	const width = len("00000000:00000000 ")
	if want := chunks(elements, perChunk); (len(v)+1)%width != 0 || (len(v)+1)/width != want {
		p.failf("sums of %d bytes, want those of %d chunks", len(v), want)
		return nil
	}
	out := make([]chunkSum, 0, (len(v)+1)/width)
	for s := range strings.SplitSeq(v, " ") {
		a, b, _ := strings.Cut(s, ":")
		x, err1 := strconv.ParseUint(a, 16, 32)
		y, err2 := strconv.ParseUint(b, 16, 32)
		if err1 != nil || err2 != nil {
			p.failf("%.40q are no sums", s)
			return nil
		}
		out = append(out, chunkSum{uint32(x), uint32(y)})
	}
	return out
}
