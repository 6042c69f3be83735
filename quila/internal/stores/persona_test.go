package stores

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/golden/await"
)

func vector(n int) []float32 {
	v := make([]float32, 64)
	for i := range v {
		v[i] = float32(n) + float32(i)/128
	}
	return v
}

// TestPersonaKill: a process sets persona after persona and is killed, again and again,
// until it was in the middle of one three times; the one that was acknowledged
// last is there, or the one after it, bit for bit.
func TestPersonaKill(t *testing.T) {
	if dir := os.Getenv("PERSONA_KILL_DIR"); dir != "" {
		v, err := OpenPersona(PersonaConfig{Dim: 64, NVRAM: dir})
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; ; n++ {
			fmt.Printf("begun %d\n", n)
			if err := v.Set(vector(n)); err != nil {
				t.Fatal(err)
			}
			fmt.Printf("acked %d\n", n)
		}
	}
	dir := t.TempDir()
	for round, hits := 0, 0; hits < 3; round++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPersonaKill$")
		cmd.Env = append(os.Environ(), "PERSONA_KILL_DIR="+dir)
		acked, begun := 0, 0
		for _, line := range await.Kill(t, cmd, await.Nth(20+7*(round%3), "begun")) {
			_, _ = fmt.Sscanf(line, "acked %d", &acked)
			_, _ = fmt.Sscanf(line, "begun %d", &begun)
		}
		if acked < 19 {
			t.Fatalf("%d were acknowledged", acked)
		}
		hits += begun - acked
		v, err := OpenPersona(PersonaConfig{Dim: 64, NVRAM: dir})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Values(); !slices.Equal(got, vector(acked)) && !slices.Equal(got, vector(acked+1)) {
			t.Errorf("after the kill %g, acknowledged %d", got[:2], acked)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTorn: whatever part of the slot that is being written is lost, the other one
// counts.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	v, err := OpenPersona(PersonaConfig{Dim: 64, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(v.Set(vector(1)), v.Set(vector(2)), v.Close()); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 5, 9, 17, 21, headBytes, headBytes + 255} {
		b := slices.Clone(good)
		for slot := range 2 { // damage the newer slot
			if number, _, _ := read(b[slot*slotBytes(64):][:slotBytes(64)]); number == 2 {
				b[slot*slotBytes(64)+at] ^= 0xff
			}
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		v, err := OpenPersona(PersonaConfig{Dim: 64, Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Values(); !slices.Equal(got, vector(1)) {
			t.Errorf("byte %d torn: %g", at, got[:2])
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, make([]byte, len(good)), 0o666); err != nil {
		t.Fatal(err)
	}
	copy(good[4:], "xxxx")
	copy(good[slotBytes(64)+4:], "xxxx")
	if err := os.WriteFile(path, good, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenPersona(PersonaConfig{Dim: 64, Path: path}); !errors.Is(err, errPersonaDamaged) {
		t.Errorf("two damaged slots: %v", err)
	}
	if _, err := OpenPersona(PersonaConfig{Dim: 4096, Path: path}); !errors.Is(err, errPersonaShape) {
		t.Errorf("a file of another dimension: %v", err)
	}
}

func TestPersonaRefusals(t *testing.T) {
	v, err := OpenPersona(PersonaConfig{Dim: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Set([]float32{1, float32(math.NaN())}); !errors.Is(err, errPersonaNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	if err := v.Set([]float32{1}); !errors.Is(err, errPersonaShape) {
		t.Errorf("one value: %v", err)
	}
	if got := v.Values(); !slices.Equal(got, []float32{0, 0}) {
		t.Errorf("refused values were kept: %v", got)
	}
	if err := errors.Join(v.Close(), v.Close()); err != nil {
		t.Error(err)
	}
	if err := v.Set([]float32{1, 2}); !errors.Is(err, errPersonaClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := OpenPersona(PersonaConfig{}); !errors.Is(err, errPersonaShape) {
		t.Errorf("no dimension: %v", err)
	}
}
