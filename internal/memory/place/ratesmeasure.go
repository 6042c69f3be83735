package place

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"atenia/internal/fault"
	"atenia/internal/kernel"
	"atenia/internal/machine/cpu"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/ring"
)

// productShare is what products with one row reach of the rate at which memory
// is merely read: docs/performance.md has 0.8 to 1.0.
const productShare = 0.88

// rateMemory is what files are read into.
const rateMemory = 64 << 20

// ShortWindow is [MeasureEffort.Window] where a user waits for the measurement.
const ShortWindow = 150 * time.Millisecond

// An MeasureEffort bounds the time and memory of a measurement.
type MeasureEffort struct {
	Threads     int           // that read memory; 0 = as many as would compute
	Window      time.Duration // for reading a file, which is done twice; 0 = 0.5 s
	MemoryBytes int64         // bytes that may be taken; 0 = no bound
}

// turns is how often each rate is measured, in turns, so that all of them see
// what other processes do meanwhile.
const turns = 5

// A Measurement is the medians of rates that were measured several times, and
// between what half of the values were.
type Measurement struct {
	KeptRates
	Low, High KeptRates
}

// MeasureRates reads a file past the page cache, alone and while threads read memory:
// for two windows and a half, in [turns]. With too little memory to distinguish
// the rate of memory from that of caches only the file is read, and with less
// nothing.
func MeasureRates(ctx context.Context, path string, e MeasureEffort) (m Measurement, err error) {
	if e.Threads == 0 {
		e.Threads = cpu.Threads()
	}
	if e.Window == 0 {
		e.Window = 500 * time.Millisecond
	}
	into, size := e.split()
	if into == 0 {
		return m, nil
	}
	f, err := ring.Open(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	meter, err := ring.NewMeter(f, into)
	if short(err) { // limits of the process are known only as they are met
		return m, nil
	}
	if err != nil {
		return m, err
	}
	defer meter.Close()
	var load *load
	if size > 0 {
		if load, err = newLoad(e.Threads, size); err != nil && !short(err) {
			return m, err
		}
		defer load.close()
	}
	var all [turns]KeptRates
	for i := range all {
		if all[i], err = measure(ctx, meter, load, e.Window/turns); err != nil {
			return m, err
		}
	}
	for _, rate := range []func(*KeptRates) *float64{
		func(r *KeptRates) *float64 { return &r.SSD }, func(r *KeptRates) *float64 { return &r.RAM },
		func(r *KeptRates) *float64 { return &r.SSDBusy }, func(r *KeptRates) *float64 { return &r.RAMBusy },
	} {
		var values [turns]float64
		for i := range all {
			values[i] = *rate(&all[i])
		}
		slices.Sort(values[:])
		*rate(&m.Low), *rate(&m.KeptRates), *rate(&m.High) = values[turns/4], values[turns/2], values[turns-1-turns/4]
	}
	return m, nil
}

// short reports whether an error is that there is no memory.
func short(err error) bool {
	_, refused := errors.AsType[*ledger.MemoryError](err)
	return refused || errors.Is(err, ledger.ErrFull)
}

// measure measures every rate once. Without a load it is that of the file alone.
func measure(ctx context.Context, meter *ring.Meter, load *load, window time.Duration) (r KeptRates, err error) {
	if r.SSD, err = meter.Rate(ctx, window); err != nil || load == nil {
		return r, err
	}
	load.start()
	time.Sleep(window / 2)
	r.RAM = productShare * load.stop()
	load.start()
	r.SSDBusy, err = meter.Rate(ctx, window)
	r.RAMBusy = productShare * load.stop()
	return r, err
}

// split returns how much memory a file is read into, and how much each thread
// reads: together far more than caches hold.
func (e *MeasureEffort) split() (into, size int) {
	const usual, most, least = 160 << 20, 1 << 30, 192 << 20
	size = min(usual, most/e.Threads)
	switch free := e.MemoryBytes - rateMemory; {
	case e.MemoryBytes == 0:
		return rateMemory, size
	case free >= least:
		return rateMemory, min(size, int(free)/e.Threads)
	case e.MemoryBytes >= rateMemory/2:
		return int(min(e.MemoryBytes, rateMemory)) / 2, 0
	}
	return 0, 0
}

// A load is threads that read memory. Every few megabytes they pause for a
// moment, as threads that compute do between two products: in real-time classes
// nothing else would get a turn. The system's sleep is that short; the runtime's is a
// hundred times longer where one thread runs Go, and then a rate is of pauses.
type load struct {
	blocks []ledger.Block
	done   atomic.Bool
	read   atomic.Int64
	since  time.Time
	wg     fault.Group
}

func newLoad(threads, size int) (*load, error) {
	l := &load{}
	for range threads {
		b, err := ledger.NewHugeBlock(ledger.Process, ledger.Samples, size)
		if err != nil {
			l.close()
			return nil, err
		}
		for i := 0; i < size; i += 4096 {
			b.Bytes[i] = 1
		}
		l.blocks = append(l.blocks, b)
	}
	return l, nil
}

func (l *load) start() {
	l.done.Store(false)
	l.read.Store(0)
	l.since = time.Now()
	for i := range l.blocks {
		all := l.blocks[i].Bytes
		l.wg.Go(func() {
			for !l.done.Load() {
				for b := all; len(b) > 0 && !l.done.Load(); b = b[min(len(b), 4<<20):] {
					n := min(len(b), 4<<20)
					kernel.Read(b[:n])
					l.read.Add(int64(n))
					pause()
				}
			}
		})
	}
}

// stop returns the bytes that were read a second.
func (l *load) stop() float64 {
	l.done.Store(true)
	l.wg.Wait()
	return float64(l.read.Load()) / time.Since(l.since).Seconds()
}

func (l *load) close() {
	if l == nil {
		return
	}
	for i := range l.blocks {
		l.blocks[i].Release()
	}
}

// DropCache evicts a file from the page cache, where the system supports that. Pages
// that a process has mapped stay.
func DropCache(path string) error {
	f, err := ring.Open(path) // which evicts cached pages
	if err != nil {
		return err
	}
	return f.Close()
}
