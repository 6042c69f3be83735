package nested

import (
	"fmt"
	"io"
	"reflect"
	"slices"

	"atenia/internal/store/durable"
)

// Save writes a snapshot: everything that the next step depends on: parameters, the
// optimizer's state, every lane's memory, error buffers, the step count, and
// cursor, the caller's position in its data. A run restored from it continues
// with the same bits.
func (b *Builder[F]) Save(w io.Writer, cursor []byte) error {
	return b.write(w, snapshotFile, cursor)
}

// Progress writes a snapshot without parameters and optimizer state, for a
// trainer that saves those itself.
func (b *Builder[F]) Progress(w io.Writer) error { return b.write(w, progressFile, nil) }

// Restore reads what Save or Progress wrote into a builder of the same
// configuration, and returns the cursor. After an error nothing has changed.
func (b *Builder[F]) Restore(r io.Reader) (cursor []byte, err error) {
	f := &fileReader{r: r}
	h, err := f.readHeader()
	if err != nil {
		return nil, err
	}
	if h.Kind != snapshotFile && h.Kind != progressFile {
		return nil, &FileError{Offset: 16, Why: fmt.Sprintf("the file holds a %q, not a snapshot", h.Kind), Err: ErrMismatch}
	}
	if err := b.model.same(h); err != nil {
		return nil, err
	}
	arrays := b.arrays(h.Kind)
	if h.Lanes != len(b.lanes) || len(h.Buffered) != len(b.buffers) || h.Kind == snapshotFile && len(h.Steps) != len(b.model.params) {
		return nil, &FileError{Offset: 16, Why: fmt.Sprintf("%d lanes, want %d", h.Lanes, len(b.lanes)), Err: ErrMismatch}
	}
	fresh := make([][]F, len(arrays))
	for i, a := range arrays {
		fresh[i] = make([]F, len(a))
	}
	if err := readArrays(f, h, fresh); err != nil {
		return nil, err
	}
	for i, a := range fresh {
		copy(arrays[i], a)
	}
	for i, n := range h.Buffered {
		b.buffers[i].steps = max(n, 0)
	}
	for i, n := range h.Steps {
		b.opt.SetSteps(i, n)
	}
	clear(b.model.grads)
	b.conductor.Resume(h.Step)
	return h.Cursor, nil
}

// SaveFile writes a snapshot to a file atomically: after a crash the file is
// either the old or the new one.
func (b *Builder[F]) SaveFile(path string, cursor []byte) error {
	return durable.WriteFile(path, func(w io.Writer) error { return b.Save(w, cursor) })
}

// RestoreFile is [Builder.Restore] from a file.
func (b *Builder[F]) RestoreFile(path string) (cursor []byte, err error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if cursor, err = b.Restore(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return cursor, nil
}

func (b *Builder[F]) write(w io.Writer, kind kindOfFile, cursor []byte) error {
	h := &header{Kind: kind, Config: b.model.cfg, Step: b.conductor.Step(), Lanes: len(b.lanes), Cursor: cursor}
	for i := range b.buffers {
		h.Buffered = append(h.Buffered, b.buffers[i].steps)
	}
	if kind == snapshotFile {
		for i := range b.model.params {
			h.Steps = append(h.Steps, b.opt.Steps(i))
		}
	}
	return writeFile(w, h, b.arrays(kind))
}

// arrays lists the arrays of a file, in their order.
func (b *Builder[F]) arrays(kind kindOfFile) (all [][]F) {
	if kind == snapshotFile {
		all = append(all, b.model.values)
		for i := range b.model.params {
			all = append(all, b.opt.State(i)...)
		}
	}
	for i := range b.buffers {
		all = append(all, b.buffers[i].sum)
	}
	for i := range b.lanes {
		all = append(all, b.lanes[i].ctx.arrays()...)
	}
	return all
}

func (c *Context[F]) arrays() [][]F { return slices.Concat(c.states, c.tails) }

// same reports whether a file belongs to this model.
func (m *Model[F]) same(h *header) error {
	if reflect.DeepEqual(h.Config.WithDefaults(), m.cfg) {
		return nil
	}
	return &FileError{Offset: 16, Why: fmt.Sprintf("it belongs to a %v model of width %d with %d levels of %s, or differs in an option",
		h.Config.Composition, h.Config.Width, len(h.Config.Periods), h.Config.Rule), Err: ErrMismatch}
}

// Save writes the state of the reader's memory, including the incomplete chunk.
func (s *Reader[F]) Save(w io.Writer) error {
	h := &header{Kind: memoryFile, Config: s.model.cfg, Step: s.conductor.Step(), Params: checksum(s.model.values), Pending: s.pending}
	return writeFile(w, h, s.ctx.arrays())
}

// Restore continues where the reader that was saved stopped, with the same
// bits. After an error nothing has changed.
func (s *Reader[F]) Restore(r io.Reader) error {
	f := &fileReader{r: r}
	h, err := f.readHeader()
	if err != nil {
		return err
	}
	if h.Kind != memoryFile {
		return &FileError{Offset: 16, Why: fmt.Sprintf("the file holds a %q, not a memory", h.Kind), Err: ErrMismatch}
	}
	if err := s.model.same(h); err != nil {
		return err
	}
	if h.Params != checksum(s.model.values) {
		return &FileError{Offset: 16, Why: "the model has other parameters", Err: ErrMismatch}
	}
	if len(h.Pending) > s.model.cfg.Chunk {
		return &FileError{Offset: 16, Why: fmt.Sprintf("%d tokens in a chunk of %d", len(h.Pending), s.model.cfg.Chunk)}
	}
	if err := s.check(h.Pending); err != nil {
		return &FileError{Offset: 16, Why: "a token of the chunk", Err: err}
	}
	fresh := s.model.NewContext()
	if err := readArrays(f, h, fresh.arrays()); err != nil {
		return err
	}
	s.ctx.CopyFrom(fresh)
	s.pending, s.dirty = append(s.pending[:0], h.Pending...), true
	s.conductor.Resume(h.Step)
	return nil
}

// SaveFile is [Reader.Save] to a file, written atomically.
func (s *Reader[F]) SaveFile(path string) error { return durable.WriteFile(path, s.Save) }

// RestoreFile is [Reader.Restore] from a file.
func (s *Reader[F]) RestoreFile(path string) error {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := s.Restore(f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
