package decide

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"atenia/internal/store/durable"
)

// header is the first line of a file, which names its version.
const header = "ATENIA_SELFTRAINER_V1"

// maxFileBytes bounds reading: 64 rows need less than 16 KiB, the rest is room
// for lines added by newer versions.
const maxFileBytes = 16 << 20

// The kinds of a [fileError], for [errors.Is].
var (
	ErrIO     = errors.New("input or output failed")
	errFormat = errors.New("not a learning file of this version")
)

// A fileError says why a table could not be read or written.
type fileError struct {
	Kind error // [ErrIO] or [errFormat]
	Path string
	Err  error // the cause
}

func (e *fileError) Error() string { return fmt.Sprintf("learning file %s: %v", e.Path, e.Err) }

// Unwrap returns the kind and the cause.
func (e *fileError) Unwrap() []error { return []error{e.Kind, e.Err} }

// A Status is the outcome of loading a file.
type Status string

// The outcomes of loading.
const (
	StatusOK         Status = "Ok"
	StatusMissing    Status = "Missing"    // no such file, or empty
	StatusUnreadable Status = "Unreadable" // exists but could not be read
	StatusForeign    Status = "Foreign"    // another header
)

// A Report is the result of loading. The table is usable whatever the status: it
// holds the valid lines.
type Report struct {
	Status  Status
	Skipped int       // nonblank lines that could not be parsed
	Damaged int       // rows with more successes than episodes, see [Trainer.Sound]
	First   LineError // the first of both; its Line is 0 if there is none
	Err     error     // why the file is unreadable or foreign
}

// A LineError says why a line of a file was skipped.
type LineError struct {
	Line int // from 1
	Why  string
}

func (e LineError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Why) }

// String returns the table in the format of [Trainer.Save]: the header, then one
// line per row in the order of [Trainer.Rows].
func (t *Trainer) String() string {
	var b strings.Builder
	b.WriteString(header + "\n")
	for _, r := range t.Rows() {
		gpu := 0
		if r.GPU {
			gpu = 1
		}
		fmt.Fprintf(&b, "gpu_avail=%d;vram_band=%d;ram_band=%d;backend=%s;count=%d;success=%d;score_sum=%d;drift=%d\n",
			gpu, r.VRAM, r.RAM, r.Backend.Lower(), r.Count, r.Success, r.Score, r.Drift)
	}
	return b.String()
}

// Parse reads the format of [Trainer.String]. It ignores blanks around the
// header, fields, keys and values, the order of fields, and unknown keys; the
// last line of a repeated row wins. It skips and counts lines with missing or
// bad fields. Rows with more successes than episodes are damaged: they are counted,
// too, and stay in the table, which is printed as it was read.
func Parse(data []byte) (Trainer, Report) {
	var t Trainer
	if len(data) == 0 {
		return t, Report{Status: StatusMissing}
	}
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if string(bytes.TrimSpace(first)) != header {
		return t, Report{Status: StatusForeign, Err: fmt.Errorf("%w: want %q in line 1, got %.40q", errFormat, header, first)}
	}
	damaged := 0
	r := eachLine(rest, func(line string) string {
		row, why := parseRow(line)
		if why != "" {
			return why
		}
		t.Set(row)
		if row.Success > row.Count {
			damaged++
			return moreSuccesses(row.Success, row.Count)
		}
		return ""
	})
	r.Skipped, r.Damaged = r.Skipped-damaged, damaged
	return t, r
}

// Sound returns the table without rows that have more successes than episodes:
// the seed's format can hold them, and no run makes them.
func (t *Trainer) Sound() Trainer {
	out := *t
	for i := range out.rows {
		if s := &out.rows[i]; s.Success > s.Count {
			*s, out.known = Stats{}, out.known&^(1<<i)
		}
	}
	return out
}

// eachLine calls f with the lines after the header that are not blank, and
// counts those that it says cannot be used.
func eachLine(rest []byte, f func(line string) (why string)) Report {
	r := Report{Status: StatusOK}
	for n := 2; len(rest) > 0; n++ {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if why := f(string(line)); why != "" {
			if r.Skipped++; r.Skipped == 1 {
				r.First = LineError{n, why}
			}
		}
	}
	return r
}

