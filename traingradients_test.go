package atenia_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/train"
)

// TestTrainGradients: where the gradients of a training go that does not fit
// into its memory, on a machine without a device.
func TestTrainGradients(t *testing.T) {
	options := func(dir string) train.Options {
		return train.Options{Decisions: filepath.Join(dir, "decisions"), Timeline: filepath.Join(dir, "timeline")}
	}
	// It trains in a process of its own: a budget bounds the whole process, and what
	// other tests leave in memory is not the training's.
	const alone = "ATENIA_TEST_TRAIN_GRADIENTS"
	if dir := os.Getenv(alone); dir != "" {
		trained(t, "1MiB", options(dir))
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := options(dir)
	c := exec.CommandContext(t.Context(), self, "-test.run=^TestTrainGradients$")
	c.Env = append(os.Environ(), alone+"="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := linesOf(t, o.Timeline)
	nodes := decisionsOf(t, o.Decisions, "backward")
	in := func(d decided, tier string) (n int) {
		for _, g := range d.Inputs.Grads {
			if g.Tier == tier {
				n++
			}
		}
		return n
	}
	// wantNode: a node runs on the processor, after so many records of moves.
	wantNode := func(t *testing.T, i, moves int) {
		t.Helper()
		d := nodes[i]
		want := []string{
			fmt.Sprintf("ENQUEUE stream=Cpu id=%d kind=Compute name=backward:node%d cost=1", i+1, d.Inputs.Node),
			fmt.Sprintf("AUTOGRAD node=%d target=Cpu moves=%d fallback=0", d.Inputs.Node, moves),
		}
		if k := slices.Index(lines, want[0]); k < 0 || k+2 > len(lines) || !slices.Equal(lines[k:k+2], want) || d.Target != "Cpu" {
			t.Errorf("the timeline does not have %q for %+v", want, d)
		}
	}
	traces := decisionsOf(t, o.Decisions, "autograd")
	if len(traces) != len(nodes) {
		t.Errorf("%d traces of %d nodes", len(traces), len(nodes))
	}
	t.Run("AG-4", func(t *testing.T) { // the trace has each gradient's way
		applied := 0
		for i, d := range traces {
			if d.Target != "Cpu" || d.Rule != "AsRequested" || d.Reason != "as the forward pass" || d.Evaluated[0] != "requested Cpu" || len(d.Evaluated) <= len(nodes[i].Inputs.Grads) {
				t.Fatalf("trace %d: %+v", i, d)
			}
			for _, g := range nodes[i].Inputs.Grads {
				if g.Tier == "Ssd" {
					applied++
					if want := "Applied " + g.ID + ": Ssd to Ram"; !slices.Contains(d.Evaluated, want) {
						t.Errorf("trace %d does not have %q: %q", i, want, d.Evaluated)
					}
				}
			}
		}
		if applied == 0 {
			t.Error("no gradient was moved")
		}
		log, err := os.Open(o.Decisions)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		if r, err := atenia.Replay(log, ""); err != nil || len(r.Differences) > 0 || r.Records != len(nodes)+len(traces) {
			t.Errorf("%v: %+v", err, r)
		}
	})
	t.Run("AG-3", func(t *testing.T) {
		n := 0
		for i, d := range nodes {
			if ssd := in(d, "Ssd"); ssd > 0 {
				n++
				wantNode(t, i, len(d.Inputs.Grads)+ssd) // planned and applied, others skipped
			}
		}
		if n == 0 {
			t.Error("no node has gradients on the disk", nodes)
		}
	})
	t.Run("AG-6", func(t *testing.T) {
		n := 0
		for i, d := range nodes {
			if len(d.Inputs.Grads) > 0 && in(d, "Ram") == len(d.Inputs.Grads) {
				n++
				wantNode(t, i, len(d.Inputs.Grads))
			}
		}
		if n == 0 {
			t.Error("no node has all gradients in memory")
		}
	})
	for i, l := range lines {
		if strings.Contains(l, "stream=Gpu") || strings.HasPrefix(l, "BACKWARD_FALLBACK") {
			t.Errorf("line %d: %s", i, l)
		}
	}
}
