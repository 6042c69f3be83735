package media_test

import (
	"fmt"
	"os"
	"path/filepath"

	"atenia/flow"
	"atenia/flow/media"

	"atenia/flow/graph"
)

// A plan names the sound that it plays.
func Example_files() {
	dir, err := os.MkdirTemp("", "files")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	err = media.WriteFile(filepath.Join(dir, "step.wav"), media.Format{Rate: 8000, Channels: 1}, func(w *media.Writer) error {
		return media.Write(w, [][]float32{{0.5, 0.5, -0.5}})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := graph.Parse([]byte(`{"nodes": [
		{"name": "step", "type": "WavSource", "params": {"file": "step.wav"}}, {"name": "half", "type": "Gain", "params": {"gain": 0.5}},
		{"name": "out", "type": "Probe"}],
		"edges": [{"source": "step", "target": "half"}, {"source": "half", "target": "out"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := media.OpenFiles(p, dir, 0) // before the plan is linked: it gives it channels
	if err != nil {
		fmt.Println(err)
		return
	}
	defer all.Close()
	s, err := flow.New[float32](p, flow.Options{SampleRate: all.Rate, BlockFrames: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for _, src := range all.Sources {
		in, err := s.Input(src.Node.Name)
		if err != nil {
			fmt.Println(err)
			return
		}
		n, err := media.Feed(src, in)
		fmt.Println(src.Node.Name, n, err)
	}
	err = s.Block()
	out, _ := s.Probe("out")
	fmt.Println(out.Row(0), all.Rate, err)
	// Output:
	// step 3 <nil>
	// [0.25 0.25 -0.25 0] 8000 <nil>
}
