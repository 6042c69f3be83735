package train

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"time"

	"atenia/internal/durable"
)

// A lane moves the chunks of one step between files and buffers: a goroutine
// reads ahead, one writes behind, one syncs the layers that are complete.
//
//	free ─▶ reader ─▶ ready ─▶ take … put ─▶ writes ─▶ writer ─▶ free
//	                                                     └▶ seals ─▶ syncer
//
// What is read next is a guess: the layers in the order of the last step. A
// wrong guess costs a read.
type lane struct {
	s       *State
	j       *journal // that is stepped from
	free    chan *chunk
	ready   chan *chunk
	writes  chan *chunk
	seals   chan []durable.File
	quit    chan struct{}
	readers sync.WaitGroup
	writers sync.WaitGroup

	next ref // that take expects
	sums [][]chunkSum

	mu      sync.Mutex
	wake    *sync.Cond
	plan    ref // that is read next
	planned bool
	gen     int
	closed  bool
	err     error // the first of writing
	busy    busy
	written uint64
	read    uint64
}

// busy is how long each part of a step worked.
type busy struct{ read, write, sync time.Duration }

func newChunk(elements int, accumulated bool) *chunk {
	c := &chunk{state: make([]byte, elements*stateBytes), params: make([]byte, elements*paramBytes)}
	if accumulated {
		c.sumBuffer = make([]byte, elements*momentBytes)
	}
	return c
}

// newLane starts a lane that writes the versions that j does not name.
func newLane(s *State, j *journal) *lane {
	n := s.cfg.Buffers
	l := &lane{
		s: s, j: j,
		free: make(chan *chunk, n), ready: make(chan *chunk, n), writes: make(chan *chunk, n),
		seals: make(chan []durable.File, len(j.layers)), quit: make(chan struct{}),
		next: ref{layer: -1}, sums: make([][]chunkSum, len(j.layers)),
	}
	l.wake = sync.NewCond(&l.mu)
	largest := 0
	for i := range j.layers {
		l.sums[i] = make([]chunkSum, len(j.layers[i].sums))
		largest = max(largest, min(j.layers[i].Elements, j.chunkElements))
	}
	for range n {
		l.free <- newChunk(largest, s.sums.inFiles())
	}
	l.readers.Go(l.readAhead)
	l.writers.Go(l.writeBehind)
	l.writers.Go(l.syncSealed)
	return l
}

// after returns the chunk that is read after r.
func (l *lane) after(r ref) (ref, bool) {
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

// take returns a chunk of the current version once it is read.
func (l *lane) take(r ref) (*chunk, error) {
	if l.next != r { // guessed wrong, or nothing yet
		l.mu.Lock()
		l.plan, l.planned = r, true
		l.gen++
		l.wake.Broadcast()
		l.mu.Unlock()
	}
	for {
		c := <-l.ready
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

// put hands a chunk over to be written.
func (l *lane) put(c *chunk) { l.writes <- c }

// readAhead reads what is planned as long as there are buffers.
func (l *lane) readAhead() {
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
		for !l.planned && !l.closed {
			l.wake.Wait()
		}
		if l.closed {
			l.mu.Unlock()
			return
		}
		c.ref, c.gen = l.plan, l.gen
		l.plan, l.planned = l.after(l.plan)
		l.mu.Unlock()
		start := time.Now()
		c.err = r.read(c)
		l.mu.Lock()
		l.busy.read += time.Since(start)
		l.read += uint64(len(c.state[:len(c.params)/paramBytes*stateBytes]) + len(c.sum))
		l.mu.Unlock()
		l.ready <- c
	}
}

// A reader reads chunks of the current version and checks them.
type reader struct {
	s     *State
	j     *journal
	file  durable.File
	layer int
}

func (r *reader) close() {
	if r.file != nil {
		_ = r.file.Close() // it was only read
		r.file = nil
	}
}

func (r *reader) read(c *chunk) error {
	l := &r.j.layers[c.layer]
	first, n := span(l.Elements, r.j.chunkElements, c.index)
	c.cut(n)
	if r.file == nil || r.layer != c.layer {
		r.close()
		f, err := r.s.cfg.FS.OpenFile(r.s.file(c.layer, l.version, "state"), os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		r.file, r.layer = f, c.layer
	}
	b := c.state[:n*stateBytes]
	if m, err := r.file.ReadAt(b, int64(first)*stateBytes); m < len(b) {
		return short(r.file.Name(), err)
	}
	if crc32.Checksum(b, castagnoli) != l.sums[c.index].state {
		return fmt.Errorf("%w: %s: parameters %d to %d of layer %q are not those of step %d",
			ErrCorrupt, r.file.Name(), first, first+n-1, l.Name, r.j.step)
	}
	return r.s.sums.load(c, first, n)
}

// short is the error of a read that got too little.
func short(name string, err error) error {
	if err == nil || err == io.EOF {
		return fmt.Errorf("%w: %s is too short", ErrCorrupt, name)
	}
	return err
}

// readFull reads the beginning of a file.
func readFull(fsys durable.FS, name string, b []byte) error {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return short(name, err)
	}
	return nil
}

// writeBehind writes chunks into the version that does not count yet. Chunks
// of a layer come in order and are not mixed with others'.
func (l *lane) writeBehind() {
	defer close(l.seals)
	var files []durable.File // state and params of the layer
	for c := range l.writes {
		if l.failed() == nil {
			start := time.Now()
			var err error
			if c.index == 0 {
				files, err = l.create(c.layer)
			}
			if err == nil {
				err = l.write(files, c)
			}
			l.note(err, func(b *busy) { b.write += time.Since(start) })
			if err == nil && c.index == len(l.j.layers[c.layer].sums)-1 {
				l.seals <- files
				files = nil
			}
		}
		l.free <- c
	}
	for _, f := range files {
		_ = f.Close() // of a layer that failed
	}
}

func (l *lane) create(layer int) ([]durable.File, error) {
	var files []durable.File
	for _, what := range []string{"state", "params"} {
		name := l.s.file(layer, 1-l.j.layers[layer].version, what)
		f, err := l.s.cfg.FS.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

func (l *lane) write(files []durable.File, c *chunk) error {
	n := len(c.params) / paramBytes
	first := int64(c.index) * int64(l.j.chunkElements)
	state := c.state[:n*stateBytes]
	if _, err := files[0].WriteAt(state, first*stateBytes); err != nil {
		return err
	}
	if _, err := files[1].WriteAt(c.params, first*paramBytes); err != nil {
		return err
	}
	l.sums[c.layer][c.index] = chunkSum{crc32.Checksum(state, castagnoli), crc32.Checksum(c.params, castagnoli)}
	l.mu.Lock()
	l.written += uint64(n * (stateBytes + paramBytes))
	l.mu.Unlock()
	return nil
}

// syncSealed makes complete layers durable while others are written.
func (l *lane) syncSealed() {
	for files := range l.seals {
		for _, f := range files {
			start := time.Now()
			var err error
			if l.failed() == nil {
				err = f.Sync()
			}
			if e := f.Close(); err == nil {
				err = e
			}
			l.note(err, func(b *busy) { b.sync += time.Since(start) })
		}
	}
}

func (l *lane) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// note keeps the first error and counts time.
func (l *lane) note(err error, count func(*busy)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	count(&l.busy)
}

// finish returns when all that was put is on the disk.
func (l *lane) finish() error {
	l.mu.Lock()
	l.closed = true
	l.wake.Broadcast()
	l.mu.Unlock()
	close(l.quit)
	close(l.writes)
	l.readers.Wait()
	l.writers.Wait()
	return l.err
}
