package config

import "fmt"

// meanIterations is how often stream D iterates at middling confidence.
const meanIterations = 3

// work computes multiply-accumulates and floating-point operations.
func (c *Config) work(b *Budget) {
	d, h, n := int64(c.D), int64(c.H), int64(c.N)
	b.MACMessages = int64(c.Deg) * h * h
	b.MACConv = 64 * h * h
	if c.R == 0 {
		b.MACWIn = d * h * h
	} else {
		b.MACWIn = int64(c.R) * (int64(c.D1)*h*h + int64(c.D1)*h*int64(c.D2))
	}
	groups, steps := d/int64(c.G), int64(1)
	if c.SSM == "window" {
		steps = 9
	}
	attention := 3*d*d + 2*groups*d
	scan := steps * (2*d*int64(c.DT()) + 5*d*int64(c.NS))
	drc := 2 * d * d * int64(min(meanIterations, c.DRCMax))
	cm := (d+1)*2*d + 2*d*d
	b.MACStreams = attention + 3*d*d + scan + drc + cm
	b.MACIndex = int64(c.HNSWEF*c.HNSWM) * d
	b.TickFLOP = 2 * float64(b.neuronMAC()) * float64(b.Firing)
	ports := float64(2*c.Thinkers + 1)
	of := func(products float64) float64 { return 2 * products * float64(d*d) * float64(n) }
	b.PortFLOP, b.PortLean, b.PortShared = of(3*ports), of(2*ports), of(2*3)
	b.TokenFLOP = float64(c.K)*b.TickFLOP + b.PortFLOP
}

// neuronMAC is the work of a firing neuron.
func (b *Budget) neuronMAC() int64 {
	return b.MACMessages + b.MACConv + b.MACWIn + b.MACStreams + b.MACIndex
}

