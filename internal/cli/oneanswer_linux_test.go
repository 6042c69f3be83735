package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/engine"
	"atenia/internal/golden"
	"atenia/internal/golden/await"
	"atenia/internal/memory/pack"
	"atenia/internal/model/compile"
	"atenia/internal/sched"
	"atenia/place"
	"atenia/tensor"

	"github.com/spf13/pflag"
)

// answers are what doctor, plan and a run (of an encoder embed) say of a model in a memory: whether it runs,
// and the least that it needs.
type answers struct {
	verdict place.Verdict // of doctor
	runs    [3]bool
	floors  [3]string
	text    string
}

var floorText = regexp.MustCompile(`at least [^(]*\((\d+) bytes\)`)

// ask asks all three: with a budget of so many bytes, or in a group of them. After the name of
// a model may stand a "?" and the pooling that makes an encoder of it.
func ask(t *testing.T, model string, bytes int64, group bool) (a answers) {
	t.Helper()
	limit, ram, budget := int64(0), []string{"--ram", fmt.Sprint(bytes)}, []string{"--budget", fmt.Sprintf("ram=%d", bytes)}
	if group {
		limit, ram, budget = bytes, []string{"--ram", "auto"}, []string{"--budget", "ram=auto"}
	}
	usual := []string{"--ctx", "64", "--probe", "none"}
	model, pooling, pooled := strings.Cut(model, "?")
	run := []string{"logits", model, "--tokens", "1,2"}
	if strings.Contains(model, "bert") || pooled {
		run = []string{"embed", model, "a"}
	}
	if pooled {
		usual = append(usual, "--pooling", pooling)
	}
	for i, args := range [][]string{
		append(append([]string{"doctor", model, "--json"}, usual...), ram...),
		append(append([]string{"plan", model}, usual...), ram...),
		append(append(run, usual...), budget...),
	} {
		l := inGroup(t, limit, "", args...)
		if a.runs[i] = l.code == command.OK; i == 0 {
			var d place.Advice
			if err := json.Unmarshal([]byte(l.out), &d); err != nil {
				t.Fatalf("%q: %v: %s", args, err, l.err)
			}
			l.err += d.Why
			a.verdict = d.Verdict
			for _, r := range d.Remedies {
				if group && r.Then.RAM > bytes {
					t.Errorf("in a group of %d bytes more is advised: %+v", bytes, r)
				}
			}
		}
		if m := floorText.FindStringSubmatch(l.err); m != nil {
			a.floors[i] = m[1]
		}
		a.text += fmt.Sprintf("%q: exit %d: %s\n", args, l.code, l.err)
		if i > 0 && group && !a.runs[i] && (!strings.Contains(l.err, "\"atenia doctor "+model+" ") || pooled && !strings.Contains(l.err, " --pooling "+pooling)) {
			t.Errorf("who asks doctor what would run, with the same flags? %q: %s", args, l.err)
		}
	}
	return a
}

// agree reports answers that differ, and returns the floor that they give.
func (a *answers) agree(t *testing.T, model string, bytes int64) int64 {
	t.Helper()
	if a.runs[0] != a.runs[1] || a.runs[1] != a.runs[2] || a.runs[0] != (a.verdict != place.VerdictCannot) || a.floors[0] != a.floors[1] || a.floors[1] != a.floors[2] || !a.runs[0] && a.floors[0] == "" {
		t.Errorf("%s in %d bytes: %s, %v, floors %q\n%s", filepath.Base(model), bytes, a.verdict, a.runs, a.floors, a.text)
	}
	n, _ := strconv.ParseInt(a.floors[0], 10, 64)
	return n
}

// answered are models of each kind.
func answered(t *testing.T) map[string]string {
	dense := talkingModel(t, 2)
	packed := filepath.Join(t.TempDir(), "packed.gguf")
	if l := inGroup(t, 0, "", "quantize", dense, packed, "--type", "q8_0"); l.code != command.OK {
		t.Fatal(l.err)
	}
	family := golden.Family(t, "parity")
	return map[string]string{"dense": dense, "packed": packed, "tied": filepath.Join(family, "llama_tied_bias"), "mixture": filepath.Join(family, "qwen2_moe"), "encoder": filepath.Join(family, "roberta"), "pooled": dense + "?mean"}
}

