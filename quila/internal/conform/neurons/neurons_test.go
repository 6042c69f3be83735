package neurons

import (
	"testing"

	"atenia/quila/internal/conform/conformtest"
)

// TestConformance runs every row.
func TestConformance(t *testing.T) { conformtest.Run(t, Rows()) }
