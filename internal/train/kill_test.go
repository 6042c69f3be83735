package train

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
	"time"
)

// childVar names the folder in which the child process of TestKill trains.
const childVar = "ATENIA_TRAIN_RUN"

func killConfig(dir string) Config {
	cfg := testConfig(dir)
	cfg.FS = nil
	cfg.Steps, cfg.SnapshotEvery, cfg.Resume = 120, 3, true
	return cfg
}

// A process that is killed again and again while it trains ends with the same
// parameters and the same log as one that is not, byte for byte.
func TestKill(t *testing.T) {
	if dir := os.Getenv(childVar); dir != "" {
		cfg := killConfig(dir)
		cfg.Watch = func(Event) { time.Sleep(time.Millisecond) } // so that kills hit all parts of a run
		finish(t, cfg, keeper{newBigram()})
		return
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	kills := 8
	if testing.Short() {
		kills = 2
	}
	for range kills {
		cmd := exec.Command(self, "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), childVar+"="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20*time.Millisecond + rand.N(60*time.Millisecond))
		cmd.Process.Kill()
		cmd.Wait()
	}
	got, want := keeper{newBigram()}, keeper{newBigram()}
	finish(t, killConfig(dir), got)
	whole := killConfig(t.TempDir())
	whole.Resume = false
	finish(t, whole, want)
	if !bytes.Equal(bits(got), bits(want)) {
		t.Error("parameters differ")
	}
	sameMetrics(t, metrics(t, dir), metrics(t, whole.Dir))
}
