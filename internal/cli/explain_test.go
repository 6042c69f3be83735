package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
	"atenia/place"
)

const learned = "ATENIA_SELFTRAINER_V1\n" +
	"gpu_avail=1;vram_band=0;ram_band=0;backend=gpu;count=1;success=1;score_sum=7;drift=1\n"

func runExplain(args ...string) (code int, out, errs string) {
	var o, e strings.Builder
	code = Main(append([]string{"explain"}, args...), strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func TestExplain(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	smoke := []string{"--gpu-available=true", "--vram-band=0", "--ram-band=0"}
	t.Run("CL-1", func(t *testing.T) {
		code, out, errs := runExplain(smoke...)
		if code != 0 || out != "No learned data available for the given context.\n" || errs != "" {
			t.Errorf("exit %d, %q, %q", code, out, errs)
		}
	})
	t.Run("CL-2", func(t *testing.T) {
		const want = "Usage: atenia explain --gpu-available=<true|false> --vram-band=<0..3> --ram-band=<0..3>\n"
		for _, args := range [][]string{
			nil, {"--vram-band=4", smoke[0], smoke[2]}, {"--gpu-available=yes", smoke[1], smoke[2]}, smoke[1:], smoke[:2],
			append([]string{"--all"}, smoke...), append([]string{"more"}, smoke...), append([]string{"--more"}, smoke...),
			{"--gpu-available", "--vram-band=0", "--ram-band=0"}, {"--vram-band", "00", smoke[0], smoke[2]},
		} {
			if code, out, errs := runExplain(args...); code != 1 || out != "" || errs != want {
				t.Errorf("%q: exit %d, %q, %q", args, code, out, errs)
			}
		}
	})
	file := filepath.Join(dir, "atenia", "learning.v1")
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(learned), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Run("CL-3", func(t *testing.T) {
		_, want, _ := runExplain(append(slices.Clone(smoke), "--learning="+file)...)
		for _, args := range [][]string{smoke, {"--ram-band", "0", "--gpu-available", "true", "--learning", file, "--vram-band", "0"}} {
			code, out, errs := runExplain(args...)
			if code != 0 || !strings.HasPrefix(out, "Atenia selected GPU execution with a confidence of 100%. ") || errs != "" || out != want {
				t.Errorf("%q: exit %d, %q, %q", args, code, out, errs)
			}
		}
	})
}

// TestExplainRuns: what runs have learned adds up and is explained.
func TestExplainRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "learning")
	for range 2 {
		cliCall(t, "run", "Once upon a time", "-n", "4", "--temp", "0", "--learning", file)
	}
	text := string(cliCall(t, "explain", "--all", "--learning", file))
	if !strings.Contains(text, "Atenia selected CPU execution") {
		t.Errorf("%s", text)
	}
}

