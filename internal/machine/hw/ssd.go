package hw

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"atenia/internal/fault"
	"atenia/internal/machine/ledger"
	"atenia/internal/store/durable"
)

// ssdOptions configure [measureSSD]. The zero value takes three to five seconds
// and half a gigabyte of disk.
type ssdOptions struct {
	FileBytes  int64         // size of the file that is read; 0 = 512 MiB
	WriteBytes int64         // written and synced in a window; 0 = 64 MiB
	Sequential time.Duration // of a window; 0 = 1 s
	Random     time.Duration // of a window; 0 = 0.5 s
	Windows    int           // windows per measurement, of which the slowest counts; 0 = 2
}

// The workloads: reads as a streaming reader issues them, and small reads with
// enough in flight to saturate a disk.
const (
	sequentialBytes, sequentialDepth = 4 << 20, 4
	randomBytes, randomDepth         = 4 << 10, 32
	touchedBytes                     = 64 << 20
)

// settling is how long writes may affect a device afterwards.
const settling = 150 * time.Millisecond

// An ioRate is the rate of the slowest window.
type ioRate struct {
	BytesPerSecond float64   `json:"bytes_per_second"`
	PerSecond      float64   `json:"per_second"` // calls
	MeanSeconds    float64   `json:"mean_seconds"`
	P99Seconds     float64   `json:"p99_seconds"`
	Windows        []float64 `json:"windows"` // bytes per second, in the order of measurement
}

// An ssdProfile is the measured speed of the storage below a directory.
type ssdProfile struct {
	Dir string `json:"dir"`
	// Direct is false if the file system does not support direct I/O; the page
	// cache is then part of the measurement.
	Direct bool   `json:"direct"`
	Read   ioRate `json:"read"`   // 4 MiB sequential, four in flight
	Random ioRate `json:"random"` // 4 KiB random, 32 in flight
	Write  ioRate `json:"write"`  // sequential, including the final sync
	// TouchBytesPerSecond is the rate of first writes to fresh memory, which limits
	// reads into memory that is not reused.
	TouchBytesPerSecond float64 `json:"touch_bytes_per_second"`
}

// measureSSD measures the storage of a directory with a file that it creates
// there and removes. Concurrent disk traffic lowers the result.
func measureSSD(ctx context.Context, dir string, o ssdOptions) (ssdProfile, error) {
	o.complete()
	m := &ssdMeasurement{ssdOptions: o, p: ssdProfile{Dir: dir}}
	f, remove, err := durable.TempFile(dir, ".measure.tmp-")
	if err != nil {
		return ssdProfile{}, fmt.Errorf("measure storage: %w", err)
	}
	if err = m.write(ctx, f); err == nil {
		err = m.read(ctx, f.Name())
	}
	if err := errors.Join(err, remove()); err != nil {
		return ssdProfile{}, fmt.Errorf("measure storage: %w", err)
	}
	return m.p, nil
}

func (o *ssdOptions) complete() {
	or := func(v *int64, def, least int64) {
		if *v <= 0 {
			*v = def
		}
		*v = max(least, *v/sequentialBytes*sequentialBytes)
	}
	or(&o.FileBytes, 512<<20, sequentialBytes)
	or(&o.WriteBytes, 64<<20, sequentialBytes)
	if o.Sequential <= 0 {
		o.Sequential = time.Second
	}
	if o.Random <= 0 {
		o.Random = time.Second / 2
	}
	if o.Windows <= 0 {
		o.Windows = 2
	}
}

type ssdMeasurement struct {
	ssdOptions
	p ssdProfile
}

// write fills the file and measures the first write windows while doing so.
func (m *ssdMeasurement) write(ctx context.Context, f *os.File) error {
	mem, err := ledger.NewBlock(ledger.Process, ledger.Samples, sequentialBytes)
	if err != nil {
		return err
	}
	defer mem.Release()
	rng := rand.NewChaCha8([32]byte{1}) // incompressible
	_, _ = rng.Read(mem.Bytes)
	var windows []ssdWindow
	w := ssdWindow{}
	for at, left := int64(0), m.WriteBytes; at < m.FileBytes; at += sequentialBytes {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, _ = rng.Read(mem.Bytes[:64]) // no two blocks are equal
		start := time.Now()
		_, err := f.Write(mem.Bytes)
		last := left <= sequentialBytes || at+sequentialBytes >= m.FileBytes
		if err == nil && last {
			err = f.Sync()
		}
		if err != nil {
			return err
		}
		w.add(sequentialBytes, time.Since(start))
		if left -= sequentialBytes; last {
			w.wall = w.sum()
			windows, w, left = append(windows, w), ssdWindow{}, m.WriteBytes
		}
	}
	m.p.Write = slowest(windows[:min(len(windows), m.Windows)])
	return nil
}

