package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBenchCodec(t *testing.T) {
	out, err := hardwareRun(t, benchCodecsCommand, true, "--memory", "1", "-r", "1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseHardwareResult([]byte(out))
	if err != nil || len(b.Tests) != 12 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, test := range b.Tests {
		if test.Name == "PlaneHuff of BF16, ratio" && test.Median < 1.45 {
			t.Errorf("PlaneHuff makes weights %.3f times smaller", test.Median)
		}
	}
	before := filepath.Join(t.TempDir(), "before.json")
	if err := os.WriteFile(before, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := hardwareRun(t, benchCodecsCommand, false, "--memory", "1", "-r", "1", "--compare", before); err != nil {
		t.Error(err)
	}
}