// TestExplainLastRun: run keeps an account of each model's last run, which
// explain tells, and follows no more than is allowed.
func TestExplainLastRun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	cliCall(t, "run", "Once upon a time", "-n", "40", "--temp", "0")
	for _, args := range [][]string{nil, {"atenia-story"}} {
		code, out, errs := runExplain(args...)
		for _, want := range []string{"last run of atenia-story (llama)", "where its weights were, and why\n  packed", "why a token took ", "bound by ", "what changed while it ran\n", "what was learned\n", "what would help most\n  "} {
			if code != 0 || !strings.Contains(out, want) || errs != "" {
				t.Fatalf("%q: exit %d, no %q in\n%s%s", args, code, want, out, errs)
			}
		}
	}
	var r place.LastRun
	callJSON(t, &r, "explain", "atenia-story")
	if r.Version != 5 || r.Decode.Tokens != 39 || len(r.Groups) == 0 || r.Learned == nil || r.Learned.Ticks != 39 || r.Advice.What == "" {
		t.Errorf("%+v", r)
	}
	if inCache := r.WeightBytes <= float64(r.CacheBytes); r.WeightBytes <= 0 || inCache && r.Bound == "memory" || r.Bound != "memory" && strings.Contains(r.Advice.Command, "quantize") || r.ReadBytes == 0 && (r.Bound == "paging" || r.Bound == "cold cache") {
		t.Errorf("bound by %s: %s\n%+v\n%+v", r.Bound, r.BoundWhy, r.Advice, r.RunCost)
	}
	// What is told is judged anew from what was measured, whatever the file says.
	judged := r
	judged.Waiting, judged.Neighbours, judged.Told, judged.Bound = 0.5*judged.Decode.Seconds/39, 0.4*judged.Decode.Seconds/39, true, "paging"
	b, err := json.Marshal(judged)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "atenia", "runs", "newest.json"), b, 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runExplain(); code != 0 || !strings.Contains(out, "bound by neighbours: threads had no processor, or waited for one that had none, for 50 % of the time") || strings.Contains(out, "--budget ram=auto") {
		t.Errorf("exit %d, %s%s", code, out, errs)
	}
	r.Pressure, r.More = []place.RunEvent{{Step: 7, At: 1.5, What: "left memory", Limit: 1 << 20, Need: 3 << 20, Moves: 2, Bytes: 2 << 20, Took: 0.25, Form: "streamed", Text: "2 parts"}}, 4
	var told bytes.Buffer
	want := "token 7, after 1.50 s: the limit was 1 MiB, 3 MiB were needed; left memory: 2 parts; it went on after 250.00 ms\n  … and memory moved 4 more times\n"
	if err := r.WriteText(&told); err != nil || !strings.Contains(told.String(), want) {
		t.Errorf("no %q in\n%s", want, &told)
	}
	code, out, errs := runExplain("none.gguf")
	if code != 1 || out != "" || !strings.Contains(errs, "none.gguf") || strings.Contains(errs, "atenia run") {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
	model := filepath.Join(golden.Family(t, "parity"), "llama3")
	cliCall(t, "logits", model, "--tokens", "1,2,3") // measures nothing
	if code, _, errs := runExplain(model); code != 1 || !strings.Contains(errs, "no run is on record; run it once: atenia run "+model) {
		t.Errorf("logits keep an account: exit %d, %s", code, errs)
	}
	if err := os.WriteFile(filepath.Join(dir, "atenia", "runs", "newest.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runExplain(); code != 1 || out != "" || !strings.Contains(errs, "run the model again") {
		t.Errorf("damaged: exit %d, %q, %q", code, out, errs)
	}
}

// TestExplainUnrecorded: where no run leaves an account, for the kind of the model or for
// the place, that is said, and no command that would leave none either.
func TestExplainUnrecorded(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for name, command := range map[string]string{"roberta": "atenia embed", "bert_rerank": "atenia rerank", "whisper": "atenia transcribe"} {
		model := filepath.Join(golden.Family(t, "parity"), name)
		if code, out, errs := runExplain(model); code != 1 || out != "" || !strings.Contains(errs, `"`+command+`" keeps none`) || strings.Contains(errs, "atenia run") {
			t.Errorf("%s: exit %d, %s%s", name, code, out, errs)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", file)
	model := filepath.Join(golden.Family(t, "parity"), "llama3")
	cliCall(t, "run", model, "a", "-n", "2", "--temp", "0")
	if code, out, errs := runExplain(model); code != 1 || out != "" || !strings.Contains(errs, "files cannot be written in "+file) {
		t.Errorf("a state folder that is a file: exit %d, %s%s", code, out, errs)
	}
}

// TestLearningByDefault: run learns in the state folder unless it is told not to,
// and goes on without where that cannot be.
func TestLearningByDefault(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	run := []string{"run", "Once upon a time", "-n", "8", "--temp", "0"}
	want := cliCall(t, append(slices.Clone(run), "--learning", "off")...)
	file := filepath.Join(dir, "atenia", defaultName)
	if _, err := os.Stat(file); err == nil {
		t.Error("off learns")
	}
	if got := cliCall(t, run...); string(got) != string(want) {
		t.Errorf("with learning %q, want %q", got, want)
	}
	for _, name := range []string{file, file + ".choices"} {
		if b, err := os.ReadFile(name); err != nil || !strings.HasPrefix(string(b), "ATENIA_") {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if err := os.WriteFile(file, []byte("hello\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	if code := Main(run, strings.NewReader(""), &out, &errs); code != 0 || out.String() != string(want) || !strings.Contains(errs.String(), "continuing without") {
		t.Errorf("a foreign file: exit %d, %q, %q", code, out.String(), errs.String())
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "hello\n" {
		t.Errorf("the foreign file: %q, %v", b, err)
	}
}

// TestExplainDamage: a foreign file that was asked for is an error; a row with
// more successes than runs is reported and not believed.
func TestExplainDamage(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "f")
	seed := []string{"--gpu-available=true", "--vram-band=0", "--ram-band=0", "--learning", file}
	all := []string{"--all", "--learning", file}
	for _, c := range []struct {
		args            []string
		text, out, errs string
		code            int
	}{
		{seed, "ATENIA_SELFTRAINER_V2\n", "", "not a learning file of this version", 1},
		{all, strings.Replace(learned, "success=1", "success=2", 1), "No learned data available.\n", "success: want at most count, which is 1, got 2", 0},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		code, out, errs := runExplain(c.args...)
		if code != c.code || out != c.out || !strings.Contains(errs, c.errs) {
			t.Errorf("%q: exit %d, %q, %q", c.text, code, out, errs)
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != c.text {
			t.Errorf("the file was changed: %q, %v", b, err)
		}
	}
}

// TestBenchPolicy: both copies write the same text, and every phase is measured.
func TestBenchPolicy(t *testing.T) {
	var r policyResult
	callJSON(t, &r, "bench", "policy", "-n", "40", "--turn", "20", "--neighbours", "0,1")
	if len(r.Phases) != 2 || r.Phases[1].Neighbours != 1 || r.Phases[0].With <= 0 || r.Phases[1].Without <= 0 {
		t.Errorf("%+v", r)
	}
}

// TestExplainCounts: where a table has executions of the CPU alone, and a GPU is preferred to
// them, what is told of all contexts says whose the counts are.
func TestExplainCounts(t *testing.T) {
	const file = "testdata/learning-cpu-negative.v1"
	text := string(cliCall(t, "explain", "--all", "--learning", file))
	if n := strings.Count(text, "nothing ran on a GPU here"); n != 3 {
		t.Errorf("said %d times, want 3:\n%s", n, text)
	}
	var all []struct {
		VRAM    int `json:"vram_band"`
		Counts  string
		Entries []place.LearnedEntry
	}
	if err := json.Unmarshal(cliCall(t, "explain", "--all", "--json", "--learning", file), &all); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "table")
	rows := "gpu_avail=0;vram_band=0;ram_band=1;backend=cpu;count=3;success=2;score_sum=3;drift=1\n" +
		"gpu_avail=1;vram_band=0;ram_band=0;backend=cpu;count=1;success=1;score_sum=9;drift=0\n" + "gpu_avail=1;vram_band=0;ram_band=0;backend=gpu;count=5;success=1;score_sum=-5;drift=0\n"
	if err := os.WriteFile(own, []byte("ATENIA_SELFTRAINER_V1\n"+rows), 0o600); err != nil {
		t.Fatal(err)
	}
	text = string(cliCall(t, "explain", "--all", "--learning", own))
	for _, want := range []string{"what drifted are the CPU's executions", "the executions that are counted are the GPU's"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("not once %q:\n%s", want, text)
		}
	}
	for _, x := range all {
		if len(x.Entries) != 1 || x.Entries[0].Backend != "Cpu" || (x.Counts != "") != (x.VRAM > 0) {
			t.Errorf("%+v", x)
		}
	}
}
