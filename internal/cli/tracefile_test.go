package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/cli/command"
)

// TestLogitsCompare: what all instructions compute is written, is found to be the same in
// another run, with other threads and step by step, and where one number is another the first
// instruction and the place are named.
func TestLogitsCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "o.npz")
	text := []string{"logits", "--text", "Once upon a time"}
	call := func(args ...string) (code int, out, errs string) {
		t.Helper()
		var o, e bytes.Buffer
		code = Main(append(slices.Clone(text), args...), strings.NewReader(""), &o, &e)
		return code, o.String(), e.String()
	}
	_, plain, _ := call()
	if code, out, errs := call("--outputs", file); code != command.OK || out != plain {
		t.Fatalf("exit code %d, %s: logits of a traced run differ", code, errs)
	}
	if code, out, errs := call("--compare", file, "--threads", "1", "--pack", "off"); code != command.OK || !strings.HasPrefix(out, "all ") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	stepwise := filepath.Join(t.TempDir(), "s.npz")
	if code, _, errs := call("--outputs", stepwise, "--step", "2", "--all"); code != command.OK {
		t.Fatal(errs)
	}
	if code, out, errs := call("--compare", stepwise, "--step", "2", "--all"); code != command.OK || !strings.HasPrefix(out, "all ") {
		t.Errorf("step by step: exit code %d: %s%s", code, out, errs)
	}
	if code, out, _ := call("--compare", stepwise); code != command.BadResult || !strings.Contains(out, "arrays of the file were not computed") {
		t.Errorf("other steps: exit code %d: %s", code, out)
	}

	// One number of one array is another.
	const name, row, col = "s0/0004.L0.ffn.0", 2, 5
	changeArray(t, file, name+arrayEnd, func(head int, b []byte) { b[head+4*(row*128+col)+3] ^= 0x80 })
	code, out, _ := call("--compare", file)
	if code != command.BadResult || !strings.Contains(out, "first   "+name+": row 2, column 5 is ") || !strings.Contains(out, "; 1 numbers differ") || !strings.Contains(out, "\n1 of ") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out, errs := call("--compare", file, "--tolerance", "3"); code != command.OK {
		t.Errorf("within a tolerance: exit code %d: %s%s", code, out, errs)
	}
	var r traceResult
	if _, out, _ := call("--compare", file, "--json"); json.Unmarshal([]byte(out), &r) != nil || r.Differ != 1 || r.First == nil || r.First.Row != row || r.First.Col != col || r.First.Got != -r.First.Want {
		t.Errorf("%s", out)
	}
	changeArray(t, file, name+arrayEnd, func(head int, b []byte) { copy(b[head:], []byte{0, 0, 0xc0, 0x7f}) }) // not a number
	if code, out, errs := call("--compare", file, "--json", "--tolerance", "100"); code != command.BadResult || !strings.Contains(out, `"most":"NaN"`) {
		t.Errorf("not a number: exit code %d: %s%s", code, out, errs)
	}
	for _, args := range [][]string{{"--compare", file + "x"}, {"--compare", filepath.Dir(file)}, {"--compare", file, "--tolerance", "-1"}, {"--compare", file, "--outputs", file}, {"--outputs", filepath.Join(file, "x")}} {
		if code, _, errs := call(args...); code != command.Failure && code != command.BadUsage || errs == "" {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}

// changeArray changes an array in an archive, which is written anew.
func changeArray(t *testing.T, path, name string, change func(head int, b []byte)) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		if f.Name == name {
			change(128, b.Bytes())
		}
		to, err := w.Create(f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// FuzzOutputs: whatever a file has, comparing with it ends with an error or an answer.
func FuzzOutputs(f *testing.F) {
	o := atenia.TracedOutput{Opcode: "linear", Layer: 1, Values: []float32{1, 2, float32(math.NaN()), 4}, Cols: 2}
	var whole bytes.Buffer
	z := zip.NewWriter(&whole)
	if err := addArray(z, traceName(&o)+arrayEnd, o.Values, o.Cols); err != nil {
		f.Fatal(err)
	}
	if err := z.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes(), true)
	f.Add(whole.Bytes()[30+len(traceName(&o)+arrayEnd):], false)
	f.Fuzz(func(t *testing.T, b []byte, archive bool) {
		if !archive { // an array alone, which a fuzzer finds its way into
			if d, err := compareArray(bytes.NewReader(b), &o, 0); err != nil && d != nil {
				t.Error("an answer beside an error")
			}
			return
		}
		arrays, err := openArrays(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		n := len(arrays)
		if d, err := compareOutput(arrays, &o, 0); err == nil && (d == nil || d.Why == "") && len(arrays) != n-1 {
			t.Errorf("%v, and %d of %d arrays are left", d, len(arrays), n)
		}
	})
}

// TestPlanCheck: a plan that was printed is proved, and one that was edited into nonsense, or
// is folded, fails the check.
func TestPlanCheck(t *testing.T) {
	dir := t.TempDir()
	call := func(args ...string) (code int, out, errs string) {
		var o, e bytes.Buffer
		code = Main(append([]string{"plan"}, args...), strings.NewReader(""), &o, &e)
		return code, o.String(), e.String()
	}
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, text, _ := call("--unfold")
	_, document, _ := call("--json")
	_, folded, _ := call()
	good := write("a.txt", text)
	code, out, errs := call("--check", good)
	if code != command.OK || strings.Count(out, "sha256:") != 2 {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if code, same, errs := call("--check", write("a.json", document)); code != command.OK || same != out {
		t.Errorf("as JSON: exit code %d: %s%s", code, same, errs)
	}
	var all []atenia.CheckedProgram
	if _, out, _ := call("--check", good, "--chunk", "8", "--json"); json.Unmarshal([]byte(out), &all) != nil || len(all) != 2 || all[0].Mode != "prefill" || all[0].Bytes != 8*2048*4+2*4096 {
		t.Errorf("with steps of 8 tokens: %s", out)
	}
	for name, bad := range map[string]string{"folded": folded, "edited": strings.Replace(text, "r3@b1!", "r4@b1!", 1), "empty": "", "other": "{}"} {
		path := write(name, bad)
		if code, out, errs := call("--check", path); code != command.BadResult || out != "" || !strings.Contains(errs, path) {
			t.Errorf("%s: exit code %d: %s%s", name, code, out, errs)
		}
	}
	if code, _, _ := call("--check", good, "atenia-story"); code != command.BadUsage {
		t.Errorf("with a model: exit code %d", code)
	}
	if code, _, _ := call("--check", good+"x"); code != command.Failure {
		t.Errorf("no file: exit code %d", code)
	}
}
