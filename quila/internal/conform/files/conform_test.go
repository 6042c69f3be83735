package files

import (
	"context"
	"testing"

	"atenia/quila/internal/conform"
	"atenia/quila/internal/conform/conformtest"
	"atenia/quila/internal/sxlm"
)

// TestConformance runs the rows.
func TestConformance(t *testing.T) {
	conformtest.Run(t, Rows())
}

// TestVectors runs every damaged file of section 6.4 by name.
func TestVectors(t *testing.T) {
	var good []byte
	row := conform.Row{Check: func(t *conform.T) { good = written(t, nano(t), sxlm.Options{}) }}
	if res := row.Run(context.Background(), conform.Options{Brief: true}); res.State != conform.Pass {
		t.Fatal(res.Faults)
	}
	for _, v := range vectors() {
		t.Run(v.name, func(t *testing.T) {
			if err := v.check(good); err != nil {
				t.Error(err)
			}
		})
	}
}
