package conform

import (
	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/network"
	"atenia/quila/internal/school"
)

// learningRows are the rows of training: the optimizer and where
// its moments live, what a checkpoint keeps, the gate before the library, and how
// well and how fast a nano learns (section 4.7, Req 5.1.1 and 16.1.1).
//
// Oracles are written out here and share nothing with what they check but the
// network itself.
func learningRows() []experiment {
	return []experiment{
		{ID: "OPT-S7", Section: "4.7", What: "ten steps of AdamW are those of the textbook", Check: optimizer},
		{ID: "S7-OFFLOAD", Section: "4.7", What: "moments that go through a quota of memory to files and back change no bit", Check: offloaded},
		{ID: "REQ-5.1.1a", Section: "4.1", What: "train 20 steps, save, load: S4 and S7 have the same bits, moments are not zero", Check: saved},
		{ID: "REQ-5.1.1b", Section: "4.1", What: "a call on a loaded model writes neither S4 nor S7", Check: readOnly},
		{ID: "REQ-16.1.1a", Section: "4.1", What: "100 steps of SFT: nothing is inserted in steps 0 to 9, allowed from step 10", Check: delayed},
		{ID: "REQ-16.1.1b", Section: "4.1", What: "forced triggers in steps 0 to 9 insert nothing; averages that are not finite keep the gate shut", Check: forced},
		{ID: "SFT-SMOKE", Section: "4.7", What: "at most 3.3 bits a character after 80 k tokens; every gradient is the slope of the loss", Check: smoke},
		{ID: "SFT-FP8", Section: "4.7", What: "messages in E4M3 cost at most .01 bits a character", Check: rounded},
		{ID: "SFT-NANO", Section: "4.7", What: "at most 1.70 bits at 461 k tokens and below an equal transformer", Slow: true, Check: nanoCurve},
		{ID: "SFT-NANO-L", Section: "4.7", What: "at most 1.32 bits at 461 k and 1.28 at 768 k tokens, below the GRU-320 at every mark", Slow: true, Check: nanoLong},
		{ID: "PERF-NANO", Section: "4.7", What: "2,000 tokens/s in training, 8,000 streaming 32 sessions: a figure", Check: speed},
	}
}

// newNano is a nano with the options that it is trained with, and its start of the
// bias per code.
func newNano(t *report, seed uint64, threads *grad.Threads) *network.Network[float32] {
	c, err := config.Profile("nano")
	t.Must(err)
	c.Training()
	n, err := network.New[float32](c, seed, threads)
	t.Must(err)
	return biased(n)
}

// biased starts the bias per code of a network from how often the text has it.
func biased(n *network.Network[float32]) *network.Network[float32] {
	usage := school.Usage(trainText())
	n.CodeBias(usage[:])
	return n
}

// tinyNetwork is a nano of two narrow neurons' width, for rows about steps and files.
func tinyNetwork(t *report, seed uint64) *network.Network[float32] {
	n, err := network.New[float32](tinyConfig(t), seed, nil)
	t.Must(err)
	return n
}

func tinyConfig(t *report) config.Config {
	c, err := config.Profile("nano")
	t.Must(err)
	c.D, c.DE, c.D1, c.D2, c.H, c.A, c.N, c.KP, c.G = 16, 16, 4, 4, 8, 4, 4, 4, 8
	c.Training()
	return c
}

// short is a recipe of small steps.
func short(steps int) school.Recipe {
	r := school.Recommended(steps)
	r.Batch, r.Window = 4, 12
	return r
}

func trainText() []byte { return school.ToyTrain().Text }
