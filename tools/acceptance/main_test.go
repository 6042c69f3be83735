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
