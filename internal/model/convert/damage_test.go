package convert

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"atenia/internal/golden"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/model/quant"
)

// TestDamagedGGUF: of a damaged file what is written runs, and if nothing is, an older
// file of that name stays and no temporary one.
func TestDamagedGGUF(t *testing.T) {
	models := filepath.Join(golden.Root(t), "testdata", "golden", "gguf", "models")
	good, err := os.ReadFile(filepath.Join(models, "llama-f16.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	mix, err := quant.ParseMix("f16") // most tensors are copied
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 3))
	written, refused := 0, 0
	for range 400 {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in.gguf"), filepath.Join(dir, "out.gguf")
		b := slices.Clone(good)
		for range 1 + rng.IntN(4) {
			if rng.IntN(2) == 0 { // the header has less than this, and most of what can be wrong
				b[rng.IntN(min(len(b), 8<<10))] = byte(rng.Uint32())
			} else {
				b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			}
		}
		for name, b := range map[string][]byte{in: b, out: []byte("old")} {
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		d, err := file.Open(in)
		if err != nil {
			continue
		}
		_, err = Convert(t.Context(), d, out, Options{Mix: mix, Threads: 2})
		d.Close()
		if err == nil {
			written++
			again, err := file.Open(out)
			if err != nil {
				t.Fatalf("what was written does not open: %v", err)
			}
			if _, err := compile.Compile(again, compile.Options{}); err != nil {
				t.Errorf("what was written does not compile: %v", err)
			}
			again.Close()
		} else if refused++; string(content(t, out)) != "old" {
			t.Errorf("after %v the older file is gone", err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
			t.Errorf("%d files are left", len(left))
		}
	}
	t.Logf("%d written, %d refused", written, refused)
	if written == 0 || refused == 0 {
		t.Errorf("%d written, %d refused: the damage is too small or too large", written, refused)
	}
}

// TestNonFiniteCopied: NaN and infinity are refused in tensors that keep their type.
func TestNonFiniteCopied(t *testing.T) {
	for name, mixName := range map[string]string{"llama-f16.gguf": "f16", "llama-q4_k_m.gguf": "q4_k_m"} {
		good, err := os.ReadFile(filepath.Join(golden.Root(t), "testdata", "golden", "gguf", "models", name))
		if err != nil {
			t.Fatal(err)
		}
		mix, err := quant.ParseMix(mixName)
		if err != nil {
			t.Fatal(err)
		}
		d, err := file.OpenBytes("good", good)
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Tensors {
			if tensor := &d.Tensors[i]; tensor.Name != "blk.1.ffn_up.weight" {
				continue
			}
			// The tensor's first half, a value of F16 or the scale of a block.
			data := d.Tensors[i].View.Data
			at := 0
			for ; &good[at] != &data[0]; at++ {
			}
			for _, bits := range []uint16{0x7c00, 0xfc00, 0x7e01} {
				b := slices.Clone(good)
				b[at], b[at+1] = byte(bits), byte(bits>>8)
				bad, err := file.OpenBytes("bad", b)
				if err != nil {
					t.Fatal(err)
				}
				_, err = Convert(t.Context(), bad, filepath.Join(t.TempDir(), "out.gguf"), Options{Mix: mix, Threads: 2})
				if _, ok := errors.AsType[*quant.NonFiniteError](err); !ok {
					t.Errorf("%s, %#x: %v", name, bits, err)
				}
			}
		}
	}
}
