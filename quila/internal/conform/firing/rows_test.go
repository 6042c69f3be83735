package firing_test

import (
	"testing"

	"atenia/quila/internal/conform/conformtest"
	"atenia/quila/internal/conform/firing"
)

// TestConformance runs every row of this package.
func TestConformance(t *testing.T) { conformtest.Run(t, firing.Rows()) }
