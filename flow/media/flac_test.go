package media

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/mewkiz/flac"
	"github.com/mewkiz/flac/frame"
	"github.com/mewkiz/flac/meta"
)

// TestAnotherDecoder decodes with another implementation the files of this one.
func TestAnotherDecoder(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		if f.Codec != FLAC || f.Rate == 24000 { // of which the other one complains in the log
			continue
		}
		want := integers(f, 9001, rand.New(rand.NewPCG(5, 0)))
		var b bytes.Buffer
		w, err := NewWriter(&b, f)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(Write(w, want), w.Close()); err != nil {
			t.Fatal(err)
		}
		t.Logf("%v: %d bytes of %d", f, b.Len(), 9001*f.Channels*f.Bits/8)
		s, err := flac.New(&b)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for {
			fr, err := s.ParseNext()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(f, err)
			}
			for c, sub := range fr.Subframes {
				for i, v := range sub.Samples {
					if x := float64(v) / float64(int64(1)<<(f.Bits-1)); x != want[c][at+i] {
						t.Fatalf("%v: channel %d frame %d: %v, want %v", f, c, at+i, x, want[c][at+i])
					}
				}
			}
			at += int(fr.BlockSize)
		}
		if at != 9001 {
			t.Errorf("%v: %d frames", f, at)
		}
	}
}

// TestAnotherEncoder decodes files of another implementation: every kind of
// subframe, and each coding of two channels.
func TestAnotherEncoder(t *testing.T) {
	t.Parallel()
	for kind := frame.ChannelsLR; kind <= frame.ChannelsMidSide; kind++ {
		if kind != frame.ChannelsLR && kind < frame.ChannelsLeftSide {
			continue
		}
		for name, header := range map[string]frame.SubHeader{
			"verbatim": {Pred: frame.PredVerbatim},
			"fixed":    {Pred: frame.PredFixed, Order: 3, RiceSubframe: &frame.RiceSubframe{Partitions: []frame.RicePartition{{Param: 14}}}},
			"linear": {
				Pred: frame.PredFIR, Order: 2, CoeffPrec: 12, CoeffShift: 9, Coeffs: []int32{900, -401},
				RiceSubframe: &frame.RiceSubframe{PartOrder: 2, Partitions: []frame.RicePartition{{Param: 13}, {Param: 12}, {Param: 11}, {Param: 14}}},
			},
			"wasted": {Pred: frame.PredVerbatim, Wasted: 2},
		} {
			want := integers(Format{Channels: 2, Bits: 13}, 1024, rand.New(rand.NewPCG(6, 0)))
			var b bytes.Buffer
			info := &meta.StreamInfo{BlockSizeMin: 1024, BlockSizeMax: 1024, SampleRate: 48000, NChannels: 2, BitsPerSample: 16, NSamples: 1024}
			e, err := flac.NewEncoder(&b, info)
			if err != nil {
				t.Fatal(err)
			}
			e.EnablePredictionAnalysis(false)
			fr := &frame.Frame{Header: frame.Header{HasFixedBlockSize: true, BlockSize: 1024, SampleRate: 48000, Channels: kind, BitsPerSample: 16}}
			for c := range want {
				s := &frame.Subframe{SubHeader: header, NSamples: 1024}
				for _, v := range want[c] {
					s.Samples = append(s.Samples, int32(v*(1<<12))<<3)
				}
				fr.Subframes = append(fr.Subframes, s)
			}
			if err := e.WriteFrame(fr); err != nil {
				t.Fatal(kind, name, err)
			}
			b.WriteString("TAG of another format after the last frame")
			r, err := NewStream(&b)
			if err != nil {
				t.Fatal(err)
			}
			got := [][]float64{make([]float64, 1024), make([]float64, 1024)}
			if n, err := Read(r, got); n != 1024 || err != nil {
				t.Fatal(kind, name, n, err)
			}
			same(t, got, want)
			if n, err := Read(r, got); n != 0 || err != io.EOF {
				t.Error(kind, name, n, err)
			}
		}
	}
}

// TestDamage flips every bit of a small file: every change is detected, unless it
// does not affect the samples.
func TestDamage(t *testing.T) {
	t.Parallel()
	f := Format{Codec: FLAC, Rate: 44100, Channels: 2, Bits: 16}
	want := integers(f, 60, rand.New(rand.NewPCG(7, 0)))
	var b bytes.Buffer
	w, err := NewWriter(&b, f)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Write(w, want), w.Close()); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	const frames = 4 + 4 + 34
	for i := frames * 8; i < len(good)*8; i++ {
		bad := bytes.Clone(good)
		bad[i/8] ^= 0x80 >> (i % 8)
		if readAll(bad) == nil {
			t.Errorf("bit %d of byte %d is flipped and nobody notices", i%8, i/8)
		}
	}
	for n := frames + 1; n < len(good); n++ {
		if readAll(good[:n]) == nil {
			t.Errorf("%d of %d bytes are all right", n, len(good))
		}
	}
	tagged := append([]byte("ID3\x04\x00\x00\x00\x00\x00\x03tag"), good...)
	if err := readAll(tagged); err != nil {
		t.Error(err)
	}
	sum := bytes.Clone(good)
	sum[8+18]++
	if err := readAll(sum); err == nil {
		t.Error("a wrong checksum of all samples is not noticed")
	}
}
