package plans_test

import (
	"testing"

	"atenia/quila/internal/conform/conformtest"
	"atenia/quila/internal/conform/plans"
)

// TestConformance runs the rows of this package.
func TestConformance(t *testing.T) { conformtest.Run(t, plans.Rows()) }
