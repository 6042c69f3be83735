package portrows

import (
	"testing"

	"atenia/quila/internal/conform/conformtest"
)

func TestConformance(t *testing.T) { conformtest.Run(t, Rows()) }
