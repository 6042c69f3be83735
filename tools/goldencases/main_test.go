package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChoose checks that what is new comes first, that the order stays and
// that a budget is kept.
func TestChoose(t *testing.T) {
	cases := []json.RawMessage{
		json.RawMessage(`{"id":"a","fn":"x","error":null}`),
		json.RawMessage(`{"id":"b","fn":"x","error":null}`),
		json.RawMessage(`{"id":"c","fn":"y","error":{"kind":"IoError"}}`),
	}
	kept, err := choose(cases, len(cases[0])+len(cases[2]))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range kept {
		got = append(got, string(k))
	}
	if s := strings.Join(got, "\n"); s != string(cases[0])+"\n"+string(cases[2]) {
		t.Errorf("chosen:\n%s", s)
	}
	if _, err := choose(cases, 3); err == nil {
		t.Error("nothing fits 3 bytes, but no error")
	}
}

// TestRun checks the files and that a second run writes the same.
func TestRun(t *testing.T) {
	from, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	if err := run(from, out, 100, nil); err == nil {
		t.Error("no files of cases, but no error")
	}
	if err := os.WriteFile(filepath.Join(from, "a.json"), []byte("[\n{\"id\":\"a\"}\n]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := run(from, out, 100, nil); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(out, "a.json"))
		if err != nil || string(b) != "[\n{\"id\":\"a\"}\n]\n" {
			t.Fatalf("%q, %v", b, err)
		}
	}
}

// TestRunObject checks a file whose cases are a field, and a budget of its own.
func TestRunObject(t *testing.T) {
	from, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	in := `{"topic":"a","format":"v1","cases":[{"name":"x","k":1},{"name":"y","l":2}]}`
	if err := os.WriteFile(filepath.Join(from, "a.json"), []byte(in), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(from, out, 1, map[string]int{"a": 100}); err != nil {
		t.Fatal(err)
	}
	want := `{"format":"v1","topic":"a","cases":[` + "\n" + `{"name":"x","k":1},` + "\n" + `{"name":"y","l":2}` + "\n]}\n"
	b, err := os.ReadFile(filepath.Join(out, "a.json"))
	if err != nil || string(b) != want {
		t.Fatalf("%q, %v", b, err)
	}
}