// lineFields are the values of a line by key, and the first fault of them.
type lineFields struct {
	values map[string]string
	why    string
}

func newFields(line string) *lineFields {
	f := &lineFields{values: map[string]string{}}
	for field := range strings.SplitSeq(line, ";") {
		if k, v, ok := strings.Cut(field, "="); ok {
			f.values[strings.TrimSpace(k)] = strings.TrimSpace(v)
		}
	}
	return f
}

// fault keeps the first fault.
func (f *lineFields) fault(why string) {
	if f.why == "" {
		f.why = why
	}
}

// number reads a whole number up to a limit.
func (f *lineFields) number(key string, limit uint64) uint64 {
	v, ok := f.values[key]
	n, err := strconv.ParseUint(v, 10, 64)
	switch {
	case !ok:
		f.fault("no " + key)
	case err != nil || n > limit || !digits(v):
		f.fault(fmt.Sprintf("%s: want a number up to %d, got %.40q", key, limit, v))
	}
	return n
}

// seconds reads a time, which is finite and not below 0.
func (f *lineFields) seconds(key string) float64 {
	v, err := strconv.ParseFloat(f.values[key], 64)
	if err != nil || !(v >= 0 && v <= math.MaxFloat64) {
		f.fault(fmt.Sprintf("%s: want seconds, 0 or more, got %.40q", key, f.values[key]))
	}
	return v
}

// bucket reads the pressures.
func (f *lineFields) bucket() (b Bucket) {
	switch v := f.values["gpu_avail"]; v {
	case "0", "1":
		b.GPU = v == "1"
	default:
		f.fault(fmt.Sprintf("gpu_avail: want 0 or 1, got %.40q", v))
	}
	b.VRAM = Band(f.number("vram_band", bands-1))
	b.RAM = Band(f.number("ram_band", bands-1))
	return b
}

// moreSuccesses says why a row is damaged: each success is of a run.
func moreSuccesses(success, count uint32) string {
	return fmt.Sprintf("success: want at most count, which is %d, got %d", count, success)
}

// parseRow parses one line; why is empty if it is valid.
func parseRow(line string) (r Row, why string) {
	f := newFields(line)
	r.Bucket = f.bucket()
	if err := r.Backend.UnmarshalText([]byte(f.values["backend"])); err != nil {
		f.fault(err.Error())
	}
	r.Count = uint32(f.number("count", math.MaxUint32))
	r.Success = uint32(f.number("success", math.MaxUint32))
	r.Drift = uint32(f.number("drift", math.MaxUint32))
	score := f.values["score_sum"]
	n, err := strconv.ParseInt(score, 10, 64)
	if err != nil || !digits(strings.TrimPrefix(score, "-")) {
		f.fault(fmt.Sprintf("score_sum: want a whole number of 64 bits, got %.40q", score))
	}
	r.Score = n
	return r, f.why
}

// digits reports whether s consists of decimal digits.
func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// Load reads a file. The table is usable in any case: it is empty or holds the
// valid rows; the report says which.
func Load(path string) (Trainer, Report) { return load(nil, path) }

func load(fsys durable.FS, path string) (Trainer, Report) {
	data, err := read(durable.Default(fsys), path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Trainer{}, Report{Status: StatusMissing}
	case err != nil:
		return Trainer{}, Report{Status: StatusUnreadable, Err: &fileError{ErrIO, path, err}}
	}
	t, r := Parse(data)
	if r.Err != nil {
		r.Err = &fileError{errFormat, path, r.Err}
	}
	return t, r
}

func read(fsys durable.FS, path string) ([]byte, error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("more than %d bytes", maxFileBytes)
	}
	return data, err
}

// Save replaces a file atomically with the table; missing parent directories are
// created.
func (t *Trainer) Save(path string) error { return t.save(nil, path) }

func (t *Trainer) save(fsys durable.FS, path string) error {
	if err := durable.Default(fsys).MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return &fileError{ErrIO, path, err}
	}
	err := durable.WriteFileIn(fsys, path, func(w io.Writer) error {
		_, err := io.WriteString(w, t.String())
		return err
	})
	if err != nil {
		return &fileError{ErrIO, path, err}
	}
	return nil
}