var needNote = regexp.MustCompile(`the model needs ([0-9.]+ [KMG]iB), ([0-9.]+ [KMG]iB) can be allocated: .* streamed from disk`)

var mappedNote = regexp.MustCompile(`the model needs ([0-9.]+ [KMG]iB), ([0-9.]+ [KMG]iB) can be allocated, and to stream it ([0-9.]+ [KMG]iB): it is mapped`)

// agreeNotes checks what a run in a group says of the memory, in which the model does not
// fit and can be streamed: not with --no-stream. What is streamed was read for as long as
// computing waited for it, or for longer.
func agreeNotes(t *testing.T, model string, bytes int64) {
	t.Helper()
	run := []string{"run", model, "a", "-n", "4", "--ignore-eos", "--ctx", "64", "--probe", "none"}
	l := inGroup(t, bytes, "", run...)
	m := needNote.FindStringSubmatch(l.err)
	if l.code != command.OK || m == nil || sizeOf(t, m[1]) <= sizeOf(t, m[2]) || sizeOf(t, m[2]) > bytes {
		t.Errorf("in %d bytes: exit %d, %q", bytes, l.code, l.err)
	}
	var r place.LastRun
	if told := inGroup(t, 0, "", "explain", model, "--json"); json.Unmarshal([]byte(told.out), &r) != nil || r.Form != "streamed" || r.Reading <= 0 || r.Waiting > max(r.Reading, r.Neighbours) || r.Need <= r.Room {
		t.Errorf("in %d bytes: %+v", bytes, r.RunCost)
	}
	if l := inGroup(t, bytes, "", append(run, "--pin", `blk\.0\.ffn_(up|down)=ssd`)...); l.code != command.OK || !needNote.MatchString(l.err) {
		t.Errorf("in %d bytes, a part pinned to the disk: exit %d, %q", bytes, l.code, l.err)
	}
	if l := inGroup(t, bytes, "", append(run, "--pin", `.=ram`)...); l.code == command.OK || !strings.Contains(l.err, "pin ") {
		t.Errorf("in %d bytes, all pinned to memory: exit %d, %q", bytes, l.code, l.err)
	}
	for _, budget := range [][]string{nil, {"--budget", "ram=auto"}} { // --no-stream is advised where it is taken
		l := inGroup(t, bytes, "", append(slices.Clip(run), budget...)...)
		if advised := strings.Contains(l.err, "--no-stream maps it"); l.code != command.OK || advised != (budget == nil) {
			t.Errorf("in %d bytes, %q: exit %d, %q", bytes, budget, l.code, l.err)
		}
	}
	if l := inGroup(t, bytes, "", append(run, "--no-stream")...); l.code != command.OK || needNote.MatchString(l.err) {
		t.Errorf("in %d bytes, not to be streamed from the start: exit %d, %q", bytes, l.code, l.err)
	}
}

// staysMapped checks that a model which cannot be streamed in a group is not, whatever the memory
// that its pages want: the ring would have no room.
func staysMapped(t *testing.T, model string, bytes int64) {
	t.Helper()
	if l := inGroup(t, bytes, "", "run", model, "a", "-n", "24", "--ignore-eos", "--ctx", "64", "--probe", "none"); l.code != command.OK {
		t.Errorf("in %d bytes: exit %d, %q", bytes, l.code, l.err)
	}
	var r place.LastRun
	if told := inGroup(t, 0, "", "explain", model, "--json"); json.Unmarshal([]byte(told.out), &r) != nil || r.Form != "mapped" && r.Form != "packed" {
		t.Errorf("in %d bytes: %s, %s", bytes, r.Form, told.err)
	}
}

