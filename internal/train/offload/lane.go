package offload

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"atenia/internal/fault"
	"atenia/internal/store/durable"
)

// hands is the number of reading and of writing goroutines. With all processors
// computing, a goroutine that returns from the disk may wait up to 10 ms to be
// scheduled; a second one keeps the disk busy meanwhile.
const hands = 2

// A gradientLane moves the chunks of one step between files and buffers: goroutines read
// ahead, others write behind, and one syncs completed layers.
//
//	free ─▶ readers ─▶ ready ─▶ take … put ─▶ writes ─▶ writers ─▶ free
//	                                                       └▶ seals ─▶ syncer
//
// The read-ahead order is a guess: that of the layers in the last step. A wrong
// guess costs a read.
type gradientLane struct {
	s       *State
	j       *journal // before the step
	free    chan *chunk
	ready   chan *chunk // in the order of the plan; read once done is closed
	writes  chan *chunk
	seals   chan *output
	quit    chan struct{}
	readers sync.WaitGroup
	writers sync.WaitGroup
	syncer  sync.WaitGroup

	next ref     // next chunk that take expects
	out  *output // of the layer of the last put
	sums [][]chunkSum

	mu          sync.Mutex
	wake        *sync.Cond
	upcoming    ref // next chunk to read
	hasUpcoming bool
	gen         int
	closed      bool
	err         error // first write error
	busy        busy
	written     uint64
	read        uint64
}

// busy times the goroutines of each kind.
type busy struct{ read, write, sync meter }

// A meter adds up the time during which at least one goroutine works.
type meter struct {
	working int
	since   time.Time
	total   time.Duration
}

func (m *meter) start() {
	if m.working++; m.working == 1 {
		m.since = time.Now()
	}
}

func (m *meter) stop() {
	if m.working--; m.working == 0 {
		m.total += time.Since(m.since)
	}
}

// newChunk returns a buffer for chunks of the given size.
func newChunk(elements int) *chunk {
	return &chunk{state: paged(pages(elements * stateBytes)), params: paged(pages(elements * paramBytes))}
}

// newLane starts a lane that writes the versions other than j's.
func newLane(s *State, j *journal) *gradientLane {
	n := s.cfg.Buffers
	l := &gradientLane{
		s: s, j: j,
		free: make(chan *chunk, n), ready: make(chan *chunk, n), writes: make(chan *chunk, n),
		seals: make(chan *output, len(j.layers)), quit: make(chan struct{}),
		next: ref{layer: -1}, sums: make([][]chunkSum, len(j.layers)),
	}
	l.wake = sync.NewCond(&l.mu)
	largest := 0
	for i := range j.layers {
		l.sums[i] = make([]chunkSum, len(j.layers[i].sums))
		largest = max(largest, min(j.layers[i].Elements, j.chunkElements))
	}
	for len(s.buffers) < n { // kept from step to step
		s.buffers = append(s.buffers, newChunk(largest))
	}
	for _, c := range s.buffers {
		l.free <- c
	}
	for range hands {
		l.readers.Go(l.readAhead)
		l.writers.Go(l.writeBehind)
	}
	l.syncer.Go(l.syncSealed)
	return l
}

// after returns the chunk to read after r.
func (l *gradientLane) after(r ref) (ref, bool) {
	if r.index++; r.index < len(l.j.layers[r.layer].sums) {
		return r, true
	}
	for i, layer := range l.s.order {
		if layer == r.layer && i+1 < len(l.s.order) {
			return ref{layer: l.s.order[i+1]}, true
		}
	}
	return ref{}, false
}

// take waits for a chunk of the current version and returns it.
func (l *gradientLane) take(r ref) (*chunk, error) {
	if l.next != r { // wrong guess, or the first chunk
		l.expect(r)
	}
	for {
		c := <-l.ready
		<-c.done
		if c.gen != l.gen {
			l.free <- c
			continue
		}
		l.next, _ = l.after(r)
		if c.err != nil {
			l.free <- c
			return nil, c.err
		}
		return c, nil
	}
}

// expect restarts reading at a chunk.
func (l *gradientLane) expect(r ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next, l.upcoming, l.hasUpcoming = r, r, true
	l.gen++
	l.wake.Broadcast()
}

// put queues a chunk for writing. The chunks of a layer come in order.
func (l *gradientLane) put(c *chunk) {
	if c.index == 0 {
		l.out = &output{layer: c.layer}
		l.out.left.Store(int64(len(l.j.layers[c.layer].sums)))
	}
	c.out = l.out
	l.writes <- c
}

