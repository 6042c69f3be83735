package kerneltest_test

import (
	"testing"

	"atenia/internal/kernel/kerneltest"
)

func TestMain(m *testing.M)          { kerneltest.Main(m) }
func TestForcedVariant(t *testing.T) { kerneltest.Forced(t) }
