package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"atenia/internal/bench"
	"atenia/internal/cli/command"
	"atenia/internal/spelling"
	"atenia/internal/store/durable"
)

// benchComparison is what bench adds with --compare.
type benchComparison struct {
	File    string          `json:"file"`
	Model   string          `json:"model"`
	Threads int             `json:"threads"`
	Variant string          `json:"variant"`
	Rows    []comparisonRow `json:"rows"`
}

// A comparisonRow is a test that both runs have.
type comparisonRow struct {
	Test    string  `json:"test"`
	Before  rate    `json:"before"`
	Now     rate    `json:"now"`
	Ratio   float64 `json:"ratio"` // of the medians; above 1 = faster now
	Verdict verdict `json:"verdict"`
}

// A verdict says whether a ratio is significant.
type verdict string

const (
	faster verdict = "faster"
	slower verdict = "slower"
	noise  verdict = "within noise" // each run has samples that the other could have had
)

// judge compares two runs of the same test. They differ only if the ranges of
// their samples do not overlap.
func judge(before, now rate) verdict {
	switch {
	case now.Min > before.Max:
		return faster
	case now.Max < before.Min:
		return slower
	}
	return noise
}

// maxResultBytes is far more than a result has.
const maxResultBytes = 16 << 20

// readFile reads a file of results.
func readFile(path string) ([]byte, error) {
	f, err := durable.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return command.ReadMost(f, maxResultBytes)
}

// readResult reads what bench --json printed.
func readResult(path string) (*benchResult, error) {
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	r, err := parseResult(b)
	if err != nil {
		return nil, fmt.Errorf("%s is not a result of atenia bench --json: %w", path, err)
	}
	return r, nil
}

func parseResult(b []byte) (*benchResult, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	var r benchResult
	if err := d.Decode(&r); err != nil {
		return nil, bench.JSONError(err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the result at offset %d", d.InputOffset())
	}
	rows := r.rows()
	if r.Model == "" || len(rows) == 0 {
		return nil, errors.New("it has no model, or no test")
	}
	for _, row := range rows {
		if !bench.Plausible(row.Median) {
			return nil, fmt.Errorf("the median of %q is %v", row.name, row.Median)
		}
	}
	return &r, nil
}

func compare(file string, before, now *benchResult) *benchComparison {
	c := &benchComparison{File: file, Model: before.Model, Threads: before.Threads, Variant: before.Variant, Rows: []comparisonRow{}}
	old := map[string]rate{}
	for _, r := range before.rows() {
		old[r.name] = r.rate
	}
	for _, r := range now.rows() {
		if was, ok := old[r.name]; ok {
			was.Samples, r.Samples = nil, nil
			c.Rows = append(c.Rows, comparisonRow{r.name, was, r.rate, r.Median / was.Median, judge(was, r.rate)})
		}
	}
	return c
}

func (a *app) printComparison(c *benchComparison) error {
	fmt.Fprintf(a.out, "\ncompared with %s: %s, %s, %s kernels\n", c.File, c.Model, spelling.Count(c.Threads, "thread"), c.Variant)
	if len(c.Rows) == 0 {
		fmt.Fprintln(a.out, "no test is in both; give both the same -p, -n, -d and -b")
		return nil
	}
	w := table(a.out)
	fmt.Fprintln(w, "test\tbefore\tmin\tmax\tnow\tmin\tmax\tratio\tverdict")
	for _, r := range c.Rows {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.3f\t%s\n", r.Test,
			r.Before.Median, r.Before.Min, r.Before.Max, r.Now.Median, r.Now.Min, r.Now.Max, r.Ratio, r.Verdict)
	}
	return w.Flush()
}

// checkOut finds out before minutes of measuring whether there is a place for
// the result.
func checkOut(path string) error {
	if path == "" {
		return nil
	}
	fi, err := os.Stat(filepath.Dir(path))
	switch {
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	case !fi.IsDir():
		return fmt.Errorf("--out: %s is not a folder", filepath.Dir(path))
	}
	if fi, err = os.Stat(path); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("--out: %s is not a file", path)
	}
	return nil
}

// saveJSON writes a result to a file atomically.
func saveJSON(path string, v any) error {
	if path == "" {
		return nil
	}
	return durable.WriteFile(path, func(w io.Writer) error { return (&app{out: w}).printJSON(v) })
}
