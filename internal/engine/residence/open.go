package residence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"atenia/internal/exec"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
	"atenia/internal/memory/lane"
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

	before  ring.Stats      // of the rings that this one replaced
	mapped  bool            // the weights are views of the files
	held    map[string]held // weights that were read into memory
	made    map[string]tensor.View
	sources []ring.Source
	at      map[string]int      // index of sources, by path
	plain   map[string]*os.File // that tables are read from
	blocks  []ledger.Block      // of small weights and of made ones
	files   []io.Closer
}

// held is where a weight is that was read into memory.
type held struct {
	pinned *ring.Pinned
	span   int
	packed *bool // whether it has been packed where it is
}

// A Config configures a residence.
type Config struct {
	Verify  bool            // the ring compares what it reads with what it read first
	Account *ledger.Account // that weights and ring are reserved in
	Lanes   *lane.Executor  // of all reads; nil = each has its own
	Coded   *ring.CodedFile // weights that are streamed from here, if the ring has room for chunks; nil = none
	Damaged func(error)     // is told once of damage in that file; nil = no one is
}

// Open materialises the weights of a model, each once, where a placement says:
// it reads those that stay in memory and starts to read the others. Without a
// placement all weights are views of the mapped files, as far as kernels read
// what the files have.
func Open(ctx context.Context, m *compile.Model, d *file.Description, p *place.Placement, c *Config) (r *Residence, err error) {
	if p == nil {
		return mapped(m, d)
	}
	return load(ctx, m, d, p, c, &Residence{at: map[string]int{}, plain: map[string]*os.File{}})
}

// load makes the residence of a placement from an earlier one, whose ring is
// closed: what stays in memory is not read again, and what does not stay is
// freed before anything is read.
func load(ctx context.Context, m *compile.Model, d *file.Description, p *place.Placement, c *Config, old *Residence) (r *Residence, err error) {
	o := opening{
		c: c,
		r: &Residence{
			Weights: exec.Weights{}, Stream: exec.Stream{Units: map[string]int{}, Tables: map[string]exec.Table{}, Held: map[string]*bool{}},
			before: old.Stats(), held: map[string]held{}, made: map[string]tensor.View{}, blocks: old.blocks,
			sources: old.sources, at: old.at, plain: old.plain, files: old.files, Buffered: old.Buffered,
		},
		d: d, old: old, room: c.Account, rows: map[string]bool{}, now: -1, bankOf: -1,
	}
	old.files, old.blocks = nil, nil // they are the new one's to close
	for _, p := range exec.Products(&m.Plans.Usual().Plan) {
		for _, name := range p.Weights {
			o.rows[name] = o.rows[name] || p.Rows
		}
	}
	defer func() {
		if err != nil {
			r, err = nil, errors.Join(err, o.r.Close(), old.Close())
		}
	}()
	if err := o.reserve(p.Tensors, m); err != nil {
		return nil, err
	}
	for i := range p.Tensors {
		w, ok := m.Weights[p.Tensors[i].Name]
		if !ok {
			continue // caches and buffers are others' to hold
		}
		if t := &p.Tensors[i]; t.Experts > 0 && t.Held == "" && t.Tier != memory.VRAM {
			if err := o.bank(t, w); err != nil {
				return nil, err
			}
			continue
		}
		if err := o.add(&p.Tensors[i], w); err != nil {
			return nil, err
		}
	}
	return o.r, o.read(ctx, p)
}

