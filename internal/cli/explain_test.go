package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