// sizeOf reads a size that was printed.
func sizeOf(t *testing.T, s string) int64 {
	t.Helper()
	var b place.Budget
	if err := b.Set("ram", strings.ReplaceAll(s, " ", "")); err != nil {
		t.Fatal(err)
	}
	return b.RAM
}

// generateCall asks a server for two tokens.
const generateCall = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"generate","arguments":{"prompt":"Hello","max_tokens":2}}}
`

// TestOneAnswer: doctor and plan say of a model what a run does, in budgets that are
// drawn and in groups; the floor is one figure, a run works in it, and a page below
// it nothing does.
func TestOneAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 70 MB, many times")
	}
	t.Parallel()
	draw := rand.New(rand.NewPCG(34, 6))
	models := answered(t)
	for i, name := range slices.Sorted(maps.Keys(models)) {
		model := models[name]
		one := ask(t, model, 1, false)
		floor := one.agree(t, name, 1)
		if floor <= 4096 {
			t.Fatalf("%s: %s", name, one.text)
		}
		budgets := []int64{floor, floor - 4096, floor/2 + draw.Int64N(floor/2-4096), floor + draw.Int64N(floor)}
		if drawn := 2 + i%2; !await.Long() { // one of those that are drawn, below and above in turn
			budgets = append(budgets[:2], budgets[drawn])
		}
		for _, n := range budgets {
			a := ask(t, model, n, false)
			if got := a.agree(t, name, n); a.runs[2] != (n >= floor) || got > 0 && got != floor {
				t.Errorf("%s in %d bytes: floor %d, once %d\n%s", name, n, got, floor, a.text)
			}
		}
	}
	needControlGroups(t)
	pooled := ask(t, models["pooled"], 1, false)
	below := pooled.agree(t, "pooled", 1) / 2
	pooled = ask(t, models["pooled"], below, true)
	pooled.agree(t, "pooled", below)
	model := models["dense"]
	streamed := func() int64 { a := ask(t, model, 1, false); return a.agree(t, "dense", 1) }()
	low := ask(t, model, streamed/2, true)
	mapped := low.agree(t, "dense", streamed/2)
	if mapped == 0 || mapped >= streamed {
		t.Fatalf("mapped in %d bytes, streamed in %d\n%s", mapped, streamed, low.text)
	}
	const spare = 8 // parts of a group that a process does not plan with, and what it has more of
	for want, n := range map[place.Verdict]int64{
		place.VerdictCannot: mapped - mapped/spare, place.VerdictMaps: (mapped + streamed) / 2 * 33 / 32, place.VerdictStreams: streamed + streamed/spare,
	} {
		a := ask(t, model, n, true)
		if a.agree(t, "dense", n); a.verdict != want {
			t.Errorf("a group of %d bytes: %s, want %s\n%s", n, a.verdict, want, a.text)
		}
		if plain := inGroup(t, n, "", "logits", model, "--tokens", "1,2", "--ctx", "64", "--probe", "none"); (plain.code == command.OK) != a.runs[2] {
			t.Errorf("a group of %d bytes without a budget: exit %d: %s", n, plain.code, plain.err)
		}
		switch want {
		case place.VerdictStreams:
			agreeNotes(t, model, n)
		case place.VerdictMaps:
			staysMapped(t, model, n)
			// in order: what can be allocated, what it is streamed in, all
			if m := mappedNote.FindStringSubmatch(a.text); m == nil || sizeOf(t, m[2]) > n || sizeOf(t, m[2]) >= sizeOf(t, m[3]) || sizeOf(t, m[3]) >= sizeOf(t, m[1]) {
				t.Errorf("a group of %d bytes: %s", n, a.text)
			}
		default:
			for _, part := range []string{"runtime ", "buffer ", "kv "} { // of which it must hold each
				if !strings.Contains(a.text, part) {
					t.Errorf("a group of %d bytes: no %q in %s", n, part, a.text)
				}
			}
		}
		served := inGroup(t, n, generateCall, "mcp", model, "--ctx", "64", "--probe", "none", "--budget", "ram=auto")
		if answered := strings.Contains(served.out, `"finish":"length"`); answered != a.runs[2] {
			t.Errorf("a group of %d bytes, served: exit %d: %s %s", n, served.code, served.out, served.err)
		}
	}
}

// TestRemedies: what doctor promises of a remedy is what it says once its command was
// followed, and each command is one that the model takes.
func TestRemedies(t *testing.T) {
	if testing.Short() {
		t.Skip("a model of 70 MB, quantized")
	}
	t.Parallel()
	advise := func(model string, ram int64) (a place.Advice) {
		t.Helper()
		l := inGroup(t, 0, "", "doctor", model, "--json", "--probe", "none", "--ram", fmt.Sprint(ram))
		if err := json.Unmarshal([]byte(l.out), &a); err != nil {
			t.Fatal(l.err)
		}
		return a
	}
	follow := func(r place.Remedy) []string {
		t.Helper()
		args := strings.Fields(strings.Replace(r.Command, " TEXT", " a", 1))[1:]
		if args[0] == "run" {
			args = append(args, "a", "-n", "1")
		}
		if l := inGroup(t, 0, "", args...); l.code != command.OK {
			t.Errorf("%s: exit %d: %s", r.Command, l.code, l.err)
		}
		return args
	}
	quantized, embedded := 0, 0
	dense, encoder := talkingModel(t, 2), filepath.Join(golden.Family(t, "parity"), "roberta")
	for _, model := range []string{dense, encoder} {
		ram := advise(model, 1<<40).Fit * 6 / 8
		for _, r := range advise(model, ram).Remedies {
			args := follow(r)
			if args[0] == "embed" {
				embedded++
			}
			if args[0] != "quantize" {
				continue
			}
			quantized++
			if then := advise(args[2], ram); then.Verdict != r.Then.Verdict || max(then.SSD-r.Then.SSD, r.Then.SSD-then.SSD) > r.Then.SSD/50+1<<20 {
				t.Errorf("in %d bytes %s: promised %+v, is %+v", ram, r.Command, r.Then, then.Outcome)
			}
		}
	}
	if quantized == 0 || embedded == 0 {
		t.Errorf("%d models were to be quantized, %d commands to embed", quantized, embedded)
	}
}

// TestAdvisedCommands: commands that doctor and explain print are those of the model, the
// configuration and the memory that were asked about, as a shell takes them; what no run takes
// is not answered.
func TestAdvisedCommands(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := filepath.Join(t.TempDir(), "a model & more")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(golden.Family(t, "parity"), "llama3"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "config.json"), filepath.Join(dir, "other.json")); err != nil {
		t.Fatal(err)
	}
	usual := strings.Fields("--config-file other.json --ctx 256 --batch-tokens 32 --kv-type f16 --threads 1 --pack memory --codec off --draft early --speculate lookup --precise --no-fuse")
	files, flags := " --config-file other.json", " --kv-type f16 --ctx 256 --batch-tokens 32 --threads 1 --pack memory --codec off --draft early --speculate lookup --precise --no-fuse"
	said := func(args ...string) (int, string) {
		l := inGroup(t, 0, "", args...)
		return l.code, l.out + l.err
	}
	code, text := said(append([]string{"doctor", dir + "/", "--ram", "50MiB", "--probe", "none"}, []string{"--config-file", "other.json", "--ctx", "256", "--kv-type", "f16"}...)...)
	if want := "atenia run '" + dir + "' --budget ram="; !strings.Contains(text, want) || !strings.Contains(text, " --config-file other.json --kv-type f16 --ctx 256") {
		t.Errorf("exit %d, no %q: %s", code, want, text)
	}
	if code, text = said("doctor", dir, "--config-file", "other.json", "--budget", "ram=1GiB,vram=1GiB", "--probe", "none"); code == command.OK || !strings.Contains(text, "vram=0") {
		t.Errorf("with memory of a device: exit %d, %s", code, text)
	}
	one := ask(t, filepath.Join(golden.Family(t, "parity"), "qwen2_moe"), 1, false)
	floor, _ := strconv.ParseInt(one.floors[0], 10, 64)
	mixture := []string{"run", filepath.Join(golden.Family(t, "parity"), "qwen2_moe"), "a", "-n", "4", "--ignore-eos", "--ctx", "64", "--probe", "none", "--budget", fmt.Sprintf("ram=%d", floor)}
	if code, text = said(append(mixture, "--pack", "memory", "--strict")...); code == command.OK || !strings.Contains(text, "not packed") {
		t.Errorf("strict, and not packed: exit %d, %s", code, text)
	}
	if code, text = said(mixture...); code != command.OK {
		t.Fatal(text)
	}
	if _, text = said("explain", mixture[1], "--json"); !strings.Contains(text, `"form":"streamed"`) || !strings.Contains(text, `"flags":[{"name":"ctx","value":"64"},{"name":"budget","value":"ram=`) || strings.Contains(text, "asked for") {
		t.Errorf("experts are read from the disk: %s", text)
	}
	if code, text = said(append([]string{"run", dir, "a", "-n", "4", "--ignore-eos"}, usual...)...); code != command.OK {
		t.Fatal(text)
	}
	var r place.LastRun
	if _, text = said("explain", dir, "--json"); json.Unmarshal([]byte(text), &r) != nil || r.Files != files {
		t.Errorf("%q of %s", r.Files, text)
	}
	for _, bound := range []float64{0, 10} { // waits for pages, and then for others
		r.Waiting, r.Computing, r.Neighbours, r.Faults = r.Decode.Seconds, 0, bound, 1e9
		r.ReadBytes, r.Again, r.Need, r.Room, r.Form, r.Learned, r.Threads = 1e12, 1e12, 1, 2, "mapped", nil, 2
		if r.Judge(place.RunRoofs{}); r.Advice.Command != "" && !strings.HasPrefix(r.Advice.Command, "atenia run '"+dir+"'"+files+flags) {
			t.Errorf("bound by %s: %q", r.Bound, r.Advice.Command)
		}
	}
	r.Form, r.Neighbours, r.Fewer = "streamed", 0, []place.RunLess{{Type: "q8_0"}}
	if r.Judge(place.RunRoofs{}); !strings.HasPrefix(r.Advice.Command, "atenia quantize '"+dir+"' ") || !strings.HasSuffix(r.Advice.Command, files) {
		t.Errorf("bound by %s: %q", r.Bound, r.Advice.Command)
	}
}