// readAhead reads planned chunks while there are free buffers.
func (l *gradientLane) readAhead() {
	r := reader{s: l.s, j: l.j}
	defer r.close()
	for {
		var c *chunk
		select {
		case c = <-l.free:
		case <-l.quit:
			return
		}
		l.mu.Lock()
		for !l.hasUpcoming && !l.closed {
			l.wake.Wait()
		}
		if l.closed {
			l.mu.Unlock()
			return
		}
		c.ref, c.gen, c.done = l.upcoming, l.gen, make(chan struct{})
		l.upcoming, l.hasUpcoming = l.after(l.upcoming)
		l.ready <- c // has capacity for every buffer
		l.busy.read.start()
		l.mu.Unlock()
		c.err = fault.Call(func() error { return r.read(c) })
		l.mu.Lock()
		l.busy.read.stop()
		l.read += uint64(len(c.params)/paramBytes*stateBytes + len(c.sum))
		l.mu.Unlock()
		close(c.done)
	}
}

// A reader reads chunks of the current version and verifies them.
type reader struct {
	s     *State
	j     *journal
	file  durable.File
	layer int
}

func (r *reader) close() {
	if r.file != nil {
		_ = r.file.Close() // opened for reading only
		r.file = nil
	}
}

func (r *reader) read(c *chunk) error {
	l := &r.j.layers[c.layer]
	first, n := span(l.Elements, r.j.chunkElements, c.index)
	c.cut(n)
	if r.file == nil || r.layer != c.layer {
		r.close()
		f, err := open(r.s.cfg.FS, r.s.file(c.layer, l.version, "state"), os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		r.file, r.layer = f, c.layer
	}
	b := c.state[:pages(n*stateBytes)]
	if m, err := r.file.ReadAt(b, int64(first)*stateBytes); m < len(b) {
		return short(r.file.Name(), err)
	}
	if crc32.Checksum(b[:n*stateBytes], castagnoli) != l.sums[c.index].state {
		return fmt.Errorf("%w: %s: parameters %d to %d of layer %q are not those of step %d",
			errCorrupt, r.file.Name(), first, first+n-1, l.Name, r.j.step)
	}
	return r.s.sums.load(c, first, n)
}

// short returns the error of a read that returned too few bytes.
func short(name string, err error) error {
	if err == nil || err == io.EOF {
		return fmt.Errorf("%w: %s is too short", errCorrupt, name)
	}
	return err
}

// An output is the files of a layer's new, uncommitted version.
type output struct {
	layer int
	open  sync.Once
	files []durable.File // state and params
	err   error          // of opening them
	left  atomic.Int64   // chunks still to be written
}

// writeBehind writes chunks. After the last chunk of a layer it passes the files
// to the syncer.
func (l *gradientLane) writeBehind() {
	for c := range l.writes {
		err := l.begin(&l.busy.write)
		if err == nil {
			err = fault.Call(func() error { return l.write(c) })
		}
		l.end(&l.busy.write, err)
		if c.out.left.Add(-1) == 0 {
			l.seals <- c.out
		}
		l.free <- c
	}
}

func (l *gradientLane) write(c *chunk) error {
	o := c.out
	o.open.Do(func() { o.err = l.create(o) })
	if o.err != nil {
		return o.err
	}
	n := len(c.params) / paramBytes
	first := int64(c.index) * int64(l.j.chunkElements)
	state := c.state[:n*stateBytes]
	if _, err := o.files[0].WriteAt(c.state[:pages(len(state))], first*stateBytes); err != nil {
		return err
	}
	if _, err := o.files[1].WriteAt(c.params[:pages(len(c.params))], first*paramBytes); err != nil {
		return err
	}
	l.sums[c.layer][c.index] = chunkSum{crc32.Checksum(state, castagnoli), crc32.Checksum(c.params, castagnoli)}
	l.mu.Lock()
	l.written += uint64(n * (stateBytes + paramBytes))
	l.mu.Unlock()
	return nil
}

func (l *gradientLane) create(o *output) error {
	for _, what := range []string{"state", "params"} {
		name := l.s.file(o.layer, 1-l.j.layers[o.layer].version, what)
		f, err := open(l.s.cfg.FS, name, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		o.files = append(o.files, f)
	}
	return nil
}

// syncSealed syncs completed layers while others are written. Files of a layer
// whose step failed halfway are closed by finish.
func (l *gradientLane) syncSealed() {
	for o := range l.seals {
		err := l.begin(&l.busy.sync)
		for _, f := range o.files {
			if err == nil {
				err = f.Sync()
			}
			if e := f.Close(); err == nil {
				err = e
			}
		}
		l.end(&l.busy.sync, err)
	}
}

func (l *gradientLane) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// begin and end bracket work; begin returns the error that stopped the lane, if
// any.
func (l *gradientLane) begin(m *meter) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.start()
	return l.err
}

func (l *gradientLane) end(m *meter, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m.stop()
	if l.err == nil {
		l.err = err
	}
}

// finish waits until everything put is on disk.
func (l *gradientLane) finish() error {
	l.mu.Lock()
	l.closed = true
	l.wake.Broadcast()
	l.mu.Unlock()
	close(l.quit)
	close(l.writes)
	l.readers.Wait()
	l.writers.Wait()
	if l.out != nil && l.out.left.Load() > 0 { // an incomplete layer
		for _, f := range l.out.files {
			_ = f.Close()
		}
	}
	close(l.seals)
	l.syncer.Wait()
	return l.err
}
