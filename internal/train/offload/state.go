package offload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"atenia/internal/store/durable"
)

const (
	journalName      = "journal"
	defaultChunk     = 16 << 20
	leastBuffers     = 2*hands + 1 // chunks being read, written and computed at once
	maxChunkElements = 1 << 28
	align            = page / paramBytes // elements: chunks start at whole pages of both files
)

// Config configures a [State]. The zero value works. Only Optimizer and
// ChunkBytes of a new state are stored in its journal; only Optimizer affects
// the results.
type Config struct {
	Optimizer  Optimizer
	ChunkBytes int // of master and moments per read; 0 is 16 MiB
	// Buffers is the number of chunks in memory; 0 is 6. Some are read and computed
	// while others are written.
	Buffers int
	Workers int // computing goroutines; 0 is GOMAXPROCS
	// SumBytes is the memory that accumulated gradients may take. The rest spills
	// to files.
	SumBytes int64
	FS       durable.FS // nil is the operating system's
	Beside   int64      // bytes that the disk must hold, too, when a state is created
	Note     string     // of a state that is created, see [Update]; an open one keeps its own
}

func (c Config) withDefaults() Config {
	c.Optimizer = c.Optimizer.withDefaults()
	if c.ChunkBytes == 0 {
		c.ChunkBytes = defaultChunk
	}
	if c.Buffers == 0 {
		c.Buffers = 6
	}
	c.Buffers = max(c.Buffers, leastBuffers)
	if c.Workers <= 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	c.FS = durable.Default(c.FS)
	return c
}

// chunkElements returns the number of parameters in a chunk.
func (c Config) chunkElements() int {
	return max(min(c.ChunkBytes/stateBytes, maxChunkElements)/align*align, align)
}

// A State holds the parameters and AdamW moments of all layers at a step. Only
// one [State.Step] or [State.Accumulate] may run at a time; [State.Params] may
// run concurrently with it.
type State struct {
	cfg     Config
	dir     string // empty if in memory
	journal atomic.Pointer[journal]
	text    []byte // of the journal, as stored
	memory  []chunk
	sums    accumulator
	order   []int       // of layers in the last step
	buffers []*chunk    // for steps
	spares  chan []byte // buffers for parameters
	busy    atomic.Bool
	err     error // set once the state must not be used any more
}

// Init fills dst with the initial values of a layer's parameters, starting at
// the element offset. It is called once for every chunk, in order.
type Init func(layer, offset int, dst []float32) error

// New creates a state in memory, for models that fit and for comparison with
// [Create]. A step that fails halfway makes it unusable.
func New(layers []Layer, cfg Config, init Init) (*State, error) {
	s, err := blank(layers, cfg)
	if err != nil {
		return nil, err
	}
	for i, l := range layers {
		c := chunk{ref: ref{layer: i}, state: make([]byte, l.Elements*stateBytes), params: make([]byte, l.Elements*paramBytes)}
		c.cut(l.Elements)
		if err := c.init(init, i, 0, make([]float32, l.Elements)); err != nil {
			return nil, err
		}
		s.memory = append(s.memory, c)
	}
	return s, nil
}

// Fits returns an error that matches [durable.ErrSpace] if the disk of a directory cannot
// hold a state and what is beside it.
func Fits(dir string, layers []Layer, cfg Config) error {
	need := cfg.Beside
	for i := range layers { // of two versions, each step writes one
		need += 2 * int64(layers[i].Elements) * (stateBytes + paramBytes)
	}
	return durable.Fits(cfg.FS, dir, need)
}

