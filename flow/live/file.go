package live

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"atenia/flow/media"
	"atenia/internal/fault"
)

// file is the back end of sound files in the place of devices. The name is a path; "free=" before it lets the file run
// as fast as it can be read or written. A file that is read has its own rate and channels. The one that is written has
// the frames that an output was given, without the silence that a device plays ahead of them.
type file struct{}

func (file) Name() string { return "file" }

func (file) List() ([]Info, error) {
	return []Info{{"file", "WAV and FLAC files: file:PATH; file:free=PATH does not wait for the clock", true, true}}, nil
}

func (file) Open(in, out *Config) (DeviceStream, DeviceStream, error) {
	var began int64
	var i, o DeviceStream
	var err error
	if in != nil {
		if i, err = openReader(in, &began); err != nil {
			return nil, nil, err
		}
	}
	if out != nil {
		if o, err = openWriter(out, &began); err != nil {
			if i != nil {
				err = errors.Join(err, i.Close())
			}
			return nil, nil, err
		}
	}
	return i, o, nil
}

// free removes the prefix of a path that asks for no clock.
func (c *Config) path() string {
	const prefix = "free="
	if len(c.Name) >= len(prefix) && c.Name[:len(prefix)] == prefix {
		c.Free = true
		return c.Name[len(prefix):]
	}
	return c.Name
}

// nap is how long a real-time thread sleeps until it looks again whether a file's goroutine has come along.
const nap = 100_000 // ns

// A fileReader decodes ahead of the thread that takes the frames.
type fileReader struct {
	*clocked
	ring  *ring
	short int // frames of silence after the end of the file
	ended atomic.Bool
	lost  atomic.Bool // the file cannot be read further: why is set
	why   error
	end   chan struct{}
	close sync.Once
	all   fault.Group
}

func openReader(c *Config, began *int64) (DeviceStream, error) {
	path := c.path()
	f, err := media.Open(path)
	if err != nil {
		return nil, err
	}
	own := *c
	own.Rate, own.Channels = f.Rate, f.Channels
	r := &fileReader{clocked: newClocked(&own, true, began), end: make(chan struct{})}
	r.ring = newRing(max(4*own.Block, own.Rate/2) * own.Channels)
	r.fill = r.take
	r.all.Go(func() {
		if err := fault.Call(func() error { return r.pump(f) }); err != nil {
			r.why = fmt.Errorf("%s: %w", path, err)
			r.lost.Store(true)
		}
		r.ended.Store(true)
	})
	return r, nil
}

// pump decodes until the end.
func (r *fileReader) pump(f *media.File) error {
	defer f.Close() // only read
	rows, mixed := make([][]float32, f.Channels), make([]float32, 1024*f.Channels)
	for c := range rows {
		rows[c] = make([]float32, 1024)
	}
	for {
		n, err := media.Read(f.Reader, rows)
		for i := range n {
			for c := range rows {
				mixed[i*len(rows)+c] = rows[c][i]
			}
		}
		for !r.ring.write(mixed[:n*len(rows)]) {
			select {
			case <-r.end:
				return nil
			default:
				SleepUntil(Now() + 10*nap)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take moves frames to the caller.
func (r *fileReader) take(x []float32, _ int64) Status {
	for {
		ended := r.ended.Load() // before looking: what is then in the ring is the rest
		n := r.ring.read(x)
		if x = x[n:]; len(x) == 0 {
			return OK
		}
		if n == 0 {
			switch {
			case r.stopped.Load():
				return Stopped
			case ended:
				r.short += len(x) / r.Channels
				if clear(x); r.lost.Load() {
					return Gone
				}
				return End
			}
			r.timer.until(r.timer.now() + nap)
		}
	}
}

func (r *fileReader) Format() Format { return r.form() }

func (r *fileReader) Err() error {
	if r.lost.Load() {
		return r.why
	}
	return nil
}

func (r *fileReader) Close() error {
	r.close.Do(func() { close(r.end) })
	r.all.Wait()
	return nil
}

// A fileWriter records what it is given.
type fileWriter struct {
	*clocked
	to *Recorder
}

func openWriter(c *Config, began *int64) (DeviceStream, error) {
	path := c.path()
	to, err := Record(path, media.Format{Rate: c.Rate, Channels: c.Channels})
	if err != nil {
		return nil, err
	}
	w := &fileWriter{newClocked(c, false, began), to}
	w.drain = w.put
	return w, nil
}

// put waits for room instead of losing frames.
func (w *fileWriter) put(x []float32, _ int64) Status {
	for w.to.ring.room() < len(x) && !w.to.failed.Load() {
		if w.stopped.Load() {
			return Stopped
		}
		w.timer.until(w.timer.now() + nap)
	}
	if !w.to.Put(x) {
		return Gone
	}
	return OK
}

func (w *fileWriter) Format() Format { return w.form() }

func (w *fileWriter) Err() error {
	if !w.to.failed.Load() {
		return nil
	}
	<-w.to.done
	return w.to.err
}

func (w *fileWriter) Close() error { return w.to.Close() }
