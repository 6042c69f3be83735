package signal_test

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"atenia/flow/graph"
	"atenia/flow/internal/flowtest"
	"atenia/flow/internal/signal"
	"atenia/flow/node"
)

func TestVADNode(t *testing.T) {
	for _, n := range []graph.Node{
		flowtest.Node("VAD", "n_fft", 30, "hop", 10, "noise_hops", 3, "noise_time", .001),
		flowtest.Node("VAD", "n_fft", 9, "hop", 9, "noise_hops", 1, "threshold", flowtest.Ramp(1, 2, 40, 0, 1), "on", flowtest.Ramp(2, 1, 40, .1, .3)),
	} {
		flowtest.CheckNode(t, signal.MeterTypes(), flowtest.Case{Node: n, In: []graph.Shape{{B: 2, C: 2}}})
	}
	bad := flowtest.Node("VAD", "n_fft", 8, "hop", 9)
	if _, err := signal.MeterTypes().Describe(&bad); err == nil {
		t.Error("a hop longer than the spectrum is accepted")
	}
}

// talk returns noise with bursts of a hummed sound of some harmonics whose pitch glides, at 8 kHz, and for each hop of 80
// frames whether a burst fills the last two.
func talk(r *rand.Rand, snr float64) (x []float64, spoken []int) {
	const noise, hop = 0.01, 80
	var voiced []bool
	for on := false; len(x) < 8000*20; on = !on {
		phase := 0.0
		pitch := 100 + 100*r.Float64()
		for range 2400 + r.IntN(4000) {
			v := noise * r.NormFloat64()
			if on {
				pitch += 0.01 * r.NormFloat64()
				phase += 2 * math.Pi * pitch / 8000
				for h := range 12 { // of amplitudes 1, 1/√2, …: a power of ½ Σ 1/h = 1.55
					v += noise * math.Pow(10, snr/20) / math.Sqrt(1.55) * math.Sin(float64(h+1)*phase) / math.Sqrt(float64(h+1))
				}
			}
			x, voiced = append(x, v), append(voiced, on)
		}
	}
	x = x[:len(x)/hop*hop]
	for k := range len(x) / hop {
		count := 0
		for _, on := range voiced[max(0, k-1)*hop : (k+1)*hop] {
			if on {
				count++
			}
		}
		spoken = append(spoken, map[int]int{0: 0, 2 * hop: 1}[count])
		if count > 0 && count < 2*hop {
			spoken[k] = -1 // in part
		}
	}
	return x, spoken
}

// detect runs a VAD at 8 kHz over spectra of 20 ms, every 10 ms.
func detect(t *testing.T, x []float64) (speech, probability []float64) {
	t.Helper()
	n := flowtest.Node("VAD", "n_fft", 160, "hop", 80)
	hops := len(x) / 80
	g := flowtest.NewRig[float64](t, signal.MeterTypes(), &n, 8000, []graph.Shape{{B: 1, C: 1}}, hops)
	y := g.Forward(t, []node.Tensor[float64]{{Data: x, B: 1, C: 1, N: len(x)}}, []int{hops})
	return y[0].Data, y[1].Data
}

// TestVAD: of bursts 10 dB over the noise, 95 % of the hops are found, and in 95 % of the others, without the hang-over
// of 100 ms after each burst, none is.
func TestVAD(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		x, spoken := talk(rand.New(rand.NewPCG(seed, 1999)), 10)
		speech, probability := detect(t, x)
		var found, voiced, wrong, silent float64
		since := 100
		for k, is := range spoken {
			if p := probability[k]; !(p >= 0 && p <= 1) || (p > 0.5) != (speech[k] == 1) {
				t.Fatalf("hop %d: probability %v, speech %v", k, p, speech[k])
			}
			switch since++; {
			case is == 1:
				voiced, found, since = voiced+1, found+speech[k], 0
			case is == 0 && since > 10:
				silent, wrong = silent+1, wrong+speech[k]
			}
		}
		if found < 0.95*voiced || wrong > 0.05*silent || voiced < 500 || silent < 500 {
			t.Errorf("seed %d: %v of %v hops of speech found, %v of %v others taken for speech", seed, found, voiced, wrong, silent)
		}
	}
}

// TestVADFormula compares with the formulas as the papers have them, written out with a plain Fourier sum.
func TestVADFormula(t *testing.T) {
	t.Parallel()
	x, _ := talk(rand.New(rand.NewPCG(9, 9)), 5)
	x = x[:80*150]
	_, got := detect(t, x)
	const size, hop, bins = 160, 80, 79
	variance, amplitude, before := make([]float64, bins), make([]float64, bins), make([]float64, bins)
	gamma, keep := 0.0, math.Exp(-hop/(8000*0.5))
	for k := range got {
		power := make([]float64, bins)
		for b := range power {
			var sum complex128
			for i := range size {
				if at := (k+1)*hop - size + i; at >= 0 {
					sum += cmplx.Rect(x[at]*(0.5-0.5*math.Cos(2*math.Pi*float64(i)/size)), -2*math.Pi*float64(b+1)*float64(i)/size)
				}
			}
			power[b] = real(sum)*real(sum) + imag(sum)*imag(sum)
		}
		want := 0.0
		if k < 10 {
			for b := range variance {
				variance[b] += (power[b] - variance[b]) / float64(k+1)
			}
		} else {
			ratio := 0.0
			for b := range variance {
				post := power[b] / variance[b]
				prior := 0.02 * math.Max(post-1, 0)
				if before[b] > 0 {
					prior += 0.98 * amplitude[b] * amplitude[b] / before[b]
				}
				prior = math.Max(prior, math.Pow(10, -2.5))
				ratio += (post*prior/(1+prior) - math.Log(1+prior)) / bins
				amplitude[b], before[b] = prior/(1+prior)*math.Sqrt(power[b]), variance[b]
			}
			gamma = (0.02 + 0.9*gamma) / (0.98 + 0.1*gamma) * math.Exp(ratio)
			want = gamma / (1 + gamma)
			for b := range variance {
				variance[b] = keep*variance[b] + (1-keep)*(want*variance[b]+(1-want)*power[b])
			}
		}
		if math.Abs(got[k]-want) > 1e-9 {
			t.Fatalf("hop %d: probability %v, want %v", k, got[k], want)
		}
	}
}
