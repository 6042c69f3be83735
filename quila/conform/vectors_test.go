package conform

import (
	"context"
	"testing"

	"atenia/quila/internal/sxlm"
)

// TestVectors runs every damaged file of section 6.4 by name.
func TestVectors(t *testing.T) {
	var good []byte
	row := experiment{Check: func(t *report) { good = written(t, nano(t), sxlm.Options{}) }}
	if res := row.Run(context.Background(), options{Brief: true}); res.State != Pass {
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
