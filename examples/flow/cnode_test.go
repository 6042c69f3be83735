//go:build linux && (amd64 || arm64) && !static

package main

import (
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The test binary also runs as the process that executes and inspects
// libraries.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "node-") {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestCnode: the node gives the same in both places, and its gradient is that
// of central differences, computed here.
func TestCnode(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		if os.Getenv("ATENIA_CI") != "" {
			t.Fatal("the node is built with gcc, which is not here")
		}
		t.Skip("SKIPPED: the node is not built, there is no gcc")
	}
	var out [2]strings.Builder
	for i := range out {
		if err := runClip(&out[i], "softclip/softclip.c", "../../include", i == 1); err != nil {
			t.Fatal(err)
		}
	}
	here, there := out[0].String(), out[1].String()
	if want := strings.Replace(here, "false", "true", 1); there != want {
		t.Errorf("here\n%s\nthere\n%s", here, there)
	}
	energy := func(drive float64) (sum float64) {
		for i := range 256 {
			v := drive * math.Sin(2*math.Pi*float64(i)/64)
			v /= 1 + math.Abs(v)
			sum += v * v
		}
		return sum
	}
	if e, d := energy(2), (energy(2+1e-6)-energy(2-1e-6))/2e-6; math.Abs(e-75.507848) > 1e-6 || math.Abs(d-30.531852) > 1e-6 {
		t.Error(e, d)
	}
	if !strings.HasSuffix(here, "energy 75.507848, its derivative by clip.drive 30.531852\n") {
		t.Error(here)
	}
}
