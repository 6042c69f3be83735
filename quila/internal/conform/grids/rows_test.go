package grids_test

import (
	"testing"

	"atenia/quila/internal/conform/conformtest"
	"atenia/quila/internal/conform/grids"
)

// TestConformance runs every row of this package.
func TestConformance(t *testing.T) { conformtest.Run(t, grids.Rows()) }
