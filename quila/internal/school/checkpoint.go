package school

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"atenia/internal/model/file"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
	"atenia/tensor"

	"github.com/zeebo/xxh3"
)

const checkpointFormat = "atenia.quila.school/1"

// errCheckpoint matches errors about files that are not a checkpoint of this run
// or that are damaged.
var errCheckpoint = errors.New("bad checkpoint")

// A place is what a checkpoint holds besides arrays.
type place struct {
	Format  string    `json:"format"`
	Pupil   string    `json:"pupil"`
	Recipe  Recipe    `json:"recipe"`
	Text    string    `json:"text"` // checksum of the text
	Step    int       `json:"step"`
	At      int       `json:"at"`
	Recent  []float64 `json:"recent"`
	Gate    Gate      `json:"gate"`
	Seconds float64   `json:"seconds"`
	Marks   []Mark    `json:"marks"`
	// What the pupil was made from, see [Pupil]; older checkpoints have none.
	Made map[string]string `json:"made,omitempty"`
}

// An array is a named piece of a checkpoint.
type array struct {
	name   string
	values []float32
}

// arrays are all values of a run that steps change.
func (r *Run) arrays(state [][]float32) []array {
	var out []array
	for i, p := range r.Pupil.Params {
		out = append(out, array{"w:" + p.Name, p.Value})
		for k, s := range r.opt.State(i) {
			out = append(out, array{fmt.Sprintf("s7.%d:%s", k, p.Name), s})
		}
	}
	for i, x := range r.Pupil.Extra {
		out = append(out, array{fmt.Sprintf("x:%d", i), x})
	}
	for i, s := range state {
		out = append(out, array{fmt.Sprintf("s:%d", i), s})
	}
	return out
}

// Save replaces the checkpoint at path. fsys may be nil.
func (r *Run) Save(fsys durable.FS, path string) error {
	note, err := json.Marshal(place{
		Format: checkpointFormat, Pupil: r.Pupil.Name, Recipe: r.Recipe, Text: hex(xxh3.Hash(r.text)), Step: r.step, At: r.at,
		Recent: r.recent, Gate: *r.gate, Seconds: r.seconds, Marks: r.Marks, Made: r.Pupil.Made,
	})
	if err != nil {
		return err
	}
	var sources []file.TensorSource
	sum, bytes := xxh3.New(), int64(0)
	add(sum, "note", note)
	for _, a := range r.arrays(r.stream.State()) {
		v := tensor.FromF32(tensor.Shape{len(a.values)}, a.values)
		add(sum, a.name, v.Data)
		bytes += int64(len(v.Data))
		sources = append(sources, file.SourceOf(a.name, v))
	}
	notes := map[string]string{"note": string(note), "sum": hex(sum.Sum64())}
	if err := durable.Fits(fsys, filepath.Dir(path), bytes); err != nil {
		return err
	}
	return durable.ReplaceIn(durable.Default(fsys), path, func(w io.Writer) error { return file.EncodeSafetensors(w, notes, sources) })
}

// add adds a named piece to a checksum.
func add(sum *xxh3.Hasher, name string, data []byte) {
	_, _ = fmt.Fprintf(sum, "%q %d\n", name, len(data)) // a hash has no errors
	_, _ = sum.Write(data)
}

func hex(x uint64) string { return fmt.Sprintf("%016x", x) }

// Load continues from the checkpoint at path. A run that it cannot continue is
// unchanged, and the error matches [errCheckpoint].
func (r *Run) Load(path string) (err error) {
	d, err := file.OpenSafetensors(path)
	if _, bad := errors.AsType[*file.FormatError](err); bad {
		return fmt.Errorf("school: %w: %w", errCheckpoint, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	fault := func(format string, args ...any) error {
		return fmt.Errorf("school: %s: %w: %s", path, errCheckpoint, fmt.Sprintf(format, args...))
	}
	note, _, err := d.Meta.String("note")
	if err != nil {
		return fault("%v", err)
	}
	want, _, err := d.Meta.String("sum")
	if err != nil {
		return fault("%v", err)
	}
	var p place
	if err := json.Unmarshal([]byte(note), &p); err != nil {
		return fault("%v", err)
	}
	was, now := p.Recipe.fixed(), r.Recipe.fixed()
	if len(p.Made) > 0 && len(r.Pupil.Made) > 0 {
		maps.Copy(was, p.Made)
		maps.Copy(now, r.Pupil.Made)
	}
	other := spelling.Changes(was, now)
	switch {
	case p.Format != checkpointFormat:
		return fault("format %q, want %q", p.Format, checkpointFormat)
	case p.Pupil != r.Pupil.Name:
		return fault("it is of the model %q, not %q", p.Pupil, r.Pupil.Name)
	case other != "":
		return fault("it is of another run: %s; say what it was made with, or name another folder", other)
	case p.Text != hex(xxh3.Hash(r.text)):
		return fault("its text is another")
	case p.Step > r.Recipe.Steps:
		return fault("it is at step %d of %d, and the run ends at step %d: give it as many steps or more", p.Step, p.Recipe.Steps, r.Recipe.Steps)
	case p.Step < 0 || p.At < 0 || p.At > r.rows:
		return fault("step %d at %d is outside the run", p.Step, p.At)
	}
	state := slices.Clone(r.stream.State())
	for i := range state {
		state[i] = make([]float32, len(state[i]))
	}
	arrays, sum := r.arrays(state), xxh3.New()
	add(sum, "note", []byte(note))
	read := make([][]float32, len(arrays))
	for i, a := range arrays {
		t, ok := d.Tensor(a.name)
		if !ok {
			return fault("%q is missing", a.name)
		}
		if read[i], ok = t.View.F32(); !ok || len(read[i]) != len(a.values) {
			return fault("%q has %d values, want %d", a.name, len(read[i]), len(a.values))
		}
		add(sum, a.name, t.View.Data)
	}
	if hex(sum.Sum64()) != want {
		return fault("it does not have its checksum")
	}
	for i, a := range arrays {
		copy(a.values, read[i])
	}
	if r.Pupil.Loaded != nil {
		r.Pupil.Loaded()
	}
	if err := r.stream.SetState(state); err != nil {
		return fault("%v", err)
	}
	for i := range r.params {
		r.opt.SetSteps(i, uint64(p.Step))
	}
	p.Gate.First = r.gate.First // of the steps that there are now
	r.step, r.at, r.recent, *r.gate, r.seconds, r.Marks = p.Step, p.At, p.Recent, p.Gate, p.Seconds, p.Marks
	r.saved = r.step
	return nil
}
