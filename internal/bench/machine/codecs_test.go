package machine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"atenia/tensor"
)

func TestCodecs(t *testing.T) {
	w, err := madeWeights(100_000)
	if err != nil || len(w.Data) != 98_304 {
		t.Fatalf("%d bytes, %v", len(w.Data), err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, w.Data, 0o600); err != nil {
		t.Fatal(err)
	}
	samples, err := readSamples([]extent{{tensor.BF16, file, 0, 1000}, {tensor.Q8_0, file, 10, 34}, {tensor.BF16, file, 2000, 90_000}, {tensor.BF16, file, 0, 5}}, 50_000)
	if err != nil || len(samples) != 2 || len(samples[0].Data) != 50_000 || len(samples[1].Data) != 34 || samples[0].Data[1000] != w.Data[2000] {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	results, err := runCodecs(t.Context(), samples, 2)
	if err != nil || len(results) != 4+3 {
		t.Fatalf("%+v, %v", results, err)
	}
	for _, r := range results {
		if r.Ratio <= 0 || len(r.Encode) != 2 || len(r.Decode) != 2 || r.Name == "PlaneHuff of BF16" && r.Ratio < 1.4 {
			t.Errorf("%+v", r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := runCodecs(ctx, samples, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := readSamples([]extent{{tensor.F32, file, 98_000, 1000}}, 1000); err == nil {
		t.Error("read beyond the end")
	}
}
