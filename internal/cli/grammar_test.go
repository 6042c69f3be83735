package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/grammar"
)

// check runs grammar check on a schema and texts.
func check(t *testing.T, schema string, texts ...string) (code int, r grammarCheck) {
	t.Helper()
	var out, errs strings.Builder
	code = Main(append([]string{"grammar", "check", "--json", "-", "--"}, texts...), strings.NewReader(schema), &out, &errs)
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil {
		t.Fatalf("%s: %v, %s", schema, err, errs.String())
	}
	return code, r
}

// TestGrammarCheck: of a schema's texts those that satisfy it are admitted, no other one.
func TestGrammarCheck(t *testing.T) {
	files, err := filepath.Glob("testdata/schemas/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no schemas", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows []struct {
			About     string
			Schema    json.RawMessage
			Good, Bad []string
			Pointer   string // of what cannot be enforced
		}
		if err := json.Unmarshal(b, &rows); err != nil {
			t.Fatal(file, err)
		}
		for _, row := range rows {
			texts := append(row.Good, row.Bad...)
			code, r := check(t, string(row.Schema), texts...)
			if row.Pointer != "" {
				if r.Enforced || len(r.Unenforced) == 0 || r.Unenforced[0].Pointer != row.Pointer || code != command.BadResult {
					t.Errorf("%s: code %d, %+v, want %s unenforced", row.About, code, r, row.Pointer)
				}
				continue
			}
			if !r.Enforced || len(r.Texts) != len(texts) || (code == 0) != (len(row.Bad) == 0) {
				t.Errorf("%s: code %d, %+v", row.About, code, r)
				continue
			}
			for i, x := range r.Texts {
				if want := i < len(row.Good); x.Admitted != want {
					t.Errorf("%s: %s: admitted %v, want %v", row.About, x.Text, x.Admitted, want)
				}
			}
		}
	}
}

// FuzzParseCase: any file of --cases is a case or an error, and its tests are followed
// within bounds.
func FuzzParseCase(f *testing.F) {
	f.Add([]byte(`{"schema":{"type":"object","properties":{"a":{"type":"integer"}}},"tests":[{"valid":true,"data":{"a":1}},{"valid":false,"data":{"a":"\u0000"}}]}`))
	f.Add([]byte(`{"schema":{"const":"x"},"tests":[{"valid":true}]}`))
	f.Add([]byte(`{"schema":1,"tests":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<12 {
			return
		}
		one, err := parseCase(b)
		if err != nil {
			return
		}
		if check, err := grammar.NewCheck(t.Context(), one.Schema); err == nil {
			_, _ = one.run(check)
		}
	})
}
