package vqgan

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"atenia/quila/internal/codebook"
	"atenia/quila/internal/random"
)

func envi(k string, d int) int {
	if v, err := strconv.Atoi(os.Getenv(k)); err == nil {
		return v
	}
	return d
}
func envf(k string, d float64) float64 {
	if v, err := strconv.ParseFloat(os.Getenv(k), 64); err == nil {
		return v
	}
	return d
}

func TestToy(t *testing.T) {
	V := envi("V", 64)
	if os.Getenv("KM") != "" {
		c := &Coder{Channels: envi("CH", 3)}
		data, _ := corpus(c, 0, 1000, false)
		test, _ := corpus(c, 1, 256, false)
		patches := func(ps [][]float32) []float32 {
			var out []float32
			for _, p := range ps {
				for by := range 4 {
					for bx := range 4 {
						for y := range 8 {
							i := ((by*8+y)*32 + bx*8) * c.Channels
							out = append(out, p[i:i+8*c.Channels]...)
						}
					}
				}
			}
			return out
		}
		dim := 64 * c.Channels
		b, _ := codebook.New(make([]float32, V*dim), V, dim)
		st := time.Now()
		if err := codebook.KMeans(b, patches(data), 20, random.Stream{}); err != nil {
			t.Fatal(err)
		}
		x := patches(test)
		codes := make([]int32, len(x)/dim)
		b.Nearest(codebook.Encoder, codes, x)
		var e float64
		for i, cd := range codes {
			for j, v := range b.Row(int(cd)) {
				d := float64(v - x[i*dim+j])
				e += d * d
			}
		}
		fmt.Println("kmeans", V, PSNR(e/float64(len(x))), time.Since(st))
	}
	st := time.Now()
	w := envi("W", 16)
	_, r, err := Train(context.Background(), Options{Codes: V, Dim: envi("DIM", 32), Widths: Widths{w, 2 * w, 2 * w}, Steps: envi("STEPS", 300), Batch: envi("BATCH", 16), Rate: envf("RATE", 0), Free: envi("FREE", 0), CriticFrom: envi("CRITIC", -1), Pictures: envi("PICTURES", 0), Sound: envi("SOUND", 0) > 0, Align: envf("ALIGN", 0), Log: t.Logf, DeadBatches: envi("DEAD", 50)})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(time.Since(st).Seconds(), "s")
	fmt.Printf("image %+v\nsound %+v\nretrieval %v\n", r.Image, r.Sound, r.Retrieval)
}
