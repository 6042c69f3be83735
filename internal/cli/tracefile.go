package cli

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"

	"atenia"
	"atenia/internal/store/durable"
)

// A trace file is what every instruction of a run computed: an archive of NumPy arrays as
// numpy.savez writes it, float32 [rows, columns], one for each output, by names such as
// "s0/0014.L3.attention.0": step, instruction, layer, opcode and output.

// traceName names an output.
func traceName(t *atenia.TracedOutput) string {
	layer := ""
	if t.Layer >= 0 {
		layer = fmt.Sprintf("L%d.", t.Layer)
	}
	return fmt.Sprintf("s%d/%04d.%s%s.%d", t.Step, t.Instruction, layer, t.Opcode, t.Output)
}

// arrayEnd is how names of arrays in archives end.
const arrayEnd = ".npy"

// writeTrace writes a file of what a run computes. The file is whole or not there.
func writeTrace(path string, run func(func(atenia.TracedOutput)) error) error {
	return durable.Replace(path, func(w io.Writer) error {
		z := zip.NewWriter(w)
		var failed error
		err := run(func(t atenia.TracedOutput) {
			if failed == nil {
				failed = addArray(z, traceName(&t)+arrayEnd, t.Values, t.Cols)
			}
		})
		return errors.Join(err, failed, z.Close())
	})
}

// addArray adds an array of rows to an archive, as it is in memory.
func addArray(z *zip.Writer, name string, values []float32, cols int) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return err
	}
	const magic, head = "\x93NUMPY\x01\x00", 128
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", len(values)/max(1, cols), cols)
	b := append(make([]byte, 0, head), magic...)
	b = binary.LittleEndian.AppendUint16(b, uint16(head-len(magic)-2))
	b = fmt.Appendf(b, "%-*s\n", head-len(b)-1, text)
	for _, v := range values {
		if b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v)); len(b) >= 1<<16 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	_, err = w.Write(b)
	return err
}

var arrayHead = regexp.MustCompile(`^\{'descr': *'<f4', *'fortran_order': *False, *'shape': *\((\d{1,12}), *(\d{1,12}),?\), *\} *\n?$`)

// readArrayHead reads what precedes the numbers of an array.
func readArrayHead(r io.Reader) (rows, cols int, err error) {
	var fixed [10]byte
	if _, err := io.ReadFull(r, fixed[:]); err != nil {
		return 0, 0, err
	}
	if string(fixed[:8]) != "\x93NUMPY\x01\x00" {
		return 0, 0, fmt.Errorf("want a NumPy array of format 1.0, got %q", fixed[:8])
	}
	text := make([]byte, binary.LittleEndian.Uint16(fixed[8:]))
	if _, err := io.ReadFull(r, text); err != nil {
		return 0, 0, err
	}
	m := arrayHead.FindSubmatch(text)
	if m == nil {
		return 0, 0, fmt.Errorf("want rows of float32, got %.200q", text)
	}
	rows, _ = strconv.Atoi(string(m[1]))
	cols, _ = strconv.Atoi(string(m[2]))
	return rows, cols, nil
}

// A traceDiff is how an output differs from that of a file.
type traceDiff struct {
	Name   string  `json:"name"`
	Why    string  `json:"why,omitempty"` // it has another shape, or is not in the file; else
	Row    int     `json:"row"`           // of the first number that differs
	Col    int     `json:"column"`
	Got    number  `json:"got"`
	Want   number  `json:"want"`   // in the file
	Values int     `json:"values"` // that differ
	Most   number  `json:"most"`   // the largest difference
	Scale  float64 `json:"scale"`  // the largest number in the file
}

// A number is one that JSON has a text for, if it has no number.
type number float64

// MarshalJSON implements [json.Marshaler].
func (n number) MarshalJSON() ([]byte, error) {
	if x := float64(n); math.IsNaN(x) || math.IsInf(x, 0) {
		return json.Marshal(fmt.Sprint(x))
	}
	return json.Marshal(float64(n))
}

// share is the largest difference as a part of the largest number.
func (d *traceDiff) share() float64 { return float64(d.Most) / d.Scale }

// String says where and by how much.
func (d *traceDiff) String() string {
	if d.Why != "" {
		return d.Name + ": " + d.Why
	}
	return fmt.Sprintf("%s: row %d, column %d is %g, in the file %g; %d numbers differ, by at most %.3g where the largest is %.3g", d.Name, d.Row, d.Col, float32(d.Got), float32(d.Want), d.Values, d.Most, d.Scale)
}

