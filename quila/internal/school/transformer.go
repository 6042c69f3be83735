package school

import (
	"fmt"

	"atenia/grad"
)

const (
	transformerLayers = 6
	transformerHeads  = 4
	transformerSpan   = 256 // positions
	normEpsilon       = 1e-5
)

// Places of a layer's parameters, after the embedding and the positions.
const (
	layerNorm1 = iota
	layerBias1
	layerQKV
	layerQKVBias
	layerOut
	layerOutBias
	layerNorm2
	layerBias2
	layerUp
	layerUpBias
	layerDown
	layerDownBias

	layerParams
)

// transformerSize is how many weights a transformer of that width has.
func transformerSize(width, codes int) int {
	return codes*width + transformerSpan*width + transformerLayers*(12*width*width+13*width) + codes*(width+1)
}

// transformerWidth is the multiple of the heads whose transformer is nearest to
// so many weights.
func transformerWidth(weights, codes int) int {
	const unit = transformerHeads
	width := unit
	for transformerSize(width+unit, codes) <= weights {
		width += unit
	}
	if transformerSize(width+unit, codes)-weights < weights-transformerSize(width, codes) {
		width += unit
	}
	return width
}

// newTransformer makes a decoder of six layers and four heads with random
// weights. A window longer than 256 steps is an error.
func newTransformer[F grad.Float](width, codes int, seed uint64, threads *grad.Threads) *baselineNet[F] {
	n := &baselineNet[F]{Codes: codes, seed: seed, threads: threads, sorted: true}
	n.add("embed", normal(1), codes, width)
	n.add("position", normal(.02), transformerSpan, width)
	for i := range transformerLayers {
		layer := func(name string, fan1 float64, shape ...int) {
			if fan1 == 0 {
				n.add(fmt.Sprintf("%d.%s", i, name), nil, shape...)
				return
			}
			n.add(fmt.Sprintf("%d.%s", i, name), uniform(fan1), shape...)
		}
		gain := func(name string) { n.add(fmt.Sprintf("%d.%s", i, name), ones, width) }
		gain("norm1")
		layer("norm1.bias", 0, width)
		layer("qkv", 1.2247*fan(2*width), 3*width, width) // Xavier: √(6/(in+out))
		layer("qkv.bias", 0, 3*width)
		layer("out", fan(width), width, width)
		layer("out.bias", 0, width)
		gain("norm2")
		layer("norm2.bias", 0, width)
		layer("up", fan(width), 4*width, width)
		layer("up.bias", fan(width), 4*width)
		layer("down", fan(4*width), width, 4*width)
		layer("down.bias", fan(4*width), width)
	}
	n.add("head", uniform(fan(width)), codes, width)
	n.add("head.bias", uniform(fan(width)), codes)
	n.record = func(s *BaselineStream[F], t *grad.Tape[F], batch, steps int) grad.Ref {
		return s.recordTransformer(t, batch, steps, width)
	}
	return n
}

func (s *BaselineStream[F]) recordTransformer(t *grad.Tape[F], batch, steps, width int) grad.Ref {
	positions := make([]int32, batch*steps)
	s.lens = s.lens[:0]
	for b := range batch {
		s.lens = append(s.lens, steps)
		for i := range steps {
			positions[b*steps+i] = int32(i)
		}
	}
	x := t.Add(t.Embed(s.refs[0], s.ids), t.Embed(s.refs[1], positions))
	linear := func(x grad.Ref, w []grad.Ref) grad.Ref { return t.AddRow(t.MatMulT(x, w[0]), w[1]) }
	for i := range transformerLayers {
		if t.Err() != nil {
			return 0
		}
		w := s.refs[2+i*layerParams:][:layerParams]
		qkv := linear(layerNorm(t, x, w[layerNorm1], w[layerBias1], width), w[layerQKV:])
		x = t.Add(x, linear(attention(t, qkv, s.lens, width), w[layerOut:]))
		up := linear(layerNorm(t, x, w[layerNorm2], w[layerBias2], width), w[layerUp:])
		x = t.Add(x, linear(gelu(t, up), w[layerDown:]))
	}
	return linear(x, s.refs[len(s.refs)-2:])
}
