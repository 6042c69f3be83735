package school

import (
	"atenia/grad"
	"atenia/quila/config"
)

// What tests from outside see.

type BaselineNet[F grad.Float] = baselineNet[F]

var (
	ErrCheckpoint    = errCheckpoint
	ErrRecipe        = errRecipe
	GRUWidth         = gruWidth
	NewKneserNey     = newKneserNey
	TransformerWidth = transformerWidth
)

func NewGRU[F grad.Float](width, codes int, seed uint64, threads *grad.Threads) *BaselineNet[F] {
	return newGRU[F](width, codes, seed, threads)
}

func NewReadingGRU[F grad.Float](width int, c config.Config, seed uint64, threads *grad.Threads) *BaselineNet[F] {
	return newReadingGRU[F](width, c, seed, threads)
}

func NewTransformer[F grad.Float](width, codes int, seed uint64, threads *grad.Threads) *BaselineNet[F] {
	return newTransformer[F](width, codes, seed, threads)
}
