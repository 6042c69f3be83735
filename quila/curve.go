package quila

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"

	"atenia/internal/store/durable"
	"atenia/quila/internal/school"
)

// CurveFile and PlotFile are written to the folder of a training: a line of JSON
// for every [Point], and a drawing of them.
const (
	CurveFile = "curve.jsonl"
	PlotFile  = "curve.svg"
)

// keep writes the points so far.
func (t *Trained) keep(dir string) error {
	err := durable.Replace(filepath.Join(dir, CurveFile), func(w io.Writer) error {
		e := json.NewEncoder(w)
		for _, p := range t.Points {
			if err := e.Encode(p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, PlotFile), func(w io.Writer) error { return school.Plot(w, t.lines(), t.Floor) })
}

// lines are the curves by model, in the order in which models came.
func (t *Trained) lines() []school.Line {
	var out []school.Line
	for _, p := range t.Points {
		i := slices.IndexFunc(out, func(l school.Line) bool { return l.Name == p.Model })
		if i < 0 {
			i = len(out)
			out = append(out, school.Line{Name: p.Model})
		}
		out[i].Tokens, out[i].Bits = append(out[i].Tokens, p.Tokens), append(out[i].Bits, p.Bits)
	}
	return out
}
