package media

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"atenia/internal/store/durable"
)

// A Float is the type of samples in memory.
type Float interface{ float32 | float64 }

// A Codec is a file format.
type Codec uint8

// The codecs.
const (
	WAV Codec = iota
	FLAC
	NPY // a NumPy array [channels, frames] of floats, without a rate; written only
)

var codecNames = [...]string{WAV: "wav", FLAC: "flac", NPY: "npy"}

// String returns "wav", "flac" or "npy".
func (c Codec) String() string {
	if int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("codec %d", uint8(c))
}

// CodecOf returns the codec for a file name, by its extension.
func CodecOf(path string) (Codec, bool) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".wav", ".wave", ".rf64", ".bw64":
		return WAV, true
	case ".flac":
		return FLAC, true
	case ".npy":
		return NPY, true
	}
	return 0, false
}

// A Format describes the samples of a file. Zero Bits mean 16, or 32 for Float.
type Format struct {
	Codec    Codec
	Rate     int // frames per second
	Channels int
	Bits     int  // per sample
	Float    bool // samples are 32 or 64-bit floating point: WAV and NPY, which has no others
}

// String describes the format, with rate and channels, in one line.
func (f Format) String() string {
	kind := "bit"
	if f.Float {
		kind = "bit float"
	}
	return fmt.Sprintf("%v, %d Hz, %d channels, %d %s", f.Codec, f.Rate, f.Channels, f.Bits, kind)
}

// Check returns every reason why a format cannot be written.
func (f Format) Check() error {
	_, err := f.withDefaults()
	return err
}

// withDefaults fills in zero fields and returns every fault.
func (f Format) withDefaults() (Format, error) {
	if f.Bits == 0 {
		f.Bits = 16
		if f.Float || f.Codec == NPY {
			f.Bits = 32
		}
	}
	f.Float = f.Float || f.Codec == NPY
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf("audio: "+format, args...)) }
	most, mostRate := 256, 1<<31-1
	switch f.Codec {
	case FLAC:
		most, mostRate = 8, 1<<20-1
	case NPY: // spectra and features have as many channels as bins
		most = 1 << 20
	}
	if f.Channels < 1 || f.Channels > most {
		fault("%d channels, want 1 to %d", f.Channels, most)
	}
	if f.Rate < 1 || f.Rate > mostRate {
		fault("a rate of %d Hz, want 1 to %d", f.Rate, mostRate)
	}
	switch {
	case f.Codec > NPY:
		fault("%v, want wav, flac or npy", f.Codec)
	case f.Float && (f.Codec == FLAC || f.Bits != 32 && f.Bits != 64):
		fault("%d-bit floating point in %v, want 32 or 64 in wav or npy", f.Bits, f.Codec)
	case !f.Float && f.Bits != 8 && f.Bits != 16 && f.Bits != 24 && (f.Bits != 32 || f.Codec == FLAC):
		fault("integers of %d bits in %v, want 8, 16, 24 or, in wav, 32", f.Bits, f.Codec)
	}
	return f, errors.Join(errs...)
}

// An Error is a fault in a file.
type Error struct {
	Codec  Codec
	Offset int64 // in bytes from the start
	Text   string
	Err    error // the cause, if any
}

// Error implements error.
func (e *Error) Error() string {
	s := fmt.Sprintf("%v: at byte %d: %s", e.Codec, e.Offset, e.Text)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// blockSamples bounds the buffer of a reader or writer: that many samples of
// all channels together, or one frame.
const blockSamples = 1 << 15

// A source decodes the frames of a file; it returns io.EOF after the last one.
type source interface {
	// read fills part of dst, [channels][frames].
	read(dst [][]float64) (int, error)
}

// A Reader reads the frames of a file sequentially.
type Reader struct {
	Format
	Frames int64 // in the file, if Sized
	Sized  bool  // Frames is known

	src   source
	block [][]float64 // [channels][frames] decoded
	pos   int         // frames of block that were delivered
	held  int         // frames of block
}

// NewReader reads a file of known size.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	return NewStream(io.NewSectionReader(r, 0, size))
}

// NewStream reads a file from a stream, such as a pipe.
func NewStream(r io.Reader) (*Reader, error) {
	in := &input{r: bufio.NewReaderSize(r, 1<<16)}
	head, err := in.r.Peek(4)
	if err != nil && (err != io.EOF || len(head) == 0) {
		return nil, in.fault("the first four bytes", err)
	}
	switch string(head) {
	case "RIFF", "RF64", "BW64":
		return readWAV(in)
	case "fLaC":
		return readFLAC(in)
	}
	if strings.HasPrefix(string(head), "ID3") { // tags that some programs write before FLAC
		return readFLAC(in)
	}
	return nil, &Error{Text: fmt.Sprintf("neither WAV nor FLAC: the file starts with %q", head)}
}

func newReader(f Format, frames int64, sized bool, src source) *Reader {
	return &Reader{Format: f, Frames: frames, Sized: sized, src: src, block: planar(f.Channels)}
}

