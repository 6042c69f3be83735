package decide

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"atenia/internal/store/durable"
)

// pickHeader is the first line of a picker's file. The file lies beside that of
// [Trainer], whose form does not change.
const pickHeader = "ATENIA_CHOICES_V1"

// maxArms bounds the lines of a file; places with the fewest episodes go first.
const maxArms = 4096

// choicesPath returns where the picker's file lies beside a table's.
func choicesPath(learning string) string {
	if learning == "" {
		return ""
	}
	return learning + ".choices"
}

// String returns the table in the form of the file: the header, then one line
// for each option that was tried.
func (p *picker) String() string {
	known := p.Known()
	p.prune(known)
	var b strings.Builder
	b.WriteString(pickHeader + "\n")
	for i := range known {
		x := &known[i]
		arms := append(slices.Clone(x.Arms), x.hidden...)
		slices.SortFunc(arms, func(a, b Arm) int { return strings.Compare(a.Option, b.Option) })
		for _, a := range arms {
			if a.Count == 0 {
				continue
			}
			gpu := 0
			if x.GPU {
				gpu = 1
			}
			fmt.Fprintf(&b, "gpu_avail=%d;vram_band=%d;ram_band=%d;model=%s;class=%s;knob=%s;option=%s;count=%d;success=%d;seconds=%s;spent=%s;lost=%s;age=%d\n",
				gpu, x.VRAM, x.RAM, x.Model, x.Class, x.Knob, a.Option, a.Count, a.Success, number(a.Seconds), number(a.Spent), number(a.Lost), a.Age)
		}
	}
	return b.String()
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// prune empties the places with the fewest episodes until the others fit.
func (p *picker) prune(known []Pick) {
	total, by := 0, make([]int, len(known))
	for i := range known {
		by[i] = i
		total += len(known[i].Arms) + len(known[i].hidden)
	}
	episodes := func(x *Pick) (n uint64) {
		for _, a := range x.Arms {
			n += uint64(a.Count)
		}
		return n
	}
	slices.SortStableFunc(by, func(a, b int) int { return int(episodes(&known[a])) - int(episodes(&known[b])) })
	for _, i := range by {
		if total <= maxArms {
			return
		}
		total -= len(known[i].Arms) + len(known[i].hidden)
		known[i].Arms, known[i].hidden = nil, nil
	}
}

// parse reads the form of String, as leniently as [Parse].
func (p *picker) parse(data []byte) Report {
	if len(data) == 0 {
		return Report{Status: StatusMissing}
	}
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if string(bytes.TrimSpace(first)) != pickHeader {
		return Report{Status: StatusForeign, Err: fmt.Errorf("%w: want %q in line 1, got %.40q", errFormat, pickHeader, first)}
	}
	return eachLine(rest, func(line string) (why string) {
		f := newFields(line)
		at := Place{Bucket: f.bucket(), Model: f.values["model"], Class: f.values["class"]}
		a := Arm{Option: f.values["option"], Count: uint32(f.number("count", math.MaxUint32)), Success: uint32(f.number("success", math.MaxUint32))}
		a.Seconds, a.Spent, a.Lost = f.seconds("seconds"), f.seconds("spent"), f.seconds("lost")
		a.Age = f.number("age", math.MaxUint64)
		if err := at.Knob.UnmarshalText([]byte(f.values["knob"])); err != nil {
			f.fault(err.Error())
		}
		switch {
		case a.Option == "" || at.Model == "" || at.Class == "":
			f.fault("no model, class or option")
		case a.Success > a.Count:
			f.fault(moreSuccesses(a.Success, a.Count))
		}
		if f.why != "" {
			return f.why
		}
		a.Fresh = a.Count
		x := p.cells[at]
		if x == nil {
			x = &Pick{Place: at, Config: p.cfg}
			p.cells[at] = x
		}
		if i := x.find(a.Option); i >= 0 {
			x.Arms[i] = a
		} else {
			x.Arms = append(x.Arms, a)
		}
		return ""
	})
}

// load replaces what is known by a file's.
func (p *picker) load() Report {
	data, err := read(durable.Default(p.fs), p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Report{Status: StatusMissing}
	case err != nil:
		return Report{Status: StatusUnreadable, Err: &fileError{ErrIO, p.path, err}}
	}
	clear(p.cells)
	r := p.parse(data)
	if r.Err != nil {
		r.Err = &fileError{errFormat, p.path, r.Err}
	}
	return r
}

// Save replaces the file, by the rules of [Loop]: one that cannot be read is
// left alone, a foreign or damaged one is renamed.
func (p *picker) Save() error {
	if p.path == "" {
		return nil
	}
	old := picker{path: p.path, fs: p.fs, cells: map[Place]*Pick{}}
	if err := keepAside(p.fs, p.path, old.load()); err != nil {
		return err
	}
	if err := durable.Default(p.fs).MkdirAll(filepath.Dir(p.path), 0o777); err != nil {
		return &fileError{ErrIO, p.path, err}
	}
	err := durable.ReplaceIn(p.fs, p.path, func(w io.Writer) error {
		_, err := io.WriteString(w, p.String())
		return err
	})
	if err != nil {
		return &fileError{ErrIO, p.path, err}
	}
	p.dirty = false
	return nil
}