// TestAdvisedFlags: each flag of "atenia run" is one that commands repeat which explain
// advises, or says here why not: whoever adds one decides.
func TestAdvisedFlags(t *testing.T) {
	all := engine.Config{
		GPTQZeros: "v1", Context: 1, BatchTokens: 1, Threads: 1, AllThreads: true, Pack: pack.Off, Codec: "off", Draft: "d", Speculate: sched.SpeculateOff,
		Lora: "l", Tower: "t", Precise: true, Compile: compile.Options{KVType: tensor.F16, NoFuse: true}, PlacementFile: "p", Checkpoint: "c",
		NoStream: true, NoMap: true, Verify: true, PackVerify: true, Strict: true, Rules: place.Rules{Pins: []string{"x=ssd"}, MaxTier: "ram", Offload: place.Offload{Wait: true}},
	}
	repeated := map[string]bool{"budget": true, "learning": true} // which are not of that
	for _, f := range all.RunFlags("other.json") {
		repeated[f.Name] = true
	}
	const text, file, log = "of the text, not of its speed", "of the files that a run gets", "writes what a run did"
	others := map[string]string{
		"probe": "of predictions", "decisions": log, "stats": log, "trace": log, "timeline": log, "metrics": log, "memory": "of models without an account",
		"image": file, "video": file, "schema": text, "grammar": text, "no-echo": text,
	}
	sampling := pflag.NewFlagSet("sampling", pflag.ContinueOnError)
	new(samplingFlags).register(sampling)
	sampling.VisitAll(func(f *pflag.Flag) { others[f.Name] = text })
	run, _, err := (&app{}).root().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	run.Flags().VisitAll(func(f *pflag.Flag) {
		seen[f.Name] = true
		if _, other := others[f.Name]; other == repeated[f.Name] {
			t.Errorf("--%s: repeated by commands that are advised is %v, and not to be is %q", f.Name, repeated[f.Name], others[f.Name])
		}
	})
	for name := range repeated {
		if !seen[name] {
			t.Errorf("--%s is repeated, and no flag of run", name)
		}
	}
}

