package cli

import (
	"bytes"
	"encoding/json"
	"runtime/debug"
	"strings"
	"testing"

	"atenia/internal/kernel"
)

func TestVersion(t *testing.T) {
	text := cliCall(t, "version")
	for _, args := range [][]string{{"--version"}, {"-v"}} {
		if again := cliCall(t, args...); !bytes.Equal(text, again) {
			t.Errorf("%q prints %q, version %q", args, again, text)
		}
	}
	var r versionResult
	for _, args := range [][]string{{"version", "--json"}, {"--version", "--json"}} {
		if err := json.Unmarshal(cliCall(t, args...), &r); err != nil || r.Kernels != kernel.Variant() || !strings.HasPrefix(r.Go, "go") || r.OS == "" || r.Arch == "" {
			t.Errorf("%q: %+v, %v", args, r, err)
		}
	}
	for _, want := range []string{"atenia ", "\ncommit   ", "\ngo       go", "\nkernels  " + kernel.Variant() + "\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestVersionOf(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	if r := versionOf(info); r.Version != "v1.2.3" || r.Commit != "abc" || r.Time != "2026-01-02T03:04:05Z" || !r.Modified {
		t.Errorf("%+v", r)
	}
	if r := versionOf(nil); r.Version != "unknown" || r.Commit != "" || r.Modified {
		t.Errorf("%+v", r)
	}
}
