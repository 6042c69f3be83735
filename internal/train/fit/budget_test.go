package fit

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/machine/cpu"
)

// deep returns a recipe of which little more than half fits into its floor and a
// third: a narrow model is enough, since the values of its blocks are most of it.
func deep() string {
	hidden, layers := 64, 8
	if await.Long() {
		hidden, layers = 128, 10
	}
	return fmt.Sprintf("[model]\nhidden = %d\nlayers = %d\nuntied = true\n[data]\nfiles = ['long.txt']\nrow = 128\nrows = 6\n[train]\nsteps = 2\nthreads = 2\n", hidden, layers)
}

// budgeted runs a recipe with a budget; 0 is none.
func budgeted(t *testing.T, dir, config string, budget int64, o Options) (*Report, error) {
	t.Helper()
	long := strings.Repeat("the quick brown fox jumps over the lazy dog, and again: ", 100)
	if err := os.WriteFile(filepath.Join(dir, "long.txt"), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	if budget > 0 {
		config += fmt.Sprintf("budget = '%d'\n", budget)
	}
	return do(t, dir, config, o)
}

// floor returns the floor of a recipe and the memory that all of it takes.
func floor(t *testing.T, config string) int64 {
	t.Helper()
	_, err := budgeted(t, t.TempDir(), config, 1<<20, Options{})
	e, ok := errors.AsType[*FloorError](err)
	if !ok || e.Budget != 1<<20 {
		t.Fatalf("a budget of 1 MiB: %v", err)
	}
	return e.Floor
}

// TestBudget trains by recipes with little memory: the models are byte for byte
// those of runs in memory, the folder says what was where, and decisions replay.
func TestBudget(t *testing.T) {
	for name, config := range map[string]string{
		"float32": deep(), "bf16": deep() + "precision = 'bf16'\naccumulate = 2\n", "offload": "[optimizer]\noffload = true\n" + deep(),
	} {
		t.Run(name, func(t *testing.T) {
			whole := t.TempDir()
			if _, err := budgeted(t, whole, config, 0, Options{}); err != nil {
				t.Fatal(err)
			}
			want := weights(t, whole)
			least := floor(t, config)
			parts := []int64{20, 3} // of the floor, above it
			if name != "float32" && !await.Long() {
				parts = parts[:1]
			}
			for _, more := range parts {
				n := least + least/more
				dir := t.TempDir()
				said := ""
				o := Options{Started: func(s Subject) { said = s.Memory }, Decisions: filepath.Join(dir, "decisions"), Timeline: filepath.Join(dir, "timeline")}
				if _, err := budgeted(t, dir, config, n, o); err != nil {
					t.Fatal(err)
				}
				if weights(t, dir) != want {
					t.Errorf("%d bytes: another model", n)
				}
				b, err := os.ReadFile(filepath.Join(dir, "out", memoryFile))
				if err != nil || !strings.Contains(said, "are in files") || string(b) != said+"\n" {
					t.Errorf("%q is said and %q in the folder: %v", said, b, err)
				}
				lines, err := os.ReadFile(o.Timeline)
				if err != nil || !strings.Contains(string(lines), "AUTOGRAD node=0 target=Cpu") {
					t.Errorf("the timeline does not have the first block: %v", err)
				}
			}
		})
	}
}

const budgetVar = "ATENIA_BUDGET_RUN"

// TestBudgetPeak checks that a process stays within its budget.
func TestBudgetPeak(t *testing.T) {
	if cpu.PeakResident() == 0 {
		t.Skip("the peak of resident memory is not known on this system")
	}
	if testing.Short() {
		t.Skip("the race detector takes memory of its own")
	}
	if dir := os.Getenv(budgetVar); dir != "" {
		n := int64(0)
		fmt.Sscan(filepath.Base(dir), &n)
		if _, err := budgeted(t, dir, deep(), n, Options{}); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("peak=%d\n", cpu.PeakResident())
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	budgets := []int64{68 << 20, 96 << 20}
	if await.Long() {
		budgets = []int64{110 << 20, 180 << 20}
	}
	for _, n := range budgets {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(n))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^TestBudgetPeak$")
		cmd.Env = append(os.Environ(), budgetVar+"="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		m := regexp.MustCompile(`peak=(\d+)`).FindSubmatch(out)
		if m == nil {
			t.Fatalf("no peak in %s", out)
		}
		if peak, _ := strconv.ParseInt(string(m[1]), 10, 64); peak > n {
			t.Errorf("the process had %d bytes of a budget of %d", peak, n)
		}
	}
}

// TestBudgetAdapter trains an adapter of a model that does not fit: the adapter is
// the same.
func TestBudgetAdapter(t *testing.T) {
	base := t.TempDir()
	if _, err := budgeted(t, base, strings.Replace(deep(), "steps = 2", "steps = 1", 1), 0, Options{}); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("[model]\nfrom = '%s'\n[lora]\nrank = 4\ndropout = 0.1\n[data]\nfiles = ['long.txt']\nrow = 128\nrows = 6\n[train]\nsteps = 2\naccumulate = 2\n", filepath.Join(base, "out"))
	read := func(budget int64) string {
		dir := t.TempDir()
		if _, err := budgeted(t, dir, config, budget, Options{}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "out", "adapter_model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	want := read(0)
	least := floor(t, config)
	if read(least+least/20) != want {
		t.Error("another adapter")
	}
}