// TestPins: a run holds weights where --pin says, with the same text, and its account tells so.
func TestPins(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	model := filepath.Join(golden.Family(t, "parity"), "llama3")
	run := func(flags ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := Main(append([]string{"run", model, "a", "-n", "8", "--ignore-eos", "--temp", "0", "--probe", "none"}, flags...), strings.NewReader(""), &out, &errs); code != 0 {
			t.Fatalf("%v: %s", flags, &errs)
		}
		return out.String()
	}
	plain := run()
	if pinned := run("--pin", `blk\.0\.ffn_(gate|up|down)$=ssd`, "--pin", `blk\.1\..*=ram`); pinned != plain {
		t.Errorf("%q, and without pins %q", pinned, plain)
	}
	var r place.LastRun
	callJSON(t, &r, "explain", model)
	where := map[string]int{}
	for _, g := range r.Groups {
		if g.Rule == "pin" {
			where[g.Where] += g.Tensors
		}
	}
	if r.Form != "streamed" || where["ssd"] == 0 || where["ram"] == 0 || !slices.ContainsFunc(r.Flags, func(f place.RunFlag) bool { return f.Name == "pin" }) {
		t.Errorf("%s: %+v, pinned %v, flags %v", r.Form, r.Groups, where, r.Flags)
	}
	var out, errs strings.Builder
	if code := Main([]string{"run", model, "a", "--pin", "nothing=ssd"}, strings.NewReader(""), &out, &errs); code == 0 || !strings.Contains(errs.String(), "nothing") {
		t.Errorf("a pin of nothing: %d, %s", code, &errs)
	}
}

