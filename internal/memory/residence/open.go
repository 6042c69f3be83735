package residence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"atenia/internal/exec"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"

	"atenia/internal/memory"
	"atenia/internal/memory/coded"
	"atenia/internal/memory/lane"
	"atenia/internal/memory/ledger"
	"atenia/internal/memory/place"
	"atenia/internal/memory/ring"
	"atenia/tensor"
)

// A Residence holds the weights of a model.
type Residence struct {
	Weights exec.Weights // those that are streamed have bytes only while a step uses them
	Stream  exec.Stream  // with a ring unless nothing is streamed

	Held     int64  // bytes of memory for weights that stay, as far as they are not mapped
	Streamed int64  // bytes that each pass reads through the ring
	Coded    int64  // bytes of those that it reads in coded form, decoded
	Buffered string // a file whose reads go through the system's cache; "" = none

	pinned *ring.Pinned
	files  []io.Closer
}

// A Config configures a residence.
type Config struct {
	Verify  bool            // the ring compares what it reads with what it read first
	Account *ledger.Account // that weights and ring are reserved in
	Lanes   *lane.Executor  // of all reads; nil = each has its own
	Coded   *coded.File     // weights that are streamed from here, if the ring has room for chunks; nil = none
	Damaged func(error)     // is told once of damage in that file; nil = no one is
}

// Open materialises the weights of a model, each once, where a placement says:
// it reads those that stay in memory and starts to read the others. Without a
// placement all weights are views of the mapped files, as far as kernels read
// what the files have.
func Open(ctx context.Context, m *compile.Model, d *file.Description, p *place.Placement, c *Config) (r *Residence, err error) {
	if p == nil {
		w, err := compile.Materialize(m, d)
		if err != nil {
			return nil, err
		}
		return &Residence{Weights: w}, nil
	}
	o := opening{
		c:    c,
		r:    &Residence{Weights: exec.Weights{}, Stream: exec.Stream{Units: map[string]int{}, Tables: map[string]exec.Table{}}},
		d:    d,
		at:   map[string]int{},
		rows: map[string]bool{}, plain: map[string]*os.File{}, now: -1,
	}
	for _, p := range exec.Products(&m.Plans.Decode.Plan) {
		for _, name := range p.Weights {
			o.rows[name] = o.rows[name] || p.Rows
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.r.Close())
		}
	}()
	for i := range p.Tensors {
		w, ok := m.Weights[p.Tensors[i].Name]
		if !ok {
			continue // caches and buffers are others' to hold
		}
		if err := o.add(&p.Tensors[i], w); err != nil {
			return nil, err
		}
	}
	return o.r, o.read(ctx, &p.Ring)
}

// An opening is a residence in the making.
type opening struct {
	c       *Config
	r       *Residence
	d       *file.Description
	files   []ring.Source
	at      map[string]int      // index of files
	plain   map[string]*os.File // that tables are read from
	rows    map[string]bool     // weights that are looked up by rows
	held    []weight
	units   []ring.Unit
	streams [][]weight // by unit
	now     int        // the plan's number of the unit that is collected
}

// A weight waits for its bytes.
type weight struct {
	name string
	view tensor.View
	span ring.Span
}

// add decides how to load one tensor.
func (o *opening) add(t *place.Placed, w compile.Weight) error {
	at, ok := locate(&w, o.d)
	switch {
	case t.Tier == memory.VRAM:
		return fmt.Errorf("weight %s: no device can hold weights yet; give it to ram or ssd", t.Name)
	case !ok && t.Tier != memory.RAM:
		return fmt.Errorf("weight %s: %s; give it to ram", t.Name, t.Held)
	case !ok:
		v, err := compile.MaterializeOne(w, o.d)
		if err != nil {
			return err
		}
		v.Data = slices.Clone(v.Data) // not the mapping's, which costs a page for each
		o.r.Weights[t.Name] = v
		o.r.Held += int64(len(v.Data))
		return nil
	case t.Tier == memory.RAM && t.Class == place.Vector:
		return o.vector(t.Name, w)
	}
	if t.ByRow && !t.Streamed() && t.Tier == memory.SSD {
		return o.table(t.Name, at)
	}
	path, err := o.file(at.File)
	if err != nil {
		return err
	}
	if size, end := o.files[path].Size(), at.Offset+int64(len(at.View.Data)); end > size {
		return fmt.Errorf("weight %s ends at byte %d of %s, which has %d: %w: the file was cut", t.Name, end, at.File, size, io.ErrUnexpectedEOF)
	}
	x := weight{t.Name, header(at.View), ring.Span{File: path, Offset: at.Offset, Bytes: len(at.View.Data), Align: at.Align}}
	if t.Tier == memory.RAM {
		o.held = append(o.held, x)
		return nil
	}
	if t.Unit != o.now {
		o.now = t.Unit
		o.units, o.streams = append(o.units, nil), append(o.streams, nil)
	}
	if w, ok := o.coded(t.Name, &at.View); ok {
		x.span.Coded = w
	}
	k := len(o.units) - 1
	o.units[k], o.streams[k] = append(o.units[k], x.span), append(o.streams[k], x)
	o.r.Stream.Units[t.Name] = k
	if o.rows[t.Name] { // the head is the table, too
		return o.table(t.Name, at)
	}
	return nil
}

