package file

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFingerprint: a model elsewhere has the same, one with another value, configuration
// or name of a tensor has not.
func TestFingerprint(t *testing.T) {
	print := func(config, name string, value byte) string {
		t.Helper()
		dir := t.TempDir()
		header := `{"` + name + `":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
		header += "        "[:-len(header)&7]
		b := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...)
		for path, b := range map[string][]byte{"config.json": []byte(config), "model.safetensors": append(b, 0, 0, 0, 0, 0, 0, 0, value)} {
			if err := os.WriteFile(filepath.Join(dir, path), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Fingerprint(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one := print("{}", "a", 1)
	if again := print("{}", "a", 1); again != one {
		t.Errorf("%s and %s of one model", one, again)
	}
	for what, other := range map[string]string{"a value": print("{}", "a", 2), "a name": print("{}", "b", 1), "the configuration": print("{ }", "a", 1)} {
		if other == one {
			t.Errorf("another %s, and the same fingerprint", what)
		}
	}
}
