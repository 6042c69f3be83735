package conform

import (
	"atenia/quila/internal/weights"
	"math"
)

// boundaryRows are the rows of what lies between symbols and
// the grid: position codes, codes of text, pictures and sound, the frozen
// codebook, and the consistency model.
func boundaryRows() []experiment {
	return []experiment{
		{ID: "ROPE-1D", Section: "4.4", What: "text: RoFormer's formula in float64, orthogonal, relative", Check: rope1D},
		{ID: "ROPE-2D", Section: "4.4", What: "images and sound: R_row ⊗ R_col explicitly, relative in both axes", Check: rope2D},
		{ID: "ROPE-3D", Section: "4.4", What: "video: R_t ⊗ R_row ⊗ R_col; one frame is a picture", Check: rope3D},
		{ID: "ROPE-GRAD", Section: "4.4", What: "gradient of every base against differences", Check: ropeGrad},
		{ID: "ROPE-AFTER", Section: "4.4", What: "positions turn what was looked up, never the code", Check: ropeAfter},
		{ID: "REQ-7.2.1a", Section: "4.1", What: "own tensors for time, row and column; a step on pictures leaves time as it is", Check: ownTime},
		{ID: "REQ-7.2.1b", Section: "4.1", What: "video of one pixel: no gradient of row and column; of one frame: none of time", Check: onePixel},
		{ID: "VQ-EXACT", Section: "4.8", What: "text: decode(encode(x)) = x for all bytes, through the rows too", Check: exactText},
		{ID: "VQ-UNIF", Section: "4.8", What: "uniformisation raises perplexity, squared error at most 5 %", Check: uniformity},
		{ID: "VQ-IMG", Section: "4.8", What: "pictures: 2 dB above k-means of patches, perplexity, dead codes", Slow: true, Check: pictures},
		{ID: "VQ-AUD", Section: "4.8", What: "the same of sound, as log-mel pictures of tones", Slow: true, Check: sounds},
		{ID: "VQ-EMA", Section: "4.8", What: "short form of VQ-IMG: rows follow their means, dead ones are revived, the loss falls, reproducible", Check: learning},
		{ID: "XMODAL", Section: "4.4", What: "aligned pairs of pictures and sounds: the nearest means the same", Slow: true, Check: aligned},
		{ID: "INV-1", Section: "4.2", What: "only four callers use a codebook, and are counted", Check: callers},
		{ID: "INV-4", Section: "4.2", What: "a frozen codebook takes no write and keeps its hash", Check: frozen},
		{ID: "REQ-6.3.1a", Section: "4.1", What: "teacher first, loss falls, moving target; without teacher CT and a warning", Check: distilled},
		{ID: "REQ-6.3.1b", Section: "4.1", What: "one step ≤ 0.8 × Wiener, two steps within .2 of ODE-18, one value along a trajectory", Check: oneStep},
	}
}

// drawnNormals returns standard normal numbers that depend on the tick alone.
func drawnNormals(n int, tick uint64) []float64 {
	x := make([]float64, n)
	weights.Stream{Seed: 21, Neuron: 1, Tick: tick, Site: weights.Play}.Normal(x)
	return x
}

// furthest is the largest difference of two slices.
func furthest[F float32 | float64](a []F, b []float64) (d float64) {
	for i, v := range b {
		d = math.Max(d, math.Abs(float64(a[i])-v))
	}
	return d
}

func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}
