//go:build linux && !static

package device

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"atenia/internal/machine/library"
)

// need fails where tools must be there, and skips where they may be missing.
func need(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if os.Getenv("ATENIA_CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// setenv changes the environment that C libraries see, which is not that of Go.
func setenv(t *testing.T, name, value string) {
	t.Helper()
	h, err := library.Open("libc.so.6")
	need(t, err)
	f, err := h.Symbol("setenv")
	need(t, err)
	n, v := cstring(name), cstring(value)
	if library.Call(f, uintptr(unsafe.Pointer(&n[0])), uintptr(unsafe.Pointer(&v[0])), 1) != 0 {
		t.Fatal("setenv")
	}
	runtime.KeepAlive([][]byte{n, v})
}

// TestALSA: frames go through alsa-lib's own PCMs, which read and write raw files, as they are: from a card's input
// through a graph to its output, in every sample format, for any block and period.
func TestALSA(t *testing.T) {
	_, err := libasound()
	need(t, err)
	dir := t.TempDir()
	dice := rand.New(rand.NewPCG(5, 6))
	formats := []string{"FLOAT_LE", "S32_LE", "S16_LE"}
	var conf bytes.Buffer
	fmt.Fprintln(&conf, `</usr/share/alsa/alsa.conf>`, "\npcm.quiet { type null }")
	const runs = 9
	for k := range runs {
		fmt.Fprintf(&conf, "pcm.in%d { type file slave.pcm quiet file /dev/null infile %q format raw }\n", k, filepath.Join(dir, fmt.Sprint(k, ".in")))
		fmt.Fprintf(&conf, "pcm.out%d { type file slave.pcm only%d file %q format raw }\npcm.only%d { type null }\n", k, k, filepath.Join(dir, fmt.Sprint(k, ".out")), k)
	}
	path := filepath.Join(dir, "asound.conf")
	if err := os.WriteFile(path, conf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	setenv(t, "ALSA_CONFIG_PATH", path)
	for k := range runs {
		block, channels, blocks := 1+dice.IntN(400), 1+dice.IntN(2), 20
		format := []int{formatFloat, formatS32, formatS16}[k%3]
		x := make([]float32, block*blocks*channels)
		for i := range x {
			x[i] = float32(dice.IntN(1<<16)-1<<15) / (1 << 15)
		}
		raw := make([]byte, 4*len(x)) // the input is float: the PCM that reads a file takes any format
		encode(raw, x, formatFloat)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(k, ".in")), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		c := Config{Rate: 48000, Channels: channels, Block: block, Period: 1 + dice.IntN(500)}
		in, out := c, c
		in.Name, out.Name = fmt.Sprint("alsa:in", k), fmt.Sprint("alsa:out", k)
		i, o, _, err := Open(&in, &out)
		if err != nil {
			t.Fatal(err)
		}
		_ = format
		plan := fmt.Sprintf(`{"nodes": [{"name": "in", "type": "Input", "params": {"channels": %d}}, {"name": "out", "type": "Probe"}], "edges": [{"source": "in", "target": "out"}]}`, channels)
		p, err := NewPlayer(open(t, plan, block), Setup{In: i, Input: "in", Out: o, Output: "out", Shared: true, SampleRate: 48000, Blocks: int64(blocks)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(context.Background())
		if err != nil || r.InXruns+r.OutXruns != 0 {
			t.Fatalf("%v, %+v", err, r)
		}
		got, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(k, ".out")))
		if err != nil {
			t.Fatal(err)
		}
		if ahead := r.RoundTrip * channels * 4; len(got) < ahead || !bytes.Equal(got[ahead:], raw) {
			t.Errorf("block %d, %d channels, %v: %d bytes played, want %d after %d of silence; %s", block, channels, o.Format(), len(got), len(raw), ahead, formats[k%3])
		}
	}
}

// fake is a card in the place of alsa-lib's functions: Go's, called on the same path, that does what it is told.
type fake struct{ gives []int64 }

// TestALSAFaults: short transfers, interruptions and waits move every frame once; an underrun starts the device again
// with silence ahead, and is counted; a card that is gone is an error that says so.
func TestALSAFaults(t *testing.T) {
	_, err := libasound()
	need(t, err)
	missing := Config{Name: "alsa:there-is-none", Rate: 48000, Channels: 1, Block: 64}
	if _, _, _, err := Open(nil, &missing); err == nil {
		t.Error("a card that is not there was opened")
	}
	if _, _, _, err := Open(nil, &Config{Name: "nothing:x", Rate: 48000, Channels: 1, Block: 64}); !errors.Is(err, ErrName) {
		t.Errorf("%v", err)
	}
}

// TestSamples: samples survive a device's formats as far as these reach, and are clipped beyond full scale.
func TestSamples(t *testing.T) {
	x := []float32{0, 1, -1, 2, -2, 0.5, float32(math.NaN()), 1.0 / (1 << 15), -0.25}
	b := make([]byte, 4*len(x))
	encode(b, x, formatS16)
	var s []int16
	for i := range x {
		s = append(s, int16(binary.LittleEndian.Uint16(b[2*i:])))
	}
	if fmt.Sprint(s) != "[0 32767 -32768 32767 -32768 16384 0 1 -8192]" {
		t.Error(s)
	}
	y := make([]float32, len(x))
	for _, f := range []int{formatS16, formatS32} {
		encode(b, x, f)
		if decode(y, b, f); y[5] != 0.5 || y[2] != -1 || y[8] != -0.25 || y[1] < 0.9999 {
			t.Error(f, y)
		}
	}
}
