package decide

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"atenia/internal/policy/record"
)

// A Difference is a record whose replay differs from the log.
type Difference struct {
	Line      int     `json:"line"` // from 1
	Seq       uint64  `json:"seq"`
	Component string  `json:"component"`
	Fields    []Field `json:"fields"`
}

// A Field is a field that differs. If a record cannot be replayed, there is a
// single field named "error".
type Field struct {
	Name     string `json:"field"`
	Recorded string `json:"recorded"`
	Replayed string `json:"replayed"`
}

// A ReplayReport is the result of replaying a log.
type ReplayReport struct {
	Records     int          `json:"records"`
	Differences []Difference `json:"differences"`
	// Cut is set if the log has no end mark, because its writer was killed or still
	// runs; the records that it has were replayed.
	Cut *record.LogError `json:"-"`
}

// CheckLog replays every record of a log and compares it byte for byte. The error
// is that of reading the log; a line that is not a record is one, too, a
// [*record.LogError].
func CheckLog(log io.Reader) (*ReplayReport, error) {
	c := checker{list: components(), history: history{results: map[uint64]any{}}}
	return run(log, c.check)
}

// run calls f with every line.
func run(log io.Reader, f func(*record.Line) *Difference) (*ReplayReport, error) {
	r := &ReplayReport{Differences: []Difference{}}
	for l, err := range record.Read(log) {
		if err != nil {
			if e, ok := errors.AsType[*record.LogError](err); ok && errors.Is(e, record.ErrCut) {
				r.Cut = e
				return r, nil
			}
			return r, err
		}
		r.Records++
		if d := f(&l); d != nil {
			r.Differences = append(r.Differences, *d)
		}
	}
	return r, nil
}

// A checker replays a log.
type checker struct {
	list    []component
	history history
	next    uint64 // expected number of the next record
	parent  string // expected parent of the next record
}

func (c *checker) check(l *record.Line) *Difference {
	made, err := c.again(l)
	c.next, c.parent = l.Seq+1, l.Hash // continue from the record as logged, so that one altered record causes one or two differences
	d := &Difference{Line: l.Number, Seq: l.Seq, Component: l.Component}
	if err != nil {
		d.Fields = []Field{{"error", "", err.Error()}}
		return d
	}
	line, err := made.AppendLine(nil)
	if err == nil && bytes.Equal(line, l.Raw) {
		return nil
	}
	d.Fields = fields(&l.Record, &made)
	if len(d.Fields) == 0 {
		d.Fields = []Field{{"text", string(l.Raw), string(line)}}
	}
	return d
}

// again replays a line from its inputs.
func (c *checker) again(l *record.Line) (record.Record, error) {
	k, ok := find(c.list, l.Component)
	if !ok {
		return record.Record{}, fmt.Errorf("there is no component %q", l.Component)
	}
	c.history.seq = c.next
	draft, err := k.redo(&c.history, l.Inputs)
	if err != nil {
		return record.Record{}, err
	}
	draft.Tick = l.Tick
	return record.Make(&draft, c.next, c.parent, l.TNS)
}

// fields lists the fields that differ between two records.
func fields(a, b *record.Record) (out []Field) {
	for _, f := range []struct{ name, a, b string }{
		{"seq", fmt.Sprint(a.Seq), fmt.Sprint(b.Seq)},
		{"rule", a.Rule, b.Rule},
		{"evaluated", fmt.Sprintf("%q", a.Evaluated), fmt.Sprintf("%q", b.Evaluated)},
		{"target", a.Target, b.Target},
		{"device", a.Device, b.Device},
		{"reason", a.Reason, b.Reason},
		{"inputs", string(a.Inputs), string(b.Inputs)},
		{"config_hash", a.ConfigHash, b.ConfigHash},
		{"parent", a.Parent, b.Parent},
		{"hash", a.Hash, b.Hash},
	} {
		if f.a != f.b {
			out = append(out, Field{f.name, f.a, f.b})
		}
	}
	return out
}