// TestAdvisedBudget: what explain advises after a run with flags has those, and paths lead to
// the same files from another folder.
func TestAdvisedBudget(t *testing.T) {
	state, dir, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	if err := os.CopyFS(filepath.Join(dir, "model"), os.DirFS(filepath.Join(golden.Family(t, "parity"), "llama3"))); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var out, errs strings.Builder
	args := strings.Fields("run model a -n 4 --ignore-eos --budget ram=1GiB,ssd=9 --verify --checkpoint kept --learning off --probe none")
	if code := Main(args, strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	const flags = " --checkpoint kept --verify --budget ram=1073741824,ssd=9 --learning off"
	for folder, want := range map[string]string{dir: "atenia run model" + flags, elsewhere: "atenia run " + filepath.Join(dir, "model") + strings.Replace(flags, "kept", filepath.Join(dir, "kept"), 1)} {
		t.Chdir(folder)
		var r place.LastRun
		callJSON(t, &r, "explain")
		r.Threads, r.Cores, r.Waiting, r.Neighbours, r.Form = 1, 2, 0, 0, "packed"
		r.CacheBytes, r.Pack, r.FirstUse, r.Drafts = 0, 0, 0, place.RunDrafts{}
		bytes := (r.WeightBytes + r.KVBytes) / r.Decode.Seconds * float64(r.Decode.Steps)
		if r.Judge(place.RunRoofs{Memory: bytes, Float: 1e18, Integer: 1e18}); r.Advice.Command != want+" --threads 2" {
			t.Errorf("from %s, bound by %s: %s\n%q, want\n%q", folder, r.Bound, r.Advice.What, r.Advice.Command, want)
		}
	}
}
