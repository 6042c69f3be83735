package calls_test

import (
	"testing"

	"atenia/quila/internal/conform/calls"
	"atenia/quila/internal/conform/conformtest"
)

// TestConformance runs the rows of this package.
func TestConformance(t *testing.T) { conformtest.Run(t, calls.Rows()) }
