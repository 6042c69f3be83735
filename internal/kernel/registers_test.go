package kernel_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAVX2Registers: functions for AVX2 use the 16 registers that there are.
// The generator takes others when it runs out, and an assembler on a machine
// with AVX-512 does not mind.
func TestAVX2Registers(t *testing.T) {
	files, err := filepath.Glob("z*_amd64.s")
	if rooms, e := filepath.Glob("*/z*_amd64.s"); e == nil {
		files = append(files, rooms...)
	}
	if err != nil || len(files) < 7 {
		t.Fatalf("%q, %v", files, err)
	}
	higher := regexp.MustCompile(`\b([XY](1[6-9]|2[0-9]|3[01])|[ZK][0-9]+)\b`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, found := "", map[string]bool{}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "TEXT") {
				name = strings.Fields(line)[1]
			}
			if strings.Contains(name, "AVX2(") && higher.MatchString(line) && !found[name] {
				found[name] = true
				t.Errorf("%s: %s: %s", file, name, strings.TrimSpace(line))
			}
		}
	}
}