// describe lists every figure with its reason.
func (c *Config) describe(b *Budget) {
	n := &b.Counts
	add := func(group, name string, v float64, unit, format string, args ...any) {
		b.Lines = append(b.Lines, Line{group, name, v, unit, fmt.Sprintf(format, args...)})
	}
	w := func(name string, v int64, format string, args ...any) {
		add("weights", name, float64(v), "weights", format, args...)
	}
	if c.R == 0 {
		w("W_in of a neuron", n.WIn, "D·H² = %d·%d²", c.D, c.H)
	} else {
		w("W_in of a neuron", n.WIn, "%d terms, a left factor %d×%d and a right one %d×%d each", c.R, c.D1, c.H, c.D2, c.H)
	}
	w("NSA of a neuron", n.NSA, "3·D²: query, key, value")
	w("RWKV of a neuron", n.RWKV, "3·D² + D: r, k, v and the decay")
	w("DRC of a neuron", n.DRC, "2·D²: prediction and correction")
	w("SSM of a neuron", n.SSM, "2·D·%d + 3·D·%d + 2·D: time step, A, B, C, its bias, the skip", c.DT(), c.NS)
	w("other of a neuron", n.Other, "k_in 64, b_in %d, W_gate %d, mHC 4, α_fxaa 1, ρ 1, W_conf %d, wout_proto %d", c.D, 4*c.D, c.D, c.WOutLen())
	w("a neuron", n.PerNeuron, "the sum of the above")
	w("neurons", n.Neurons, "× N = %d", c.N)
	w("edges", n.Edges, "%d edges × (W_out %d + kernel %d×%d)", b.Edges, c.WOutLen(), c.Kappa, c.Kappa)
	w("ports with attention", n.Ports, "%d × %d", 2*c.Thinkers+1, n.PerPort)
	w("consistency model", n.CM, "the network and its moving average, shared by all neurons")
	w("codebooks", n.Codebooks, "%d × %d × %d", c.Modalities, c.V, c.DE)
	w("all weights", n.Total, "what a model file counts; heads and slot projections, less than 1 M, are outside the sum")
	w("VQ-GAN networks", 0, "0 until their shape is configured; text needs none")

	y := func(name string, v int64, format string, args ...any) {
		add("bytes", name, float64(v), "bytes", format, args...)
	}
	y("weights", b.Weights16, "half precision")
	y("edges", b.EdgeBytes, "half precision, part of the weights")
	y("Adam moments", b.Adam32, "two float32 a weight")
	y("gradients", b.Gradients32, "float32")
	y("state of neurons", b.StateBytes, "S1 to S6 and S8, %d bytes a neuron", stateBytes)
	y("ring of h_final", b.RingBytes, "%d ticks, the longest a message waits to be read", b.RingTicks)
	y("messages, if kept", b.Materialised, "%d of %d bytes a tick; 0 with receivers that remake them", b.Messages, b.MessageBytes)
	y("B maps, if kept", b.DenseMaps, "N·H² float32")
	y("library entries", b.KFEBytes, "%d entries of 2·%d half-precision numbers stand for %d billion weights", b.KFEEntries, c.D, int64(libraryWeights/1_000_000_000))
	y("library index", b.KFELinks, "about %d bytes of links and label an entry", linkBytes)
	y("library fields", b.KFEFields, "about %d bytes an entry", fieldBytes)
	y("Engram", b.EngramBytes, "2^%d rows of %d half-precision numbers", c.EngramBits, c.D)
	add("bytes", "entries of a neuron", float64(b.KFEPerNeuron), "entries", "entries ÷ N, rounded up")

	m := func(name string, v int64, format string, args ...any) {
		add("work", name, float64(v), "MAC", format, args...)
	}
	m("messages of a neuron", b.MACMessages, "%d incoming, H² each", c.Deg)
	m("receiver kernel", b.MACConv, "8×8 over H×H")
	m("W_in", b.MACWIn, "left factors, then right ones")
	m("streams and consistency model", b.MACStreams, "A, B, C, D at %d iterations, one pass of the model", min(meanIterations, c.DRCMax))
	m("library search", b.MACIndex, "%d candidates × %d links × D", c.HNSWEF, c.HNSWM)
	m("a firing neuron", b.neuronMAC(), "the sum of the above")
	f := func(name string, v float64, unit, format string, args ...any) {
		add("work", name, v, unit, format, args...)
	}
	f("a tick", b.TickFLOP, "FLOP", "%d neurons fire: %g of %d", b.Firing, c.ActiveCap, c.N)
	f("ports, a token", b.PortFLOP, "FLOP", "scans of %d ports over %d neurons", 2*c.Thinkers+1, c.N)
	f("ports, r of the last element alone", b.PortLean, "FLOP", "suggestion: only the last r is used")
	f("ports, W_k and W_v shared by kind", b.PortShared, "FLOP", "suggestion: three kinds of port")
	f("a token", b.TokenFLOP, "FLOP", "%d ticks and the ports", c.K)
	f("a token of training", 3*b.TokenFLOP, "FLOP", "forward and backward")
	f("compared with a dense transformer", b.TokenFLOP/(2*float64(n.Total)), "×", "2 FLOP a weight a token")

	t := func(name string, v float64, unit, format string, args ...any) {
		add("time", name, v, unit, format, args...)
	}
	const day = 86400
	t("a token on one H100", b.TokenFLOP/deviceFLOPS, "s", "at 400 TFLOP/s sustained")
	t("a token on one H100, alone", float64(b.Weights16)*min(1, c.ActiveCap*float64(c.K))/deviceBandwidth, "s", "reads the weights of the %.0f %% of neurons that fire, at 3.35 TB/s", 100*min(1, c.ActiveCap*float64(c.K)))
	t("1 billion tokens of training on one H100", 3e9*b.TokenFLOP/deviceFLOPS/day, "days", "at 400 TFLOP/s sustained")
	t("replay of 128 M tokens on one H100", replayTokens*b.TokenFLOP/deviceFLOPS/day, "days", "%.1e FLOP", replayTokens*b.TokenFLOP)
	t("a token on one processor core", b.TokenFLOP/boxFLOPS, "s", "at 100 GFLOP/s")
}
