package stores

import (
	"testing"

	"atenia/quila/internal/conform/conformtest"
)

// TestConformance runs the rows.
func TestConformance(t *testing.T) { conformtest.Run(t, Rows()) }
