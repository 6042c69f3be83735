package flow

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"atenia/internal/cli/command"
)

// TestMain is the program itself where the commands under test start it.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "flow" && (os.Args[2] == hostCommand || os.Args[2] == scanCommand || os.Args[2] == clapCommand) {
		c := Command(&command.Env{Out: os.Stdout, Err: os.Stderr, JSON: new(bool)})
		c.SetArgs(os.Args[2:])
		if err := c.Execute(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(command.Failure)
		}
		os.Exit(command.OK)
	}
	os.Exit(m.Run())
}

// template builds the node that comes with the header, in a folder of its own.
func template(t *testing.T) string {
	t.Helper()
	return compiled(t, "smooth.amp.so", filepath.Join("include", "template.c"))
}

// compiled builds a library of a name from a file of the repository, in a folder of its own.
func compiled(t *testing.T, name, source string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if runtime.GOOS != "linux" || err != nil {
		if os.Getenv("ATENIA_CI") != "" {
			t.Fatal("C nodes are tested with gcc, which is not here")
		}
		t.Skip("SKIPPED: nodes in C are not tested, there is no gcc")
	}
	path := filepath.Join(t.TempDir(), name)
	root := filepath.Join("..", "..", "..")
	b, err := exec.CommandContext(t.Context(), gcc, "-std=c99", "-O1", "-fPIC", "-shared", "-ffp-contract=off", "-I", filepath.Join(root, "include"), "-o", path, filepath.Join(root, source)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	return path
}

// TestLibrary finds a C library, runs its node in a process of its own and in
// this one, forward and backward: the same bytes, and right derivatives.
func TestLibrary(t *testing.T) {
	lib, dir := template(t), t.TempDir()
	var found []libraryRow
	if err := json.Unmarshal([]byte(must(t, "nodes", "scan", "--nodes", lib, "--json")), &found); err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 || found[0].Path != lib || found[0].Source != "scan" || len(found[0].Types) != 1 || found[0].Types[0] != "Smooth" {
		t.Fatalf("found %+v", found)
	}
	if out := must(t, "nodes", "Smooth", "--nodes", lib, "-v"); !strings.Contains(out, "Smooth ∇  in → out\n") || !strings.Contains(out, lib+"  (scan): Smooth\n") {
		t.Errorf("got %s", out)
	}
	p := plan(t, `{"nodes":[{"name":"osc","type":"Oscillator","supports_v2":true},{"name":"c","type":"Smooth","supports_v2":true,"params":{"a":0.1}},{"name":"out","type":"Probe"}],
		"edges":[{"source":"osc","target":"c"},{"source":"c","target":"out"}]}`)
	if _, err := call(t, "check", p); err == nil || !strings.Contains(err.Error(), "$.nodes[1].type") {
		t.Errorf("without the library: %v", err)
	}
	var sound [2][]byte
	for i, more := range [][]string{nil, {"--trust", lib}} {
		path := filepath.Join(dir, fmt.Sprint(i, ".wav"))
		must(t, append([]string{"run", p, "--seconds", "0.1", "--out", path, "--nodes", lib}, more...)...)
		var err error
		if sound[i], err = os.ReadFile(path); err != nil || len(sound[i]) < 4000 {
			t.Fatal(len(sound[i]), err)
		}
	}
	if !bytes.Equal(sound[0], sound[1]) {
		t.Error("a process of its own makes other sounds")
	}
	must(t, "grad", p, "--seconds", "0.01", "--nodes", lib, "--check", "--param", "c.a")
	must(t, "draw", p, "--nodes", lib)
}
