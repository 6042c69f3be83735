//go:build linux && !static

package live

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"atenia/flow/media"
	"atenia/internal/golden/await"
)

// serve starts a JACK server without hardware, which waits for its clients.
func serve(t *testing.T, period int) *exec.Cmd {
	t.Helper()
	jackd, err := exec.LookPath("jackd")
	need(t, err)
	_, err = libjack()
	need(t, err)
	name := fmt.Sprintf("atenia-%d-%d", os.Getpid(), period)
	setenv(t, "JACK_DEFAULT_SERVER", name)
	said := new(bytes.Buffer)
	start := func() *exec.Cmd {
		c := exec.Command(jackd, "-S", "-r", "-n", name, "-d", "dummy", "-r", "48000", "-p", fmt.Sprint(period))
		c.Env = append(os.Environ(), "JACK_NO_AUDIO_RESERVATION=1")
		c.Stdout, c.Stderr = said, said
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	answers := func() {
		defer func() {
			if t.Failed() {
				t.Logf("the server says:\n%s", said)
			}
		}()
		await.Until(t, "an answer of the server", func() bool {
			x, err := (jack{}).client()
			if err == nil {
				x.shut()
			}
			return err == nil
		})
	}
	// A server that is interrupted gives back its place, one that is killed does not: a machine has eight, and only a
	// server of the same name takes the place of a dead one.
	end := func(c *exec.Cmd) {
		_ = c.Process.Signal(os.Interrupt)
		late := time.AfterFunc(5*time.Second, func() { _ = c.Process.Kill() })
		_ = c.Wait()
		late.Stop()
	}
	c := start()
	t.Cleanup(func() {
		end(c)
		if !c.ProcessState.Exited() {
			c = start()
			answers()
			end(c)
		}
	})
	answers()
	return c
}

// looped is a plan whose output is a tone, and whose input is recorded.
const looped = `{"nodes": [{"name": "in", "type": "Input"}, {"name": "heard", "type": "Probe"}, {"name": "tone", "type": "LFO", "params": {"frequency_hz": 441, "phase": 0.1}}, {"name": "out", "type": "Probe"}],
	"edges": [{"source": "in", "target": "heard"}, {"source": "tone", "target": "out"}]}`

// play runs looped on JACK, its output connected to its input, and returns what came and what went.
func playJACK(t *testing.T, block int, blocks int64, during func([]Tap)) (heard, out []float32, r Report, err error) {
	t.Helper()
	i, o, shared, err := OpenDevice(&Config{Name: "jack:atenia:out", Rate: 48000, Channels: 1, Block: block}, &Config{Name: "jack:none", Rate: 48000, Channels: 1, Block: block})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var taps []Tap
	for _, name := range []string{"heard", "out"} {
		to, err := Record(filepath.Join(dir, name+".wav"), media.Format{Rate: 48000, Channels: 1})
		if err != nil {
			t.Fatal(err)
		}
		taps = append(taps, Tap{name, to})
	}
	p, err := NewPlayer(open(t, looped, block), Setup{In: i, Input: "in", Out: o, Output: "out", Shared: shared, SampleRate: 48000, Blocks: blocks, Taps: taps})
	if err != nil {
		t.Fatal(err)
	}
	if during != nil {
		go during(taps)
	}
	r, err = p.Run(context.Background())
	var all [2][]float32
	for k, tap := range taps {
		if e := tap.To.Close(); e != nil {
			t.Fatal(e)
		}
		x, _, e := media.ReadFile[float32](tap.To.Path)
		if e != nil {
			t.Fatal(e)
		}
		all[k] = x[0]
	}
	return all[0], all[1], r, err
}

// TestJACK: what a client plays comes back to it through a JACK server as it is, one period later if its block is the
// period, and with the frames ahead that another block needs.
func TestJACK(t *testing.T) {
	// A server that has begun its next cycle when a client closes waits 5 s for it, and a client's last cycle is over
	// long before the end of a period of this length. The frames are whole patterns of each block among the periods.
	const period = 1024
	serve(t, period)
	if list, err := (jack{}).List(); err != nil || len(list) != 1 || !strings.Contains(list[0].Text, "period 1024") {
		t.Errorf("%v, %v", list, err)
	}
	for _, block := range []int{1024, 256, 2048, 640, 1536} {
		heard, out, r, err := playJACK(t, block, int64(10*period/block), nil)
		if err != nil || r.Lost != 0 {
			t.Fatalf("%v, %+v", err, r)
		}
		first := slices.IndexFunc(heard, func(x float32) bool { return x != 0 })
		if want := period + r.RoundTrip; first != want || block == period && first > 2*block {
			t.Errorf("block %d: frame 0 comes back as frame %d, want %d", block, first, want)
			continue
		}
		if !slices.Equal(heard[first:], out[:len(out)-first]) {
			t.Errorf("block %d: other frames come back (%d xruns)", block, r.InXruns+r.OutXruns)
		}
	}
	if _, _, _, err := OpenDevice(nil, &Config{Name: "jack:no such port", Rate: 48000, Channels: 1, Block: 64}); err == nil {
		t.Error("a port that is not there was connected")
	}
}

// TestJACKServerKilled: a server that ends is an error that says so, and everything played before is recorded.
func TestJACKServerKilled(t *testing.T) {
	server := serve(t, 128)
	heard, _, r, err := playJACK(t, 128, 0, func(taps []Tap) {
		await.Until(t, "something in the file", func() bool { return taps[0].To.Frames() > 0 })
		_ = server.Process.Kill()
	})
	if err == nil || !strings.Contains(err.Error(), "server has ended") {
		t.Errorf("%v", err)
	}
	if len(heard) == 0 || int64(len(heard)) != r.Blocks*128 {
		t.Errorf("%d frames recorded of %d blocks", len(heard), r.Blocks)
	}
}
