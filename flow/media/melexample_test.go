package media_test

import (
	"fmt"
	"math"

	"atenia/flow/media"
)

// Features of a tone as the whisper models read them, and its loudest bin.
func ExampleMelFeatures() {
	s, err := media.MelPreset("whisper")
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := media.NewMelFeatures[float32](s)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]float32, 16000)
	for i := range x {
		x[i] = float32(math.Sin(2 * math.Pi * 1000 * float64(i) / 16000))
	}
	frames := f.Settings().Frames(len(x))
	y := f.Compute(nil, x)
	fmt.Println(frames, len(y)/frames)

	power := f.Power(nil, x)
	loudest := 0
	for k := range len(power) / frames {
		if power[k*frames+frames/2] > power[loudest*frames+frames/2] {
			loudest = k
		}
	}
	fmt.Println(float64(loudest)*s.SampleRate/float64(s.FFT), "Hz")
	fmt.Println(len(media.Cepstrum(nil, y, 13, s.Mels))/frames, "coefficients")
	// Output:
	// 100 80
	// 1000 Hz
	// 13 coefficients
}
