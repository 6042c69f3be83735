// Effects writes a sound that needs some, and the plan of a chain of effects for
// it: README.md runs them.
package main

import (
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"atenia/flow/graph"
	"atenia/flow/media"
)

// rate is in frames a second.
const rate = 48000

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		log.Fatal(err)
	}
	if err := write(dir); err != nil {
		log.Fatal(err)
	}
}

// write makes dry.wav and effects.json in a folder.
func write(dir string) error {
	if _, err := graph.Parse([]byte(plan)); err != nil {
		return err
	}
	sound := pluck()
	path := filepath.Join(dir, "dry.wav")
	format := media.Format{Rate: rate, Channels: 1, Bits: 24}
	if err := media.WriteFile(path, format, func(w *media.Writer) error { return media.Write(w, [][]float64{sound}) }); err != nil {
		return err
	}
	fmt.Printf("%s: %.1f s of plucked strings\n", path, float64(len(sound))/rate)
	path = filepath.Join(dir, "effects.json")
	if err := os.WriteFile(path, []byte(plan), 0o666); err != nil {
		return err
	}
	fmt.Println(path)
	return nil
}

// pluck plays a few notes (Karplus and Strong, Digital synthesis of plucked
// string and drum timbres, 1983).
func pluck() []float64 {
	r := rand.New(rand.NewPCG(5, 8))
	out := make([]float64, 4*rate)
	for i, note := range []float64{110, 164.81, 220, 277.18, 329.63, 440, 329.63, 220} {
		string := make([]float64, int(math.Round(rate/note)))
		for k := range string {
			string[k] = r.Float64() - 0.5
		}
		start := i * rate * 2 / 5
		for k := range out[start:] {
			at, next := k%len(string), (k+1)%len(string)
			out[start+k] += 0.5 * string[at]
			string[at] = 0.4985 * (string[at] + string[next])
		}
	}
	return out
}
