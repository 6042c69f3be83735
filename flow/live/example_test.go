package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"atenia/flow"
	"atenia/flow/graph"
	"atenia/flow/live"
	"atenia/flow/media"
)

// A tone is played on a device, here one that swallows it, and recorded.
func Example() {
	if err := tone(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 100 blocks, 0 xruns
	// wav, 48000 Hz, 1 channels, 32 bit float: 6400 frames
}

func tone() error {
	plan, err := graph.Parse([]byte(`{"nodes": [{"name": "tone", "type": "LFO"}, {"name": "out", "type": "Probe"}], "edges": [{"source": "tone", "target": "out"}]}`))
	if err != nil {
		return err
	}
	s, err := flow.New[float32](plan, flow.Options{BlockFrames: 64})
	if err != nil {
		return err
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	take, err := live.Record(filepath.Join(dir, "take.wav"), media.Format{Rate: 48000, Channels: 1})
	if err != nil {
		return err
	}
	_, out, _, err := live.OpenDevice(nil, &live.Config{Name: "null:free", Rate: 48000, Channels: 1, Block: 64})
	if err != nil {
		return err
	}
	p, err := live.NewPlayer(s, live.Setup{Out: out, Output: "out", SampleRate: 48000, Blocks: 100, Free: true, Taps: []live.Tap{{Node: "out", To: take}}})
	if err != nil {
		return err
	}
	r, err := p.Run(context.Background())
	if err != nil {
		return err
	}
	if err := take.Close(); err != nil {
		return err
	}
	fmt.Printf("%d blocks, %d xruns\n%v: %d frames\n", r.Blocks, r.OutXruns, take.Format, take.Frames())
	return nil
}
