package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden"
)

// TestPlanStages: the stages of images and sounds are printed, mapped, compared and checked
// like those of text.
func TestPlanStages(t *testing.T) {
	parity := golden.Family(t, "parity")
	for family, want := range map[string][]string{
		"qwen2_vl": {"vision_encode", "scatter", "prefill", "decode"},
		"whisper":  {"vision_encode", "prefill", "decode"},
		"llama3":   {"prefill", "decode"},
	} {
		dir := filepath.Join(parity, family)
		text := string(cliCall(t, "plan", dir))
		for _, mode := range []string{"vision_encode", "scatter", "prefill", "decode"} {
			has := slices.Contains(want, mode)
			if strings.Contains(text, "plan mode="+mode) != has || regexp.MustCompile(`(?m)^`+mode+` +\d+ instructions`).MatchString(text) != has {
				t.Errorf("%s: %s is in the plan: %v, want %v", family, mode, !has, has)
			}
			var out, errs bytes.Buffer
			code := Main([]string{"plan", dir, "--mode", mode}, nil, &out, &errs)
			if has && (code != command.OK || strings.Count(out.String(), "plan mode=") != 1) || !has && (code != command.BadUsage || !strings.Contains(errs.String(), "one of "+strings.Join(want, ", "))) {
				t.Errorf("%s --mode %s: exit code %d, %s", family, mode, code, errs.String())
			}
		}
		var j struct{ Mapping map[string]json.RawMessage }
		if err := json.Unmarshal(cliCall(t, "plan", dir, "--json"), &j); err != nil {
			t.Fatal(err)
		}
		for _, mode := range want {
			if len(j.Mapping[mode]) == 0 {
				t.Errorf("%s: %s has no mapping", family, mode)
			}
		}
		if hand := strings.Contains(text, "hand-off "); hand != (family == "qwen2_vl") {
			t.Errorf("%s: hand-offs are told: %v", family, hand)
		}
		cliCall(t, "plan", dir, "--backend", "cpu")
	}
	diff := string(cliCall(t, "plan", filepath.Join(parity, "qwen2_vl"), "--diff", filepath.Join(parity, "gemma3_vl")))
	if !strings.Contains(diff, "vision_encode ") || !strings.Contains(diff, "prefill ") {
		t.Errorf("a difference without towers:\n%s", diff)
	}
	smaller := filepath.Join(t.TempDir(), "q8.gguf")
	cliCall(t, "quantize", "atenia-story", smaller, "--type", "q8_0", "--json")
	if diff := string(cliCall(t, "plan", "atenia-story", "--diff", smaller)); !strings.Contains(diff, "weights Q8_0: 0 bytes, ") {
		t.Errorf("a difference without types of weights:\n%s", diff)
	}
}

// TestPlanLargeState: what a long context keeps is counted beyond 4 GiB.
func TestPlanLargeState(t *testing.T) {
	const context, token = 1<<24 + 32, 4096 // and two pages of sixteen
	text := string(cliCall(t, "plan", "atenia-story", "--ctx", "16777216", "--ram", "200GiB", "--probe", "none"))
	if want := strconv.Itoa(context * token); !regexp.MustCompile(`(?m)^ram kv +` + want + ` `).MatchString(text) {
		t.Errorf("no %s bytes of keys and values:\n%s", want, text)
	}
}

// TestLaunchesByRow: work is handed out as often for a prompt of many tokens as for one of few.
func TestLaunchesByRow(t *testing.T) {
	launches := func(prompt string) uint64 {
		var r benchResult
		if err := json.Unmarshal(cliCall(t, "bench", "-p", prompt, "-n", "1", "-r", "1", "-t", "2", "--counters", "--json"), &r); err != nil {
			t.Fatal(err)
		}
		return r.Counters.Prefill.Launches
	}
	if few, many := launches("2"), launches("200"); few != many || few == 0 {
		t.Errorf("%d launches for 2 tokens, %d for 200", few, many)
	}
}
