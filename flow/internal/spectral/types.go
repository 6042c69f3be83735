package spectral

import (
	"atenia/flow/graph"
	"atenia/flow/node"
)

// waiting bounds the frames of features that are kept until the end of the
// stream: by default five minutes at 100 frames a second.
var waiting = node.Setting{Name: "most_frames", Least: 1, Most: 1 << 20, Value: 30000}

// Types returns the table of the spectral types.
func Types() node.Table {
	ports := func(t node.Type) node.Type {
		t.Ins, t.Outs = []string{"in"}, []string{"out"}
		return t
	}
	transform := func(name, doc string, windowed bool) node.Type {
		t := node.Type{Name: name, Doc: doc, Settings: blockSettings, Adjoint: true, Jacobian: graph.Toeplitz,
			Refine: refineForward(windowed), New32: newForward[float32](windowed), New64: newForward[float64](windowed)}
		if windowed {
			t.Settings = windowSettings
		}
		return ports(t)
	}
	back := func(name, doc string, windowed bool) node.Type {
		t := transform(name, doc, windowed)
		t.Refine, t.New32, t.New64 = refineInverse(windowed), newInverse[float32](windowed), newInverse[float64](windowed)
		return t
	}
	within := func(t node.Type) node.Type {
		t.Jacobian = graph.Block
		return t
	}
	return node.Table{
		within(transform("FFT", "spectrum of each block of n_fft frames", false)),
		within(back("IFFT", "n_fft frames of each spectrum", false)),
		transform("STFT", "spectrum of the last n_fft frames, every hop", true),
		back("ISTFT", "overlap-add of windowed inverses, hop frames per spectrum; delayed by n_fft - hop", true),
		ports(node.Type{Name: "Mel", Doc: "energies of mel bands of a spectrum; input complex or power", Adjoint: true, Jacobian: graph.Block,
			Settings: []node.Setting{{Name: "input", Among: []string{"complex", "power"}}},
			Refine:   refineMel, New32: newMel[float32], New64: newMel[float64]}),
		{Name: "SpectralLoss", Doc: "mean over bins and channels of (m-m')^2 + (ln m - ln m')^2, magnitudes of in and target every hop frames; " +
			"summed over the n_fft that sizes lists, as in 2048 1024 512; distance absolute: |m-m'| + |ln m - ln m'|",
			Ins: []string{"in", "target"}, Outs: []string{"out"}, Adjoint: true, Jacobian: graph.Banded, Settings: lossSettings,
			Refine: refineLoss, New32: newLoss[float32], New64: newLoss[float64]},
		ports(node.Type{Name: "LogMel", Adjoint: true, Dynamic: true, Settings: []node.Setting{waiting},
			Doc: "log mel features, one frame per hop; preset whisper, torchaudio, librosa or kaldi, and overrides; " +
				"peak global clamps to the maximum of the whole stream, whose frames then come at its end",
			Refine: refineFeatures, New32: newFeatures[float32], New64: newFeatures[float64]}),
		ports(node.Type{Name: "MFCC", Doc: "cosine transform of LogMel over the bands", Adjoint: true, Dynamic: true,
			Settings: []node.Setting{{Name: "n_mfcc", Least: 1, Value: 13}, waiting},
			Refine:   refineFeatures, New32: newFeatures[float32], New64: newFeatures[float64]}),
	}
}
