package bench

import (
	"context"

	"atenia/internal/bench/tower"
)

// An ImageConfig configures [Images], and an ImageReport is what it found.
type (
	ImageConfig = tower.Config
	ImageReport = tower.Report
)

// Images measures how fast the model in a file or folder reads images, see
// [tower.Run].
func Images(ctx context.Context, path string, c ImageConfig) (*ImageReport, error) {
	return tower.Run(ctx, path, c)
}
