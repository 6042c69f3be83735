package school

import (
	"context"

	"atenia/grad"
	"atenia/quila/config"
	"atenia/quila/internal/network"
)

// Learning rates of the baselines, the best of those tried [R-2.3c].
const (
	gruRate         = 6e-3
	transformerRate = 3e-3
)

// GRU is a GRU of about so many weights, or of a width if that is not 0, with
// its own rate in the recipe.
func GRU(weights, width, codes int, r Recipe, seed uint64, threads *grad.Threads) (Pupil, Recipe) {
	if width == 0 {
		width = gruWidth(weights, codes)
	}
	r.Rate = gruRate
	return onTape("gru", newGRU[float32](width, codes, seed, threads)), r
}

// ReadingGRU is a GRU of a width with the reader of a network.
func ReadingGRU(width int, c config.Config, r Recipe, seed uint64, threads *grad.Threads) (Pupil, Recipe) {
	r.Rate = gruRate
	return onTape("gru+reader", newReadingGRU[float32](width, c, seed, threads)), r
}

// Transformer is a decoder of about so many weights, with its own rate in the
// recipe.
func Transformer(weights, codes int, r Recipe, seed uint64, threads *grad.Threads) (Pupil, Recipe) {
	r.Rate = transformerRate
	return onTape("transformer", newTransformer[float32](transformerWidth(weights, codes), codes, seed, threads)), r
}

// onTape makes a pupil of a baseline.
func onTape(name string, n *baselineNet[float32]) Pupil {
	return Pupil{Name: name, Params: n.Params(), Open: func(batch int, learn bool) Stream { return n.Open(batch, learn) }}
}

// Counted is the score of an order-5 Kneser–Ney model that has counted the first
// tokens of a text.
func Counted(text, validation []byte, tokens, symbols int) Score {
	k := newKneserNey(text[:min(tokens, len(text))], symbols)
	return scoreOf(validation, func(each func(i int, bits float64)) { k.Bits(validation, 0, each) })
}

// Network is a network as a pupil.
func Network(n *network.Network[float32]) Pupil {
	return Pupil{
		Name: n.Config.Name, Params: n.Params(),
		Open: func(batch int, learn bool) Stream { return n.Open(batch, learn) },
		Stepped: func(_ context.Context, s Stream) error {
			n.Spread(s.(*network.Stream[float32]))
			n.Changed()
			return nil
		},
		Extra: n.Fixed(), Loaded: n.Replaced,
	}
}
