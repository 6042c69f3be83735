package train

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/store/faultfs"
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
		cfg.FS = faultfs.New(0, faultfs.Fail).Tell(await.Step)
		cfg.Watch = func(e Event) { fmt.Fprintln(await.Step, "step", e.Step) }
		finish(t, cfg, keeper{newBigram()})
		return
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// Kills fall between two steps, and between two calls of the file system while
	// a snapshot or the log is written.
	rng := rand.New(rand.NewPCG(3, 4))
	snapshots, from := 0, 0
	for kill := range 8 {
		sign, n := "call", 12+rng.IntN(30)
		if kill%2 == 0 {
			sign, n = "step", 1+rng.IntN(9)
		}
		cmd := exec.Command(self, "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), childVar+"="+dir)
		lines := await.Kill(t, cmd, await.Nth(n, sign))
		if strings.HasPrefix(lines[len(lines)-1], "call") {
			snapshots++
		}
		from = max(from, await.Number(lines, "step")-1) // the first of this life
	}
	if snapshots == 0 || from == 0 {
		t.Errorf("%d kills met a write, and a life went on after step %d", snapshots, from)
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
