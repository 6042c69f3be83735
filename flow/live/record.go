package live

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"atenia/flow/media"
	"atenia/internal/fault"
)

// A Recorder writes frames to a file while they come. [Recorder.Put] may be called on a real-time thread; a goroutine
// encodes and writes.
//
// Every half second the file is made whole: what has come is written, the header of a WAV file gets the length, and the
// system is told to store it. If the process is killed, or power fails, at most the last second is missing. (A FLAC
// file's header has no length until the end, which players accept; up to one block of 4096 frames more may be missing.)
type Recorder struct {
	Path   string
	Format media.Format

	ring    *ring
	lost    atomic.Int64 // frames
	written atomic.Int64 // frames
	stored  atomic.Int64 // frames of a whole file
	failed  atomic.Bool
	end     chan struct{}
	done    chan struct{}
	err     error
	buffer  []float32   // interleaved
	rows    [][]float32 // the same by channels
}

const (
	recordSeconds = 4 // that the ring of a recorder holds
	wholeEvery    = time.Second / 2
	pumpEvery     = 10 * time.Millisecond
)

// Record creates a WAV or FLAC file, by the name's extension, and records to it. A file of that name is replaced at
// once. Zero bits of f are 32-bit float in WAV and 24 bits in FLAC. Call [Recorder.Close].
func Record(path string, f media.Format) (*Recorder, error) {
	codec, ok := media.CodecOf(path)
	if !ok {
		return nil, fmt.Errorf("%s: want a name that ends with .wav or .flac", path)
	}
	f.Codec = codec
	switch {
	case f.Bits == 0 && codec == media.WAV:
		f.Float, f.Bits = true, 32
	case f.Bits == 0:
		f.Bits = 24
	}
	if err := f.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, err
	}
	r := &Recorder{Path: path, Format: f, ring: newRing(recordSeconds * max(f.Rate, 1<<15) * f.Channels), end: make(chan struct{}), done: make(chan struct{}),
		buffer: make([]float32, 4096*f.Channels), rows: make([][]float32, f.Channels)}
	for c := range r.rows {
		r.rows[c] = make([]float32, 4096)
	}
	b := bufio.NewWriterSize(file, 1<<16)
	w, err := media.NewWriter(b, f)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	go func() {
		defer close(r.done)
		r.err = fault.Call(func() error { return r.pump(w, b, file) })
		if r.failed.Store(r.err != nil); r.err != nil {
			r.err = fmt.Errorf("%s: %w", r.Path, r.err)
		}
		r.err = errors.Join(r.err, file.Close())
	}()
	return r, nil
}

// Put adds interleaved frames. It returns false, and counts them as lost, if the file cannot be written fast enough.
func (r *Recorder) Put(x []float32) bool {
	if r.failed.Load() || !r.ring.write(x) {
		r.lost.Add(int64(len(x) / r.Format.Channels))
		return false
	}
	return true
}

// Lost returns the frames that were lost.
func (r *Recorder) Lost() int64 { return r.lost.Load() }

// Frames returns the frames that were written so far.
func (r *Recorder) Frames() int64 { return r.written.Load() }

// Close writes what has come and completes the file.
func (r *Recorder) Close() error {
	select {
	case <-r.end:
	default:
		close(r.end)
	}
	<-r.done
	return r.err
}

// pump writes what comes.
func (r *Recorder) pump(w *media.Writer, b *bufio.Writer, file *os.File) error {
	whole := func(last bool) error {
		if last {
			if err := w.Close(); err != nil {
				return err
			}
		}
		if err := b.Flush(); err != nil {
			return err
		}
		if last || w.Codec == media.WAV {
			if err := w.Patch(file); err != nil {
				return err
			}
		}
		if err := file.Sync(); err != nil {
			return err
		}
		r.stored.Store(r.written.Load())
		return nil
	}
	if err := whole(false); err != nil {
		return err
	}
	tick := time.NewTicker(pumpEvery)
	defer tick.Stop()
	for last := time.Now(); ; {
		ended := false
		select {
		case <-r.end:
			ended = true
		case <-tick.C:
		}
		for r.ring.held() > 0 {
			if err := r.take(w); err != nil {
				r.failed.Store(true)
				return err
			}
		}
		if ended {
			return whole(true)
		}
		if now := time.Now(); now.Sub(last) >= wholeEvery {
			if last = now; whole(false) != nil {
				r.failed.Store(true)
				return whole(false)
			}
		}
	}
}

// take writes a part of the ring.
func (r *Recorder) take(w *media.Writer) error {
	ch := r.Format.Channels
	n := r.ring.read(r.buffer) / ch
	part := make([][]float32, ch)
	for c := range part {
		part[c] = r.rows[c][:n]
		for i := range part[c] {
			part[c][i] = r.buffer[i*ch+c]
		}
	}
	if err := media.Write(w, part); err != nil {
		return err
	}
	r.written.Add(int64(n))
	return nil
}
