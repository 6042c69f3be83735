package engine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"atenia/internal/engine"
)

// TestRememberedAlone: how long passes took is kept for predictions of later runs, but not
// where other programs slowed them.
func TestRememberedAlone(t *testing.T) {
	for _, each := range []time.Duration{0, time.Hour} {
		c, delay := config(), time.Duration(0)
		c.Context = 128
		c.Rules = engine.Rules{ProfileDir: t.TempDir(), NoProbe: true}
		c.Delay = func() (time.Duration, bool) { delay += each; return delay, true }
		decode(t, "parity/llama3", c, nil)
		_, err := os.Stat(filepath.Join(c.Rules.ProfileDir, "runs.json"))
		if kept := err == nil; kept != (each == 0) {
			t.Errorf("with a delay of %v, kept is %v (%v)", each, kept, err)
		}
	}
}