// vector copies a small weight to the heap.
func (o *opening) vector(name string, w compile.Weight) error {
	v, err := compile.MaterializeOne(w, o.d)
	if err != nil {
		return err
	}
	f := make([]float32, (len(v.Data)+3)/4) // aligned
	c := tensor.FromF32(tensor.Shape{len(f)}, f)
	copy(c.Data, v.Data)
	v.Data = c.Data[:len(v.Data)]
	o.r.Weights[name] = v
	o.r.Held += int64(len(v.Data))
	return nil
}

// table lets a weight be read by rows.
func (o *opening) table(name string, p compile.Location) error {
	f := o.plain[p.File]
	if f == nil {
		var err error
		if f, err = os.Open(p.File); err != nil {
			return err
		}
		o.plain[p.File] = f
		o.r.files = append(o.r.files, f)
	}
	row := len(p.View.Data) / max(1, p.View.Shape.Rows())
	o.r.Stream.Tables[name] = &table{f, name, p.View.DType, p.Offset, int64(row)}
	o.r.Weights[name] = header(p.View)
	return nil
}

func (o *opening) file(path string) (int, error) {
	if i, ok := o.at[path]; ok {
		return i, nil
	}
	f, err := ring.Open(path)
	if err != nil {
		return 0, err
	}
	if !f.Direct() {
		o.r.Buffered = path
	}
	o.r.files = append(o.r.files, f)
	o.files = append(o.files, f)
	o.at[path] = len(o.files) - 1
	return len(o.files) - 1, nil
}

// read loads the pinned weights and starts the ring.
func (o *opening) read(ctx context.Context, size *place.Ring) (err error) {
	c := o.c
	spans := make([]ring.Span, len(o.held))
	for i := range o.held {
		spans[i] = o.held[i].span
	}
	if o.r.pinned, err = ring.Pin(ctx, c.Lanes, c.Account, o.files, spans); err != nil {
		return err
	}
	o.r.Held += o.r.pinned.Resident()
	for i, w := range o.held {
		w.view.Data = o.r.pinned.Bytes(i)
		o.r.Weights[w.name] = w.view
	}
	if len(o.units) == 0 {
		return nil
	}
	rc := ring.Config{Files: o.files, Units: o.units, Account: c.Account, Bytes: int(size.Bytes()), Verify: c.Verify, Labels: o.labels(), Lanes: c.Lanes, Damaged: c.Damaged}
	if err := o.openCoded(&rc); err != nil {
		return err
	}
	rc.Bytes = max(rc.Bytes, ring.Floor(o.units))
	o.r.Stream.Ring, err = ring.New(rc)
	if err != nil {
		return err
	}
	for u, ws := range o.streams {
		for k, w := range ws {
			w.view.Data = o.r.Stream.Ring.Bytes(u, k)
			o.r.Weights[w.name] = w.view
			if span := &o.units[u][k]; span.Coded == nil {
				o.r.Streamed += int64(len(w.view.Data))
			} else {
				o.r.Streamed += span.Coded.Coded()
				o.r.Coded += int64(len(w.view.Data))
			}
		}
	}
	return nil
}

// Stats returns what the ring has done so far: zero without one.
func (r *Residence) Stats() (s ring.Stats) {
	if r.Stream.Ring != nil {
		s = r.Stream.Ring.Stats()
	}
	return s
}

// labels describes the units of the ring, in its order.
func (o *opening) labels() []ring.Label {
	out := make([]ring.Label, len(o.streams))
	for u, ws := range o.streams {
		var names []string
		for _, w := range ws {
			names = append(names, w.name)
			out[u].Bytes += int64(w.span.Bytes)
		}
		out[u].Name = strings.Join(names, ",")
	}
	return out
}

// Close stops the ring and gives the memory back. Nothing of it may be in use.
func (r *Residence) Close() error {
	if r.Stream.Ring != nil {
		r.Stream.Ring.Close()
	}
	if r.pinned != nil {
		r.pinned.Close()
	}
	var errs []error
	for _, f := range r.files {
		errs = append(errs, f.Close())
	}
	r.files, r.Weights = nil, nil
	return errors.Join(errs...)
}

// A table reads rows of a matrix from its file, through the system's cache:
// the same tokens come again.
type table struct {
	f           *os.File
	name        string
	dtype       tensor.DType
	offset, row int64
}

// DType implements [exec.Table].
func (t *table) DType() tensor.DType { return t.dtype }

// ReadRow implements [exec.Table].
func (t *table) ReadRow(dst []byte, row int) error {
	n, err := t.f.ReadAt(dst, t.offset+int64(row)*t.row)
	if n == len(dst) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: the file was cut", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("weight %s, row %d: %w", t.name, row, err)
}
