package media_test

import (
	"bytes"
	"fmt"
	"io"
	"log"

	"atenia/flow/media"
)

func Example() {
	var file bytes.Buffer
	w, err := media.NewWriter(&file, media.Format{Codec: media.FLAC, Rate: 48000, Channels: 2, Bits: 24})
	if err != nil {
		log.Fatal(err)
	}
	if err := media.Write(w, [][]float32{{0, 0.25, 0.5}, {0, -0.25, -0.5}}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	r, err := media.NewStream(&file)
	if err != nil {
		log.Fatal(err)
	}
	x := [][]float32{make([]float32, 64), make([]float32, 64)}
	n, err := media.Read(r, x)
	fmt.Println(r.Format, n, err == io.EOF, x[0][:n], x[1][:n])
	// Output: flac, 48000 Hz, 2 channels, 24 bit 3 true [0 0.25 0.5] [0 -0.25 -0.5]
}

// The format of a file is known before its samples are read.
func ExampleNewReader() {
	var file bytes.Buffer
	w, err := media.NewWriter(&file, media.Format{Rate: 8000, Channels: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := media.Write(w, [][]float32{{0.5, -0.5}}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	r, err := media.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		log.Fatal(err)
	}
	x := [][]float64{make([]float64, 4)}
	n, err := media.Read(r, x)
	fmt.Println(r.Format, x[0][:n], err)
	// Output: wav, 8000 Hz, 1 channels, 16 bit [0.5 -0.5] EOF
}
