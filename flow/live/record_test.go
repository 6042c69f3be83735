package live

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"atenia/flow/media"
	"atenia/flow/node"
	"atenia/internal/golden/await"
)

const tone = `{"nodes": [{"name": "tone", "type": "LFO", "params": {"frequency_hz": 441, "phase": 0.1}}, {"name": "out", "type": "Probe"}], "edges": [{"source": "tone", "target": "out"}]}`

// record plays a tone at the pace of the clock and prints how much of it is in the file, which is no less later. It is a
// process of its own, which its parent kills.
func record(t *testing.T, path string) {
	out, err := media.FormatFor(open(t, tone, 64).Linked(), "out", 48000, media.WAV, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	to, err := Record(path, out)
	if err != nil {
		t.Fatal(err)
	}
	_, o, _, err := OpenDevice(nil, &Config{Name: "null", Rate: 48000, Channels: 1, Block: 64})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlayer(open(t, tone, 64), Setup{Out: o, Output: "out", SampleRate: 48000, Taps: []Tap{{"out", to}}})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for last := int64(0); ; {
			await.Until(t, "the next half second", func() bool { return to.stored.Load() > last })
			last = to.stored.Load()
			fmt.Println("recorded", last)
		}
	}()
	_, err = p.Run(context.Background())
	t.Fatal(err)
}

// TestRecordedAtOnce: a file has all but the last second of what came, at any time.
func TestRecordedAtOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		const rate, seconds, step = 48000, 4, 480
		r, err := Record(filepath.Join(dir, "take.wav"), media.Format{Rate: rate, Channels: 1})
		if err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(time.Second * step / rate)
		for n := int64(step); n < rate*seconds; n += step {
			if !r.Put(make([]float32, step)) {
				t.Fatal("lost")
			}
			if <-tick.C; r.stored.Load() < n-rate || r.stored.Load() > n {
				t.Fatalf("%d of %d frames are in the file", r.stored.Load(), n)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestKilled: a program that is killed while it records leaves a file that any reader takes, with what it had stored.
func TestKilled(t *testing.T) {
	const variable = "ATENIA_TEST_RECORD"
	if path := os.Getenv(variable); path != "" {
		record(t, path)
		return
	}
	path := filepath.Join(t.TempDir(), "take.wav")
	c := exec.Command(os.Args[0], "-test.run=^TestKilled$", "-test.v")
	c.Env = append(os.Environ(), variable+"="+path)
	recorded, times := 0, 0
	for _, line := range await.Kill(t, c, await.Nth(2, "recorded")) {
		if n, ok := cut(line); ok {
			recorded = n
			times++
		}
	}
	x, f, err := media.ReadFile[float32](path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(x[0]); n < recorded || times < 2 {
		t.Errorf("%d frames of %d are in the file, of %d Hz", n, recorded, f.Rate)
	}
	blocks := (len(x[0]) + 63) / 64
	want, err := open(t, tone, 64).Run(map[string]node.Tensor[float32]{}, blocks)
	if err != nil {
		t.Fatal(err)
	}
	if y := want["out"]; !slices.Equal(x[0], y.Row(0)[:len(x[0])]) {
		t.Error("the frames of the file are not those of the graph")
	}
}

func cut(line string) (int, bool) {
	const word = "recorded "
	if len(line) < len(word) || line[:len(word)] != word {
		return 0, false
	}
	n, err := strconv.Atoi(line[len(word):])
	return n, err == nil
}

// TestRecorderFull: what a disk is too slow for is lost as whole calls and counted.
func TestRecorderFull(t *testing.T) {
	r := &Recorder{Format: media.Format{Channels: 2}, ring: newRing(10)}
	if !r.Put(make([]float32, 6)) || r.Put(make([]float32, 6)) || !r.Put(make([]float32, 4)) || r.Lost() != 3 {
		t.Errorf("%d frames lost, want 3", r.Lost())
	}
}

// TestRates: devices of other rates than the graph's are resampled on both sides.
func TestRates(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "in.wav"), filepath.Join(dir, "out.wav")
	x := make([]float32, 44100)
	for i := range x {
		x[i] = float32(i%441) / 441
	}
	if err := media.WriteFile(src, media.Format{Rate: 44100, Channels: 1, Float: true}, func(w *media.Writer) error { return media.Write(w, [][]float32{x}) }); err != nil {
		t.Fatal(err)
	}
	for _, rate := range []int{44100, 48000, 96000, 22050} {
		in, out, shared, err := OpenDevice(&Config{Name: "file:free=" + src, Rate: 48000, Channels: 1, Block: 64}, &Config{Name: "file:free=" + dst, Rate: rate, Channels: 1, Block: 64})
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlayer(open(t, through, 64), Setup{In: in, Input: "in", Out: out, Output: "out", Shared: shared, SampleRate: 48000, Free: true})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := p.Run(context.Background()); err != nil {
			t.Fatalf("%v, %+v", err, r)
		}
		y, f, err := media.ReadFile[float32](dst)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(y[0]); f.Rate != rate || n < rate-rate/100 || n > rate+rate/100 {
			t.Errorf("%d Hz: %v, %d frames of a second", rate, f, n)
		}
	}
}
