//go:build linux && !static

package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"atenia/flow/media"
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
// through a graph to its output, for any block and period.
func TestALSA(t *testing.T) {
	_, err := libasound()
	need(t, err)
	dir := t.TempDir()
	dice := rand.New(rand.NewPCG(5, 6))
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
		i, o, _, err := OpenDevice(&in, &out)
		if err != nil {
			t.Fatal(err)
		}
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
			t.Errorf("block %d, %d channels, %v: %d bytes played, want %d after %d of silence", block, channels, o.Format(), len(got), len(raw), ahead)
		}
	}
}

// shim is C between the back end and alsa-lib: it does what a busy, short or vanishing card does.
const shim = `
static long (*real)(void *, const void *, unsigned long);
static int calls, under, gone;
void shim_set(void *f, int u, int g) { real = (long (*)(void *, const void *, unsigned long))f; calls = 0; under = u; gone = g; }
long shim_move(void *h, const void *b, unsigned long n) {
	calls++;
	if (gone && calls >= gone) return -19;  /* ENODEV */
	if (under && calls == under) return -32; /* EPIPE */
	if (calls % 5 == 1) return -4;           /* EINTR */
	if (calls % 5 == 2) return -11;          /* EAGAIN */
	if (calls % 5 == 3 && n > 2) n = n / 3;
	return real(h, b, n);
}
`

// buildShim compiles the shim and returns its two functions.
func buildShim(t *testing.T) (set, move uintptr) {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	need(t, err)
	dir := t.TempDir()
	c, so := filepath.Join(dir, "shim.c"), filepath.Join(dir, "shim.so")
	if err := os.WriteFile(c, []byte(shim), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-shared", "-fPIC", "-o", so, c).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h, err := library.Open(so)
	if err != nil {
		t.Fatal(err)
	}
	if set, err = h.Symbol("shim_set"); err != nil {
		t.Fatal(err)
	}
	if move, err = h.Symbol("shim_move"); err != nil {
		t.Fatal(err)
	}
	return set, move
}

// TestALSAFaults: short transfers, interruptions and waits move every frame once; an underrun starts the device again
// with silence ahead, and is counted; a card that is gone is an error that says so, and what was played is recorded.
func TestALSAFaults(t *testing.T) {
	_, err := libasound()
	need(t, err)
	set, move := buildShim(t)
	dir := t.TempDir()
	for _, c := range []struct{ under, gone int }{{0, 0}, {9, 0}, {44, 0}, {0, 30}, {0, 1}} {
		raw := filepath.Join(dir, fmt.Sprintf("%d-%d.out", c.under, c.gone))
		conf := fmt.Sprintf("</usr/share/alsa/alsa.conf>\npcm.card%d_%d { type file slave.pcm { type null } file %q format raw }\n", c.under, c.gone, raw)
		path := filepath.Join(dir, fmt.Sprintf("%d-%d.conf", c.under, c.gone)) // alsa-lib reads a changed file again only if a second has passed
		if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		setenv(t, "ALSA_CONFIG_PATH", path)
		src, rec := filepath.Join(dir, "in.wav"), filepath.Join(dir, "rec.wav")
		write(t, src, 48000, 1, 64*50)
		in, out, _, err := OpenDevice(&Config{Name: "file:free=" + src, Rate: 48000, Channels: 1, Block: 64}, &Config{Name: fmt.Sprintf("alsa:card%d_%d", c.under, c.gone), Rate: 48000, Channels: 1, Block: 64})
		if err != nil {
			t.Fatal(err)
		}
		card := out.(*pcm)
		library.Call(set, card.f[pcmWritei], uintptr(c.under), uintptr(c.gone))
		card.f[pcmWritei] = move
		to, err := Record(rec, media.Format{Rate: 48000, Channels: 1})
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlayer(open(t, through, 64), Setup{In: in, Input: "in", Out: out, Output: "out", Shared: true, SampleRate: 48000, Taps: []Tap{{"out", to}}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Run(context.Background())
		if e := to.Close(); e != nil {
			t.Fatal(e)
		}
		kept, _, e := media.ReadFile[float32](rec)
		if e != nil {
			t.Fatal(e)
		}
		if n := int64(len(kept[0])); n != r.Blocks*64 || r.Lost != 0 {
			t.Errorf("%+v: %d frames recorded of %d blocks, %d lost", c, n, r.Blocks, r.Lost)
		}
		if c.gone > 0 {
			if err == nil || !strings.Contains(err.Error(), "No such device") {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil || r.OutXruns != int64(min(c.under, 1)) {
			t.Errorf("%+v: %v, %d xruns", c, err, r.OutXruns)
		}
		b, err := os.ReadFile(raw)
		if err != nil {
			t.Fatal(err)
		}
		played := make([]float32, len(b)/4)
		decode(played, b, formatFloat)
		if played = slices.DeleteFunc(played, func(x float32) bool { return x == 0 }); !slices.Equal(played, kept[0]) {
			t.Errorf("%+v: %d frames played, %d recorded", c, len(played), len(kept[0]))
		}
		if silence := len(b)/4 - len(played); silence != (1+min(c.under, 1))*r.RoundTrip {
			t.Errorf("%+v: %d frames of silence, want %d at each start", c, silence, r.RoundTrip)
		}
	}
	missing := Config{Name: "alsa:there-is-none", Rate: 48000, Channels: 1, Block: 64}
	if _, _, _, err := OpenDevice(nil, &missing); err == nil {
		t.Error("a card that is not there was opened")
	}
	if _, _, _, err := OpenDevice(nil, &Config{Name: "nothing:x", Rate: 48000, Channels: 1, Block: 64}); !errors.Is(err, ErrName) {
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
