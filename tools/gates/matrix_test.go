package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a program that answers like "atenia bench" with so many launches.
func program(t *testing.T, instructions, launches int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "atenia")
	script := fmt.Sprintf(`#!/bin/sh
case "$*" in
*quantize*) exit 1 ;;
*counters*) echo '{"counters":{"decode":{"instructions":%d,"launches":%d}}}' ;;
*) echo '{"decode_tokens_per_second":100}' ;;
esac
`, instructions, launches)
	if err := os.WriteFile(path, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMatrix: of each cell that is present a line is kept, and more instructions, or launches
// by more than a tenth, are a loss however busy the machine is.
func TestMatrix(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"perf/matrix.json": `{"models":{"dense":"m"},"works":{"decode_b1":"atenia bench MODEL"},"limits":{"launches":1.1},
			"cells":{"cpu/dense/f32":"decode_b1","cpu/dense/q8_0":"decode_b1","cuda/dense/f32":"not present: none"}}`,
		"testdata/golden/parity/m/config.json": `{}`,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	older := program(t, 20, 100)
	for _, x := range []struct {
		instructions, launches int
		want                   string
	}{{20, 100, passes}, {19, 110, passes}, {21, 100, loses}, {20, 111, loses}} {
		o := &options{rounds: 3, base: "base", results: t.TempDir()}
		lost, verdicts, err := judgeMatrix(new(bytes.Buffer), o, root, "0123456789abcdef", older, program(t, x.instructions, x.launches))
		if err != nil || lost != (x.want == loses) || verdicts[x.want] != 1 || len(verdicts) != 2 {
			t.Errorf("%+v: lost %v, %v, %v", x, lost, verdicts, err)
		}
		b, err := os.ReadFile(filepath.Join(o.results, "0123456789ab.jsonl"))
		if err != nil || bytes.Count(b, []byte("\n")) != 2 {
			t.Fatalf("%v: %s", err, b)
		}
		var c cell
		if err := json.Unmarshal(b[:bytes.IndexByte(b, '\n')], &c); err != nil || c.Verdict != x.want || c.Counts["decode"].Launches != uint64(x.launches) || c.Ratios["decode"] != 1 {
			t.Errorf("%+v: %+v, %v", x, c, err)
		}
		if !strings.Contains(string(b), `"verdict":"not present: `) { // what cannot be quantized
			t.Errorf("%s", b)
		}
	}
}
