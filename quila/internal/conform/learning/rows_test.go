package learning

import (
	"testing"

	"atenia/quila/internal/conform/conformtest"
)

// TestConformance runs every row. The slow ones take minutes.
func TestConformance(t *testing.T) { conformtest.Run(t, Rows()) }