// Create creates a state in the files of a directory that does not have one. If
// it is killed, or ctx ends, there is no state, and Create can be called again.
func Create(ctx context.Context, dir string, layers []Layer, cfg Config, init Init) (*State, error) {
	s, err := blank(layers, cfg)
	if err != nil {
		return nil, err
	}
	s.dir = dir
	if err := s.cfg.FS.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	if _, err := s.cfg.FS.Stat(s.path(journalName)); err == nil {
		return nil, fmt.Errorf("%s has a training state: %w", dir, fs.ErrExist)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := Fits(dir, layers, s.cfg); err != nil {
		return nil, err
	}
	j := s.journal.Load()
	buffer := make([]float32, j.chunkElements)
	l := newLane(s, j)
	for i := range layers {
		for k := range len(j.layers[i].sums) {
			if ctx.Err() != nil { // what is written may take minutes
				return nil, errors.Join(context.Cause(ctx), l.finish())
			}
			first, n := span(layers[i].Elements, j.chunkElements, k)
			c := <-l.free
			c.ref = ref{i, k}
			c.cut(n)
			clear(c.state[:n*stateBytes])
			if err := c.init(init, i, first, buffer[:n]); err != nil {
				return nil, errors.Join(err, l.finish())
			}
			l.put(c)
		}
	}
	if err := l.finish(); err != nil {
		return nil, err
	}
	j.written = l.written
	for i := range j.layers {
		j.layers[i].version, j.layers[i].sums = 1-j.layers[i].version, l.sums[i]
	}
	if err := s.replace(j); err != nil {
		return nil, err
	}
	return s, nil
}

// blank returns a state before the first step, with neither files nor memory
// filled.
func blank(layers []Layer, cfg Config) (*State, error) {
	if err := checkLayers(layers); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	j := &journal{chunkElements: cfg.chunkElements(), opt: cfg.Optimizer, note: cfg.Note}
	for _, l := range layers {
		j.layers = append(j.layers, layerState{Layer: l, version: 1, sums: make([]chunkSum, chunks(l.Elements, j.chunkElements))})
	}
	s := &State{cfg: cfg, order: backward(len(layers)), spares: make(chan []byte, 4)}
	s.journal.Store(j)
	s.sums.reset(s)
	return s, nil
}

// Open opens the state in a directory at the last committed step. The optimizer
// is the journal's.
func Open(dir string, cfg Config) (*State, error) {
	s := &State{cfg: cfg.withDefaults(), dir: dir, spares: make(chan []byte, 4)}
	text, err := s.cfg.FS.ReadFile(s.path(journalName))
	if err != nil {
		return nil, err
	}
	j, err := parseJournal(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path(journalName), err)
	}
	s.text = text
	s.journal.Store(j)
	s.order = backward(len(j.layers))
	s.sums.reset(s)
	return s, nil
}

// backward returns the order in which a backward pass visits n layers.
func backward(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = n - 1 - i
	}
	return out
}

// init fills the chunk's master and params.
func (c *chunk) init(init Init, layer, offset int, buffer []float32) error {
	if err := init(layer, offset, buffer); err != nil {
		return err
	}
	f := factors{keep: 1, epsilon: 1, root: 1}
	for i, x := range buffer {
		store(c.master, i, x)
	}
	f.piece(c, nil, 0, len(buffer)) // no gradient, no learning rate: only rounds the parameters
	return nil
}

// Steps returns the number of committed steps.
func (s *State) Steps() uint64 { return s.journal.Load().step }

// Note returns the note of the last step.
func (s *State) Note() string { return s.journal.Load().note }

// WrittenBytes returns the bytes written since the state was created.
func (s *State) WrittenBytes() uint64 { return s.journal.Load().written }

// Layers returns the layers, first to last.
func (s *State) Layers() []Layer { return layersOf(s.journal.Load()) }

// Verify reads the whole state and checks it against the journal's sums, until ctx ends.
func (s *State) Verify(ctx context.Context) error {
	j := s.journal.Load()
	var errs []error
	for i := range j.layers {
		if err := s.verify(ctx, j, i); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func (s *State) verify(ctx context.Context, j *journal, layer int) error {
	if s.dir == "" {
		return nil
	}
	r := reader{s: s, j: j}
	defer r.close()
	c := newChunk(j.chunkElements)
	for k := range j.layers[layer].sums {
		c.ref = ref{layer, k}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.read(c); err != nil {
			return err
		}
	}
	for _, err := range s.Params(ctx, layer) {
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *State) path(name string) string { return filepath.Join(s.dir, name) }

// file returns the name of a layer's file of a version.
func (s *State) file(layer, version int, what string) string {
	return s.path(fmt.Sprintf("layer-%05d.%d.%s", layer, version, what))
}

// replace commits j as the journal.
func (s *State) replace(j *journal) error {
	if s.dir == "" {
		s.journal.Store(j)
		return nil
	}
	text := j.text()
	if s.text != nil {
		if now, err := s.cfg.FS.ReadFile(s.path(journalName)); err != nil {
			return err
		} else if !bytes.Equal(now, s.text) {
			return fmt.Errorf("%s: %w", s.path(journalName), errForeign)
		}
	}
	if err := s.cfg.FS.SyncDir(s.dir); err != nil { // makes the names of the new versions durable
		return err
	}
	err := durable.ReplaceIn(s.cfg.FS, s.path(journalName), func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	if err != nil {
		// It is unknown whether the new journal is in place.
		s.err = fmt.Errorf("open the training state again, the journal may be old or new: %w", err)
		return s.err
	}
	s.text = text
	s.journal.Store(j)
	return nil
}

// enter locks the state for a step.
func (s *State) enter() (leave func(), err error) {
	if !s.busy.CompareAndSwap(false, true) {
		return nil, errBusy
	}
	if s.err != nil {
		s.busy.Store(false)
		return nil, s.err
	}
	return func() { s.busy.Store(false) }, nil
}
