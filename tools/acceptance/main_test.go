package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	table := `{"A1": {"test": "TestA/one"}, "A2": {"later": "not built"}}`
	for name, c := range map[string]struct {
		events string
		ok     bool
	}{
		"passed":         {`{"Action":"pass","Test":"TestA/one"}`, true},
		"skipped":        {`{"Action":"skip","Test":"TestA/one"}`, false},
		"missing":        {`{"Action":"pass","Test":"TestA"}`, false},
		"failed package": {`{"Action":"pass","Test":"TestA/one"}` + "\n" + `{"Action":"fail","Package":"p"}`, false},
		"twice":          {`{"Action":"fail","Test":"TestA/one"}` + "\n" + `{"Action":"pass","Test":"TestA/one"}`, false},
	} {
		var out strings.Builder
		if err := run(strings.NewReader(c.events), &out, []byte(table)); (err == nil) != c.ok {
			t.Errorf("%s: %v\n%s", name, err, out.String())
		}
	}
}

// TestOutput: what a test wrote is shown if it failed, or never ended, and only then.
func TestOutput(t *testing.T) {
	var out strings.Builder
	err := run(strings.NewReader(`{"Action":"output","Package":"p","Test":"TestA","Output":"of A\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"of B\n"}
{"Action":"output","Package":"q","Test":"TestA","Output":"of another A\n"}
{"Action":"output","Package":"p","Test":"TestC","Output":"panic in C\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"q","Test":"TestA"}
{"Action":"output","Package":"q","Output":"PASS\n"}
{"Action":"output","Package":"q","Output":"ok\tq\t0.1s\n"}
`), &out, []byte(`{}`))
	if want := "of A\nFAIL\tp\t0.1s\npanic in C\nok\tq\t0.1s\n"; err == nil || out.String() != want {
		t.Errorf("%v, %q, want %q", err, out.String(), want)
	}
}