// planar returns a block for the given number of channels.
func planar(channels int) [][]float64 {
	n := max(1, min(4096, blockSamples/channels))
	data := make([]float64, channels*n)
	rows := make([][]float64, channels)
	for c := range rows {
		rows[c] = data[c*n : (c+1)*n]
	}
	return rows
}

// Read fills dst, one slice of equal length per channel, and returns the number
// of frames read: fewer than requested only together with an error, which is
// io.EOF after the last frame.
func Read[F Float](r *Reader, dst [][]F) (int, error) {
	if len(dst) != r.Channels {
		return 0, fmt.Errorf("audio: %d slices, want one for each of %d channels", len(dst), r.Channels)
	}
	n := 0
	for n < len(dst[0]) {
		if r.pos == r.held {
			r.pos = 0
			var err error
			if r.held, err = r.src.read(r.block); r.held == 0 {
				return n, err // an error that came with frames is returned again
			}
		}
		part := min(r.held-r.pos, len(dst[0])-n)
		for c := range dst {
			for i, v := range r.block[c][r.pos : r.pos+part] {
				dst[c][n+i] = F(v)
			}
		}
		n, r.pos = n+part, r.pos+part
	}
	return n, nil
}

// A File is a [Reader] of an open file.
type File struct {
	*Reader
	f *os.File
}

// Open opens a WAV or FLAC file, detected by content. Close it when done.
func Open(path string) (*File, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewStream(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return &File{r, f}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// ReadFile reads a whole file into [channels][frames]. For long files use
// [Open] and [Read], which need bounded memory.
func ReadFile[F Float](path string) ([][]F, Format, error) {
	f, err := Open(path)
	if err != nil {
		return nil, Format{}, err
	}
	defer f.Close()
	all, err := ReadAll[F](f.Reader)
	if err != nil {
		return nil, Format{}, fmt.Errorf("%s: %w", path, err)
	}
	return all, f.Format, nil
}

// ReadAll reads what is left of a file into [channels][frames].
func ReadAll[F Float](r *Reader) ([][]F, error) {
	all := make([][]F, r.Channels)
	part := make([][]F, r.Channels)
	for c := range part {
		part[c] = make([]F, max(1, blockSamples/r.Channels))
	}
	for {
		n, err := Read(r, part)
		for c := range all {
			all[c] = append(all[c], part[c][:n]...)
		}
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// A sink encodes the frames of a file.
type sink interface {
	// write takes frames of equal length, [channels][frames], and returns how
	// many samples it clipped.
	write(src [][]float64) (clipped int64, err error)
	// finish completes the stream.
	finish() error
	// patch corrects the header, once the length is known.
	patch(at io.WriterAt) error
}

// A Writer writes frames sequentially.
type Writer struct {
	Format
	dst     sink
	block   [][]float64
	clipped int64
}

// NewWriter writes to a stream, whose header leaves lengths unknown;
// [WriteFile] fills them in. Close completes the stream, but does not close w.
func NewWriter(w io.Writer, f Format) (*Writer, error) {
	f, err := f.withDefaults()
	if err != nil {
		return nil, err
	}
	out := &Writer{Format: f, block: planar(f.Channels)}
	switch f.Codec {
	case FLAC:
		out.dst, err = writeFLAC(w, f)
	case NPY:
		out.dst, err = writeNPY(w, f)
	default:
		out.dst, err = writeWAV(w, f)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Write writes src, one slice of equal length per channel.
func Write[F Float](w *Writer, src [][]F) error {
	if len(src) != w.Channels {
		return fmt.Errorf("audio: %d slices, want one for each of %d channels", len(src), w.Channels)
	}
	part := make([][]float64, w.Channels)
	for at := 0; at < len(src[0]); at += len(w.block[0]) {
		n := min(len(src[0])-at, len(w.block[0]))
		for c := range src {
			if len(src[c]) != len(src[0]) {
				return fmt.Errorf("audio: channel %d has %d frames, channel 0 has %d", c, len(src[c]), len(src[0]))
			}
			for i, v := range src[c][at : at+n] {
				w.block[c][i] = float64(v)
			}
			part[c] = w.block[c][:n]
		}
		k, err := w.dst.write(part)
		if w.clipped += k; err != nil {
			return err
		}
	}
	return nil
}

// Clipped returns the number of samples that were beyond full scale, written as
// the nearest value, or NaN, written as 0.
func (w *Writer) Clipped() int64 { return w.clipped }

// Patch corrects the header for the frames written so far. What was written to the Writer's stream must be in at, from
// its start, and nothing be buffered between. A WAV file may be patched at any time, a FLAC file after Close.
func (w *Writer) Patch(at io.WriterAt) error { return w.dst.patch(at) }

// Close completes the stream.
func (w *Writer) Close() error { return w.dst.finish() }

// WriteFile writes the file at path atomically: write produces its frames, and
// the file appears complete or not at all.
func WriteFile(path string, f Format, write func(*Writer) error) error {
	return durable.WriteFileAt(nil, path, func(file durable.File) error {
		b := bufio.NewWriterSize(file, 1<<17)
		w, err := NewWriter(b, f)
		if err != nil {
			return err
		}
		if err := write(w); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		if err := b.Flush(); err != nil {
			return err
		}
		return w.dst.patch(file)
	})
}