// compareArray compares an output with an array; nil = the same bits, or within a tolerance,
// which is a part of the array's largest number.
func compareArray(r io.Reader, t *atenia.TracedOutput, tolerance float64) (*traceDiff, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	d := &traceDiff{Name: traceName(t)}
	rows, cols, err := readArrayHead(in)
	if err != nil {
		return nil, err
	}
	if n := len(t.Values) / max(1, t.Cols); rows != n || cols != t.Cols {
		d.Why = fmt.Sprintf("it has %d rows of %d, in the file %d of %d", n, t.Cols, rows, cols)
		return d, nil
	}
	var b [4]byte
	for i, got := range t.Values {
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return nil, fmt.Errorf("number %d of %d: %w", i, len(t.Values), err)
		}
		bits := binary.LittleEndian.Uint32(b[:])
		want := math.Float32frombits(bits)
		if x := math.Abs(float64(want)); x > d.Scale && !math.IsInf(x, 0) {
			d.Scale = x
		}
		if math.Float32bits(got) == bits {
			continue
		}
		if d.Values++; d.Values == 1 {
			d.Row, d.Col, d.Got, d.Want = i/cols, i%cols, number(got), number(want)
		}
		if off := math.Abs(float64(got) - float64(want)); !(off <= float64(d.Most)) && d.Most == d.Most { // not a number is the most
			d.Most = number(off)
		}
	}
	if d.Values == 0 || float64(d.Most) <= tolerance*d.Scale {
		return nil, nil
	}
	return d, nil
}

// A traceResult is what came of comparing a run with a file.
type traceResult struct {
	Outputs int        `json:"outputs"` // that were compared
	Differ  int        `json:"differ"`
	First   *traceDiff `json:"first,omitempty"`
	Worst   *traceDiff `json:"worst,omitempty"` // by the largest difference relative to the largest number
	Missing int        `json:"missing"`         // arrays of the file that the run did not compute
}

// compareTrace compares what a run computes with a file.
func compareTrace(path string, tolerance float64, run func(func(atenia.TracedOutput)) error) (*traceResult, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	arrays, err := openArrays(f, st.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w; want what --outputs wrote", path, err)
	}
	r := &traceResult{}
	var failed error
	err = run(func(t atenia.TracedOutput) {
		if failed != nil {
			return
		}
		d, err := compareOutput(arrays, &t, tolerance)
		if err != nil {
			failed = fmt.Errorf("%s: %s: %w", path, traceName(&t), err)
			return
		}
		r.add(d)
	})
	r.Missing = len(arrays)
	return r, errors.Join(err, failed)
}

// openArrays returns the arrays of an archive by name.
func openArrays(r io.ReaderAt, size int64) (map[string]*zip.File, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	arrays := map[string]*zip.File{}
	for _, f := range z.File {
		arrays[f.Name] = f
	}
	return arrays, nil
}

// compareOutput compares an output with the array of its name, and takes that from the others.
func compareOutput(arrays map[string]*zip.File, t *atenia.TracedOutput, tolerance float64) (*traceDiff, error) {
	name := traceName(t) + arrayEnd
	f := arrays[name]
	if f == nil {
		return &traceDiff{Name: traceName(t), Why: "it is not in the file"}, nil
	}
	delete(arrays, name)
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	d, err := compareArray(in, t, tolerance)
	return d, errors.Join(err, in.Close())
}

// add counts an output; nil is the same.
func (r *traceResult) add(d *traceDiff) {
	r.Outputs++
	if d == nil {
		return
	}
	if r.Differ++; r.First == nil {
		r.First = d
	}
	if d.Why == "" && (r.Worst == nil || !(d.share() <= r.Worst.share())) {
		r.Worst = d
	}
}

// write says what came of it.
func (r *traceResult) write(w io.Writer) error {
	if r.Differ == 0 && r.Missing == 0 {
		_, err := fmt.Fprintf(w, "all %d outputs are those of the file\n", r.Outputs)
		return err
	}
	if r.First != nil {
		fmt.Fprintf(w, "first   %s\n", r.First)
	}
	if r.Worst != nil && r.Worst != r.First {
		fmt.Fprintf(w, "worst   %s\n", r.Worst)
	}
	_, err := fmt.Fprintf(w, "%d of %d outputs differ; %d arrays of the file were not computed\n", r.Differ, r.Outputs, r.Missing)
	return err
}
