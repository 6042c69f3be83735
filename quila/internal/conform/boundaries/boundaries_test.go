package boundaries

import (
	"testing"

	"atenia/quila/internal/conform/conformtest"
)

// TestConformance runs every row of the package.
func TestConformance(t *testing.T) { conformtest.Run(t, Rows()) }
