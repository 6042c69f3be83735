package place

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"atenia/internal/fault"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/ring"
	"atenia/internal/store/durable"
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
	Threads     int           // that read memory, at least one
	Window      time.Duration // for reading a file, which is done twice; 0 = 0.5 s
	MemoryBytes int64         // bytes that may be taken; 0 = no bound
	Products    []Product     // to measure, too, if memory is
	Experts     Experts       // to measure, too
	Reads       ring.Reads    // of which reading consists
}

// turns is how often each rate is measured, in turns, so that all of them see
// what other processes do meanwhile.
const turns = 5

// A Measurement is the medians of rates that were measured several times, and
// between what half of the values were.
type Measurement struct {
	KeptRates
	Low, High KeptRates
	Products  map[string]ProductRate // by their names
	Chosen    ChosenRate
}

// MeasureRates reads a file past the page cache, alone and while threads read memory:
// for two windows and a half, in [turns]. With too little memory to distinguish
// the rate of memory from that of caches only the file is read, and with less
// nothing. What the page cache has of the file stays there: whoever asks how fast a
// model runs runs it next.
func MeasureRates(ctx context.Context, path string, e MeasureEffort) (m Measurement, err error) {
	e.Threads = max(1, e.Threads)
	if e.Window == 0 {
		e.Window = 500 * time.Millisecond
	}
	into, size := e.split()
	if into == 0 {
		return m, nil
	}
	f, err := durable.OpenDirect(path)
	if err != nil {
		return m, err
	}
	defer f.Close()
	if m.Chosen, err = e.chosen(ctx, f, into); err != nil && !short(err) {
		return m, err
	}
	meter, err := ring.NewMeter(f, into, e.Reads)
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
	if load != nil {
		m.Products = load.products(e.Products)
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
	load.start(plainly)
	time.Sleep(window / 2)
	r.RAM = productShare * load.stop()
	load.start(plainly)
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

// A load is threads that read memory. Every millisecond they pause for a
// moment, as threads that compute do between two products: in real-time classes
// nothing else would get a turn. The system's sleep is that short, but as long as
// reading megabytes where memory is fast, so that it is no part of the rate.
type load struct {
	blocks []ledger.Block
	done   atomic.Bool
	rate   []float64 // of each thread, while it read
	wg     fault.Group
}

// readFor is how long a thread reads between two pauses.
const readFor = time.Millisecond

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

// start lets all threads read until it is stopped, each as its own reading does.
func (l *load) start(how func() reading) {
	l.done.Store(false)
	l.rate = make([]float64, len(l.blocks))
	for i := range l.blocks {
		l.wg.Go(func() { l.rate[i] = l.readAll(l.blocks[i].Bytes, how()) })
	}
}

// readAll reads bytes again and again and returns how many a second.
func (l *load) readAll(all []byte, r reading) float64 {
	var took time.Duration
	var bytes, at int
	// At least once: on a busy machine the time may be over before a thread begins.
	for first := true; first || !l.done.Load(); first = false {
		var lap time.Duration
		for began := time.Now(); lap < readFor; lap = time.Since(began) {
			if len(all)-at < r.step {
				at = 0
			}
			r.read(all[at:][:r.step])
			bytes += r.step
			at += r.step
		}
		took += lap
		pause()
	}
	return float64(bytes) / took.Seconds()
}

// stop returns the bytes that were read a second.
func (l *load) stop() float64 {
	l.done.Store(true)
	l.wg.Wait()
	sum := 0.0
	for _, r := range l.rate {
		sum += r
	}
	return sum
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