func (m *ssdMeasurement) read(ctx context.Context, path string) error {
	f, err := durable.OpenDirect(path)
	if err != nil {
		return err
	}
	defer f.Close()
	f.Drop()
	m.p.Direct = f.Direct()
	start := time.Now()
	mem, err := ledger.NewBlock(ledger.Process, ledger.Samples, touchedBytes)
	if err != nil {
		return err
	}
	touch(mem.Bytes)
	m.p.TouchBytesPerSecond = touchedBytes / time.Since(start).Seconds()
	mem.Release()
	// Huge pages, as a streaming reader uses: with small pages a read is split into
	// many segments and was half as fast.
	if mem, err = ledger.NewHugeBlock(ledger.Process, ledger.Samples, touchedBytes); err != nil {
		return err
	}
	defer mem.Release()
	touch(mem.Bytes)
	for _, l := range []ssdLoad{
		{&m.p.Read, sequentialBytes, sequentialDepth, m.Sequential, false},
		{&m.p.Random, randomBytes, randomDepth, m.Random, true},
	} {
		// The preceding writes may still keep the device busy: the first 100 ms after
		// them were six times slower than the rest.
		warm := l
		warm.d = max(l.d/4, min(l.d, settling))
		if _, err := warm.window(ctx, f, mem.Bytes); err != nil {
			return err
		}
		var windows []ssdWindow
		for range m.Windows {
			w, err := l.window(ctx, f, mem.Bytes)
			if err != nil {
				return err
			}
			windows = append(windows, w)
		}
		*l.rate = slowest(windows)
	}
	return nil
}

// touch faults in the pages of b.
func touch(b []byte) {
	for i := 0; i < len(b); i += durable.Align {
		b[i] = 1
	}
}

// An ssdLoad is a read workload: block size, queue depth and duration.
type ssdLoad struct {
	rate        *ioRate
	size, depth int
	d           time.Duration
	random      bool
}

func (l *ssdLoad) window(ctx context.Context, f *durable.DirectFile, mem []byte) (ssdWindow, error) {
	blocks := f.Size() / int64(l.size)
	parts := make([]ssdWindow, l.depth)
	errs := make([]error, l.depth)
	var next atomic.Int64
	var wg fault.Group
	start := time.Now()
	for i := range l.depth {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(l.size)))
			// Each reader cycles through its share of the buffer: reading into one block
			// again and again would stay in the processor's cache and be faster.
			mine := mem[i*len(mem)/l.depth:][:len(mem)/l.depth]
			at := 0
			for first := true; first || time.Since(start) < l.d && errs[i] == nil; first = false {
				// At least one read: on a busy machine the window may be over before it
				// starts.
				block := next.Add(1) - 1
				if l.random {
					block = rng.Int64N(blocks)
				}
				buf := mine[at:][:l.size]
				at = (at + l.size) % len(mine)
				from := time.Now()
				_, errs[i] = f.Read(ctx, buf, block%blocks*int64(l.size), l.size)
				parts[i].add(l.size, time.Since(from))
			}
		})
	}
	wg.Wait()
	all := ssdWindow{wall: time.Since(start)}
	for _, p := range parts {
		all.bytes += p.bytes
		all.calls = append(all.calls, p.calls...)
	}
	return all, errors.Join(errs...)
}

// An ssdWindow counts the calls of one window.
type ssdWindow struct {
	bytes int64
	wall  time.Duration
	calls []time.Duration
}

func (w *ssdWindow) add(bytes int, d time.Duration) {
	w.bytes += int64(bytes)
	w.calls = append(w.calls, d)
}

func (w *ssdWindow) sum() (sum time.Duration) {
	for _, d := range w.calls {
		sum += d
	}
	return sum
}

// slowest returns the window with the lowest rate, which is a dependable one.
func slowest(windows []ssdWindow) (r ioRate) {
	for i := range windows {
		w := &windows[i]
		speed := float64(w.bytes) / w.wall.Seconds()
		if i == 0 || speed < r.BytesPerSecond {
			slices.Sort(w.calls)
			n := len(w.calls)
			r.BytesPerSecond, r.PerSecond = speed, float64(n)/w.wall.Seconds()
			r.MeanSeconds, r.P99Seconds = w.sum().Seconds()/float64(n), w.calls[(n-1)*99/100].Seconds()
		}
		r.Windows = append(r.Windows, speed)
	}
	return r
}

// measureStorage adapts [measureSSD] to [Probe].
func measureStorage(ctx context.Context, dir string, d Depth) (Profile, error) {
	o := ssdOptions{}
	if d == Quick { // about a second
		o = ssdOptions{FileBytes: 128 << 20, WriteBytes: 32 << 20, Sequential: time.Second / 5, Random: time.Second / 20}
	}
	p, err := measureSSD(ctx, dir, o)
	return Profile{
		ReadBytes: p.Read.BytesPerSecond, ReadP99Seconds: p.Read.P99Seconds, WriteBytes: p.Write.BytesPerSecond,
		RandomReads: p.Random.PerSecond, LatencySeconds: p.Random.MeanSeconds, LatencyP99: p.Random.P99Seconds,
		TouchBytes: p.TouchBytesPerSecond,
	}, err
}
