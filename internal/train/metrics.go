package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"atenia/internal/store/durable"
)

// MetricsFile is the name of a run's log: a line of JSON for each step, and one
// with the step's number and "eval" for each evaluation.
const MetricsFile = "metrics.jsonl"

// A Metric is one line of the log.
type Metric struct {
	Step    int      `json:"step"` // counted from 1
	Loss    float64  `json:"loss,omitzero"`
	Rate    float64  `json:"lr,omitzero"`
	Norm    float64  `json:"norm,omitzero"`
	Tokens  int64    `json:"tokens,omitzero"` // of the run so far
	Seconds float64  `json:"seconds,omitzero"`
	Skipped bool     `json:"skipped,omitempty"` // loss and norm were NaN or infinite, and are 0 here
	Eval    *float64 `json:"eval,omitempty"`
	// Accuracy is the share of held-out goals that were met, of encoders: queries whose
	// answer is the nearest document of their batch, or scores and labels that are right.
	Accuracy *float64 `json:"accuracy,omitempty"`
}

// ReadMetrics reads the log in a directory up to a step, or all of it if step is
// 0. It stops at a malformed line, which a killed writer may have left.
func ReadMetrics(fsys durable.FS, path string, step int) (ms []Metric, err error) {
	b, err := durable.Default(fsys).ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		b = rest
		var m Metric
		if !whole || json.Unmarshal(line, &m) != nil || step > 0 && m.Step > step {
			break
		}
		if n := len(ms); n == 0 || m.Step > ms[n-1].Step {
			ms = append(ms, m)
		} else if m.Step == ms[n-1].Step && m.Eval != nil {
			ms[n-1].Eval, ms[n-1].Accuracy = m.Eval, m.Accuracy
		}
	}
	return ms, nil
}

// A logFile appends to the log of a run. Lines reach the disk no later than the
// snapshot of their step.
type logFile struct {
	f     durable.File
	lines []byte // buffered
}

// openLog opens the log and removes the lines after step, which a killed
// process wrote after its last snapshot. Those steps will be repeated.
func openLog(fsys durable.FS, path string, step int) (*logFile, error) {
	ms, err := []Metric(nil), error(nil)
	if step > 0 {
		if ms, err = ReadMetrics(fsys, path, step); err != nil {
			return nil, err
		}
	}
	err = durable.ReplaceIn(fsys, path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		for _, m := range ms {
			eval, accuracy := m.Eval, m.Accuracy
			m.Eval, m.Accuracy = nil, nil
			if err := e.Encode(&m); err != nil {
				return err
			}
			if eval == nil {
				continue
			}
			if err := e.Encode(&Metric{Step: m.Step, Eval: eval, Accuracy: accuracy}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f, err := fsys.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	return &logFile{f: f}, nil
}

// add writes a line as far as the disk has room: the rest waits for the next line or sync.
func (l *logFile) add(m *Metric) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.lines = append(append(l.lines, b...), '\n')
	_ = l.write()
	return nil
}

func (l *logFile) write() error {
	n, err := l.f.Write(l.lines)
	l.lines = l.lines[n:]
	return err
}

func (l *logFile) sync() error {
	if len(l.lines) > 0 {
		if err := l.write(); err != nil {
			return err
		}
	}
	return l.f.Sync()
}

func (l *logFile) close() error { return l.f.Close() }
