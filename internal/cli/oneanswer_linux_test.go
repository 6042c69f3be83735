package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/cli/command"
	"atenia/internal/golden"

	"github.com/spf13/pflag"
)

// answers are what doctor, plan and a run (of an encoder embed) say of a model in a memory: whether it runs,
// and the least that it needs.
type answers struct {
	verdict atenia.Verdict // of doctor
	runs    [3]bool
	floors  [3]string
	text    string
}

var floorText = regexp.MustCompile(`at least [^(]*\((\d+) bytes\)`)

// ask asks all three: with a budget of so many bytes, or in a group of them.
func ask(t *testing.T, model string, bytes int64, group bool) (a answers) {
	t.Helper()
	limit, ram, budget := int64(0), []string{"--ram", fmt.Sprint(bytes)}, []string{"--budget", fmt.Sprintf("ram=%d", bytes)}
	if group {
		limit, ram, budget = bytes, []string{"--ram", "auto"}, []string{"--budget", "ram=auto"}
	}
	usual := []string{"--ctx", "64", "--probe", "none"}
	run := []string{"logits", model, "--tokens", "1,2"}
	if strings.Contains(model, "bert") {
		run = []string{"embed", model, "a"}
	}
	for i, args := range [][]string{
		append(append([]string{"doctor", model, "--json"}, usual...), ram...),
		append(append([]string{"plan", model}, usual...), ram...),
		append(append(run, usual...), budget...),
	} {
		l := inGroup(t, limit, "", args...)
		if a.runs[i] = l.code == command.OK; i == 0 {
			var d atenia.Advice
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
	}
	return a
}

// agree reports answers that differ, and returns the floor that they give.
func (a *answers) agree(t *testing.T, model string, bytes int64) int64 {
	t.Helper()
	if a.runs[0] != a.runs[1] || a.runs[1] != a.runs[2] || a.runs[0] != (a.verdict != atenia.VerdictCannot) || a.floors[0] != a.floors[1] || a.floors[1] != a.floors[2] || !a.runs[0] && a.floors[0] == "" {
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
	return map[string]string{"dense": dense, "packed": packed, "tied": filepath.Join(family, "llama_tied_bias"), "mixture": filepath.Join(family, "qwen2_moe"), "encoder": filepath.Join(family, "roberta")}
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
	var r atenia.LastRun
	if told := inGroup(t, 0, "", "explain", model, "--json"); json.Unmarshal([]byte(told.out), &r) != nil || r.Form != "streamed" || r.Reading <= 0 || r.Waiting > max(r.Reading, r.Neighbours) || r.Need <= r.Room {
		t.Errorf("in %d bytes: %+v", bytes, r.RunCost)
	}
	if l := inGroup(t, bytes, "", append(run, "--no-stream")...); l.code != command.OK || needNote.MatchString(l.err) {
		t.Errorf("in %d bytes, not to be streamed from the start: exit %d, %q", bytes, l.code, l.err)
	}
}

// sizeOf reads a size that was printed.
func sizeOf(t *testing.T, s string) int64 {
	t.Helper()
	var b atenia.Budget
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
	for name, model := range models {
		one := ask(t, model, 1, false)
		floor := one.agree(t, name, 1)
		if floor <= 4096 {
			t.Fatalf("%s: %s", name, one.text)
		}
		for _, n := range []int64{floor, floor - 4096, floor/2 + draw.Int64N(floor/2-4096), floor + draw.Int64N(floor)} {
			a := ask(t, model, n, false)
			if got := a.agree(t, name, n); a.runs[2] != (n >= floor) || got > 0 && got != floor {
				t.Errorf("%s in %d bytes: floor %d, once %d\n%s", name, n, got, floor, a.text)
			}
		}
	}
	needControlGroups(t)
	model := models["dense"]
	streamed := func() int64 { a := ask(t, model, 1, false); return a.agree(t, "dense", 1) }()
	low := ask(t, model, streamed/2, true)
	mapped := low.agree(t, "dense", streamed/2)
	if mapped == 0 || mapped >= streamed {
		t.Fatalf("mapped in %d bytes, streamed in %d\n%s", mapped, streamed, low.text)
	}
	const spare = 8 // parts of a group that a process does not plan with, and what it has more of
	for want, n := range map[atenia.Verdict]int64{
		atenia.VerdictCannot: mapped - mapped/spare, atenia.VerdictMaps: (mapped + streamed) / 2 * 33 / 32, atenia.VerdictStreams: streamed + streamed/spare,
	} {
		a := ask(t, model, n, true)
		if a.agree(t, "dense", n); a.verdict != want {
			t.Errorf("a group of %d bytes: %s, want %s\n%s", n, a.verdict, want, a.text)
		}
		if plain := inGroup(t, n, "", "logits", model, "--tokens", "1,2", "--ctx", "64", "--probe", "none"); (plain.code == command.OK) != a.runs[2] {
			t.Errorf("a group of %d bytes without a budget: exit %d: %s", n, plain.code, plain.err)
		}
		switch want {
		case atenia.VerdictStreams:
			agreeNotes(t, model, n)
		case atenia.VerdictMaps: // in order: what can be allocated, what it is streamed in, all
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
	advise := func(model string, ram int64) (a atenia.Advice) {
		t.Helper()
		l := inGroup(t, 0, "", "doctor", model, "--json", "--probe", "none", "--ram", fmt.Sprint(ram))
		if err := json.Unmarshal([]byte(l.out), &a); err != nil {
			t.Fatal(l.err)
		}
		return a
	}
	follow := func(r atenia.Remedy) []string {
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
	if _, text = said("explain", mixture[1], "--json"); !strings.Contains(text, `"form":"streamed"`) || !strings.Contains(text, `"flags":" --ctx 64"`) || strings.Contains(text, "asked for") {
		t.Errorf("experts are read from the disk: %s", text)
	}
	if code, text = said(append([]string{"run", dir, "a", "-n", "4", "--ignore-eos"}, usual...)...); code != command.OK {
		t.Fatal(text)
	}
	var r atenia.LastRun
	if _, text = said("explain", dir, "--json"); json.Unmarshal([]byte(text), &r) != nil || r.Files != files || r.Flags != flags {
		t.Errorf("%q, %q of %s", r.Files, r.Flags, text)
	}
	for _, bound := range []float64{0, 10} { // waits for pages, and then for others
		r.Waiting, r.Computing, r.Neighbours, r.Faults = r.Decode.Seconds, 0, bound, 1e9
		r.ReadBytes, r.Again, r.Need, r.Room = 1, 1, 2, 1
		if r.Judge(atenia.RunRoofs{}); r.Advice.Command != "" && !strings.HasPrefix(r.Advice.Command, "atenia run '"+dir+"'"+files+flags) {
			t.Errorf("bound by %s: %q", r.Bound, r.Advice.Command)
		}
	}
	r.Form, r.Neighbours = "streamed", 0
	if r.Judge(atenia.RunRoofs{}); !strings.HasPrefix(r.Advice.Command, "atenia quantize '"+dir+"' ") || !strings.HasSuffix(r.Advice.Command, files) {
		t.Errorf("bound by %s: %q", r.Bound, r.Advice.Command)
	}
}

// TestAdvisedFlags: each flag of a run that memory, speed or results follow from is one that
// advised commands repeat.
func TestAdvisedFlags(t *testing.T) {
	repeated := strings.Fields("config-file gptq-zeros kv-type ctx batch-tokens threads pack codec draft speculate lora mmproj precise no-fuse")
	others := map[string]string{
		"budget": "is in the command", "probe": "of predictions", "plan": "of a placement", "decisions": "a log", "stats": "prints",
		"verify": "checks", "pack-verify": "checks", "no-stream": "of a run without a budget", "no-mmap": "of a run without a budget",
	}
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	new(modelFlags).register(set)
	set.VisitAll(func(f *pflag.Flag) {
		if _, other := others[f.Name]; !other && !slices.Contains(repeated, f.Name) {
			t.Errorf("--%s is lost by commands that are advised", f.Name)
		}
	})
}
