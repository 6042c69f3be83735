package quila_test

import (
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// topics are the tests of the reference cases by file name. Each file of tests
// adds its own.
var topics = map[string]func(t *testing.T, path string){}

// TestGoldenQuila compares every topic of the reference with the network that
// runs: intermediates of the twelve steps, ports, stores, losses, gradients and
// files.
func TestGoldenQuila(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(golden.Family(t, "quila"), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		t.Run(name, func(t *testing.T) {
			check := topics[name]
			if check == nil {
				t.Fatalf("no test reads the topic %s", name)
			}
			check(t, path)
		})
	}
}