// An opening is a residence in the making.
type opening struct {
	c       *Config
	r, old  *Residence
	d       *file.Description
	rows    map[string]bool // weights that are looked up by rows
	held    []weight
	room    *ledger.Account
	small   []byte // for weights that are copied
	units   []ring.Unit
	streams [][]weight // by unit
	now     int        // the plan's number of the unit that is collected
	layers  []ring.ExpertLayer
	bankOf  int // the plan's number of the unit that the last layer is
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
		return o.keep(t.Name, w) // not the mapping's bytes, which cost a page for each
	case t.Tier == memory.RAM && t.Class == place.Vector:
		return o.keep(t.Name, w)
	}
	if t.ByRow && !t.Streamed() && t.Tier == memory.SSD {
		return o.table(t.Name, at)
	}
	span, err := o.span(t.Name, &at)
	if err != nil {
		return err
	}
	x := weight{t.Name, header(at.View), span}
	if t.Tier == memory.RAM {
		if !o.rows[t.Name] {
			x.span.Align = 64 // so that it can be packed where it is
		}
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

// copyAlign is the alignment of copied weights.
const copyAlign = 64

// reserve takes the memory of all weights that will be copied, in one block: each
// alone would take a page.
func (o *opening) reserve(ts []place.Placed, m *compile.Model) error {
	n := int64(0)
	for i := range ts {
		w, ok := m.Weights[ts[i].Name]
		if _, made := o.old.made[ts[i].Name]; !ok || made || ts[i].Tier != memory.RAM || ts[i].Experts > 0 && ts[i].Held == "" { // which the cache of experts has
			continue
		}
		if _, ok := locate(&w, o.d); !ok || ts[i].Class == place.Vector {
			n += (ts[i].Bytes + copyAlign - 1) / copyAlign * copyAlign
		}
	}
	b, err := ledger.NewBlock(o.room, ledger.Weights, int(n))
	if err != nil {
		return fmt.Errorf("weights that are copied: %w", err)
	}
	o.r.blocks, o.small = append(o.r.blocks, b), b.Bytes
	return nil
}

// keep copies a weight into memory, unless the earlier residence did.
func (o *opening) keep(name string, w compile.Weight) error {
	if v, ok := o.old.made[name]; ok {
		o.made(name, v)
		return nil
	}
	v, err := compile.MaterializeOne(w, o.d)
	if err != nil {
		return err
	}
	n := (len(v.Data) + copyAlign - 1) / copyAlign * copyAlign
	if n > len(o.small) { // larger than its header says
		b, err := ledger.NewBlock(o.room, ledger.Weights, n)
		if err != nil {
			return fmt.Errorf("weight %s: %w", name, err)
		}
		o.r.blocks, o.small = append(o.r.blocks, b), b.Bytes
	}
	copy(o.small, v.Data)
	v.Data, o.small = o.small[:len(v.Data):len(v.Data)], o.small[n:]
	o.made(name, v)
	return nil
}

// made records a weight that was copied.
func (o *opening) made(name string, v tensor.View) {
	o.r.made[name], o.r.Weights[name] = v, v
	o.r.Held += int64(len(v.Data))
}

// table lets a weight be read by rows.
func (o *opening) table(name string, p compile.Location) error {
	f := o.r.plain[p.File]
	if f == nil {
		var err error
		if f, err = os.Open(p.File); err != nil {
			return err
		}
		o.r.plain[p.File] = f
		o.r.files = append(o.r.files, f)
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	row := len(p.View.Data) / max(1, p.View.Shape.Rows())
	o.r.Stream.Tables[name] = &table{f, name, p.View.DType, p.Offset, int64(row), st.Size()}
	o.r.Weights[name] = header(p.View)
	return nil
}

// span opens the file of a location.
func (o *opening) span(name string, at *compile.Location) (ring.Span, error) {
	path, err := o.file(at.File)
	if err != nil {
		return ring.Span{}, err
	}
	if size, end := o.r.sources[path].Size(), at.Offset+int64(len(at.View.Data)); end > size {
		return ring.Span{}, fmt.Errorf("weight %s ends at byte %d of %s, which has %d: %w: the file was cut", name, end, at.File, size, io.ErrUnexpectedEOF)
	}
	return ring.Span{File: path, Offset: at.Offset, Bytes: len(at.View.Data), Align: at.Align}, nil
}

func (o *opening) file(path string) (int, error) {
	if i, ok := o.r.at[path]; ok {
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
	o.r.sources = append(o.r.sources, f)
	o.r.at[path] = len(o.r.sources) - 1
	return len(o.r.sources) - 1, nil
}

// read loads the weights that stay in memory and starts cache and ring.
func (o *opening) read(ctx context.Context, p *place.Placement) (err error) {
	c := o.c
	if err := o.pin(ctx, c); err != nil {
		return err
	}
	if len(o.layers) > 0 {
		if o.r.Stream.Experts, err = ring.NewExpertCache(ring.ExpertConfig{
			Files: o.r.sources, Layers: o.layers, Slots: p.Cache.Slots, Account: c.Account, Verify: c.Verify,
		}); err != nil {
			return err
		}
	}
	if len(o.units) == 0 {
		return nil
	}
	rc := ring.Config{Files: o.r.sources, Units: o.units, Account: c.Account, Bytes: int(p.Ring.Bytes()), Verify: c.Verify, Labels: o.labels(), Lanes: c.Lanes, Damaged: c.Damaged}
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

// pin keeps in memory what is there and is to stay, frees the rest and then
// reads what is missing.
func (o *opening) pin(ctx context.Context, c *Config) error {
	var missing []weight
	var spans []ring.Span
	for _, w := range o.held {
		if h, ok := o.old.held[w.name]; ok {
			o.r.held[w.name] = h
			delete(o.old.held, w.name)
		} else {
			missing, spans = append(missing, w), append(spans, w.span)
		}
	}
	o.old.free()
	pinned, err := ring.Pin(ctx, c.Lanes, c.Account, o.r.sources, spans)
	if err != nil {
		return err
	}
	for i, w := range missing {
		o.r.held[w.name] = held{pinned, i, new(bool)}
	}
	for _, w := range o.held {
		h := o.r.held[w.name]
		w.view.Data = h.pinned.Bytes(h.span)
		o.r.Weights[w.name] = w.view
		o.r.Held += h.pinned.Resident(h.span)
		if !o.rows[w.name] {
			o.r.Stream.Held[w.name] = h.packed
		}
	}
	return nil
}

// Resize moves the weights to where another placement says and returns their
// residence, which takes the place of r: r must not be used afterwards, not even
// after an error, and nothing of it may be in use. Without a placement the
// weights are mapped. What stays in memory is not read again.
func (r *Residence) Resize(ctx context.Context, m *compile.Model, d *file.Description, p *place.Placement, c *Config) (*Residence, error) {
	r.endStream()
	switch {
	case p == nil:
		next, err := Open(ctx, m, d, nil, c)
		if err == nil {
			next.before = r.Stats()
		}
		return next, errors.Join(err, r.Close())
	case r.mapped:
		next, err := Open(ctx, m, d, p, c)
		for _, v := range r.Weights {
			d.Release(v.Data, true)
		}
		for _, bank := range r.Stream.Apart {
			for _, v := range bank {
				d.Release(v.Data, true)
			}
		}
		return next, err
	}
	return load(ctx, m, d, p, c, r)
}

// Experts returns what the cache of experts has done so far: zero without one.
func (r *Residence) Experts() (s ring.ExpertStats) {
	if r.Stream.Experts != nil {
		s = r.Stream.Experts.Stats()
	}
	return s
}

// Stats returns what ring and cache of experts, and those that they replaced, have
// read so far, and for how long computing waited for it. Hits, late units and
// bytes of memory are the ring's.
func (r *Residence) Stats() ring.Stats {
	s := r.before
	s.Bytes = 0
	if r.Stream.Ring != nil {
		s = r.Stream.Ring.Stats().Plus(s)
	}
	if r.Stream.Experts != nil {
		e := r.Stream.Experts.Stats()
		s.Read, s.Reads, s.Busy, s.Stall = s.Read+e.Read, s.Reads+e.Reads, s.Busy+e.Busy, s.Stall+e.Wait
		// The passes of the ring are part of those of the cache.
		s.Passes, s.Wall, s.First = r.before.Passes+e.Passes, r.before.Wall+e.Wall, e.First
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

// endStream stops the ring.
func (r *Residence) endStream() {
	if r.Stream.Ring != nil {
		r.Stream.Ring.Close()
	}
	if r.Stream.Experts != nil {
		r.Stream.Experts.Close()
	}
}

// free gives back the memory of the weights that were read into it.
func (r *Residence) free() {
	for _, h := range r.held {
		h.pinned.Release(h.span)
	}
	for i := range r.blocks {
		r.blocks[i].Release()
	}
	r.blocks = nil
	clear(r.held)
}

// Close stops the ring and gives the memory back. Nothing of it may be in use.
func (r *Residence) Close() error {
	r.endStream()
	r.free()
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
	size        int64 // of the file
}

// DType implements [exec.Table].
func (t *table) DType() tensor.DType { return t.dtype }

// ReadRow implements [exec.Table].
func (t *table) ReadRow(dst []byte, row int) error {
	n, err := t.f.ReadAt(dst, t.offset+int64(row)*t.row)
	if n == len(dst) {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		if st, e := t.f.Stat(); e == nil {
			err = &file.ChangedError{File: t.f.Name(), Offset: st.Size(), Was: t.size, Now: st.Size(), Streamed: true}
		}
	}
	return fmt.Errorf("weight %s, row %d: %w", t.name, row, err)
}
