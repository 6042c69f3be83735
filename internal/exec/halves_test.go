package exec_test

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/kernel"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/tensor"
)

// TestHalves compares a tower of BF16 weights whose activations are rounded with
// one whose are not: within 2 % (rms), which is five roundings to 8 bits in a row,
// with the same bits for every number of threads.
func TestHalves(t *testing.T) {
	folder := filepath.Join(golden.Family(t, "parity"), "qwen2_vl")
	var f fixture
	golden.JSON(t, filepath.Join(folder, "fixture.json"), &f)
	d, err := file.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m := load(t, d, compile.Options{})
	for name, v := range m.weights {
		if v.DType == tensor.F32 && len(v.Shape) == 2 {
			m.weights[name] = halved(v)
		}
	}
	c := readImages(t, m.Config.Vision, folder, &f)
	encode := func(cfg exec.Config) (rows []float32) {
		cfg.MaxTokens = 128
		tower, err := exec.NewTower(&m.Plans, m.weights, cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer tower.Close()
		for i := range c.patches {
			e, err := tower.Encode(&c.patches[i], nil)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, e.Rows...)
		}
		return rows
	}
	want := encode(exec.Config{Threads: 2})
	got := encode(exec.Config{Threads: 2, Halves: true})
	if !slices.Equal(got, encode(exec.Config{Threads: 1, Halves: true})) {
		t.Error("one thread computes other bits than two")
	}
	if !slices.Equal(want, encode(exec.Config{Threads: 2, Halves: true, Precise: true})) {
		t.Error("precise rows are rounded")
	}
	if slices.Equal(got, want) == kernel.MultipliesPairs() {
		t.Errorf("rounded: %t, the machine multiplies pairs: %t", !slices.Equal(got, want), kernel.MultipliesPairs())
	}
	diff, all := 0.0, 0.0
	for i := range want {
		diff += math.Pow(float64(got[i]-want[i]), 2)
		all += math.Pow(float64(want[i]), 2)
	}
	if r := math.Sqrt(diff / all); !(r <= 0.02) {
		t.Errorf("rows differ by %.3g of their size, at most 0.02", r)
	} else {
		t.Logf("rows differ by %.3g", r)
	}
}

// halved returns a matrix rounded to BF16.
func halved(v tensor.View) tensor.View {
	out := tensor.View{DType: tensor.BF16, Shape: v.Shape, Data: make([]byte, len(v.Data)/2)}
	for i := range len(v.Data) / 4 {
		x := math.Float32frombits(binary.LittleEndian.Uint32(v.Data[4*i:]))
		binary.LittleEndian.PutUint16(out.Data[2*i:], tensor.F32ToBF16(x))
	}
	return out
}
