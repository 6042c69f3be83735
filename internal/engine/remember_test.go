package engine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"atenia/internal/engine"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
)

// TestRememberedAlone: how long passes took is kept for predictions of later runs, but not
// where other programs slowed them.
func TestRememberedAlone(t *testing.T) {
	for _, each := range []time.Duration{0, time.Hour} {
		c, delay := config(), time.Duration(0)
		c.Context = 128
		c.Rules = place.Rules{ProfileDir: t.TempDir(), NoProbe: true}
		c.Delay = func() (time.Duration, bool) { delay += each; return delay, true }
		decode(t, "parity/llama3", c, nil)
		_, err := os.Stat(filepath.Join(c.Rules.ProfileDir, "runs.json"))
		if kept := err == nil; kept != (each == 0) {
			t.Errorf("with a delay of %v, kept is %v (%v)", each, kept, err)
		}
	}
}

// TestRememberedInPlace: how long passes took after weights moved is not kept: where they are
// then was placed by rates that nobody measured.
func TestRememberedInPlace(t *testing.T) {
	for _, moves := range []bool{false, true} {
		c := config()
		c.Pack, c.Budget.Reserve.Runtime, c.Context = pack.InMemory, 1<<16, 128
		c.Rules = place.Rules{ProfileDir: t.TempDir(), NoProbe: true}
		c.Delay = func() (time.Duration, bool) { return 0, true }
		small := placeConfig(1)
		small.Exec.Context = c.Context
		_, err := describe(t, "parity/llama3").Place(small)
		low, ok := errors.AsType[*place.FloorError](err)
		if !ok {
			t.Fatal(err)
		}
		steps := 0
		got := decode(t, "parity/llama3", c, func(*engine.Engine) int64 {
			if steps++; moves && steps > 4 {
				return low.Floor
			}
			return 1 << 40
		})
		if moved := got.kinds["mostly kept"] || got.kinds["mostly streamed"]; moved != moves {
			t.Fatalf("weights were %v", got.kinds)
		}
		if _, err := os.Stat(filepath.Join(c.Rules.ProfileDir, "runs.json")); (err == nil) == moves {
			t.Errorf("weights that moved: %v, %v", moves, err)
		}
	}
}
