package offload

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"atenia/internal/golden/await"
)

// childVar names the folder that the child process of TestKill steps.
const childVar = "ATENIA_TRAIN_CHILD"

var (
	killLayers = []Layer{{Name: "a", Elements: 20_000}, {Name: "b", Elements: 7}, {Name: "c", Elements: 30_001}}
	killConfig = Config{ChunkBytes: 1 << 16, Workers: 2}
)

func killStep(t *testing.T, s *State) {
	t.Helper()
	n := s.Steps()
	if _, err := s.Accumulate(t.Context(), gradients(killLayers, 1000+n)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(t.Context(), gradients(killLayers, n), Update{LR: 0.01, Note: fmt.Sprint(n)}); err != nil {
		t.Fatal(err)
	}
}

// A process that is killed again and again while it trains is, after every
// kill, exactly where a process that was never killed was after as many steps.
func TestKill(t *testing.T) {
	if dir := os.Getenv(childVar); dir != "" {
		s := must(Open(dir, killConfig))(t)
		for {
			fmt.Println("begin")
			killStep(t, s)
			fmt.Println("end")
		}
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	must(Create(t.Context(), dir, killLayers, killConfig, testInit))(t)
	want := must(New(killLayers, killConfig, testInit))(t)
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	rng := rand.New(rand.NewPCG(5, 6))
	inside := 0
	for range rounds {
		cmd := exec.Command(self, "-test.run=^TestKill$")
		cmd.Env = append(os.Environ(), childVar+"="+dir)
		lines := await.Kill(t, cmd, await.Nth(1+rng.IntN(4), "begin"))
		if lines[len(lines)-1] == "begin" {
			inside++
		}
		got := must(Open(dir, killConfig))(t)
		for want.Steps() < got.Steps() {
			killStep(t, want)
		}
		same(t, fmt.Sprintf("killed after %d steps", got.Steps()), got, want)
	}
	if inside == 0 || want.Steps() == 0 {
		t.Errorf("%d kills met a step, and %d steps were taken", inside, want.Steps())
	}
	t.Logf("%d steps in %d lives", want.Steps(), rounds)
	resumed := must(Open(dir, killConfig))(t)
	killStep(t, resumed)
	killStep(t, want)
	same(t, "after the last life", resumed, want)
}
