package boundaries

import (
	"math"

	"atenia/quila/internal/codebook"
	"atenia/quila/internal/conform"
	"atenia/quila/internal/random"
	"atenia/quila/internal/vqgan"
)

func pictures(t *conform.T) {}
func aligned(t *conform.T)  {}

var _ = math.Pi
var _ = codebook.Encoder
var _ = random.Init
var _ = vqgan.Side
