package quila_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"testing"

	"atenia/internal/golden"
	"atenia/quila/config"
	"atenia/quila/internal/neuron"
	"atenia/tensor"
)

func init() { topics["message_codec"] = goldenMessage }

// goldenConfig is the configuration of a case. Reference cases have the keys of
// the shape and of the options.
func goldenConfig(t *testing.T, raw json.RawMessage) config.Config {
	t.Helper()
	c, err := config.Profile("micro")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields() // an option that is not offered
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func goldenMessage(t *testing.T, path string) {
	type coded struct {
		X     []any
		Codes string
	}
	var file struct {
		Config            json.RawMessage
		Decode            []any
		Vectors           [][]any
		Encode, Midpoints coded
		Wire              []string
		Bad               []struct{ Hex, Error string }
		Aggregate         struct {
			B, Count        any
			MeanUncertainty any `json:"mean_uncertainty"`
		}
		Pairwise    any
		Uncertainty []struct {
			MeanIn any `json:"mean_in"`
			Conf   float64
			H, U   any
			Row16  any
		}
		Partial []struct {
			Attn, H any
			WOut    any `json:"w_out"`
			Pos     uint16
			Tile    []float64
		}
	}
	golden.JSON(t, path, &file)
	c := goldenConfig(t, file.Config)
	if len(file.Decode) != 256 || len(file.Vectors) == 0 || len(file.Wire) == 0 || len(file.Bad) == 0 || len(file.Partial) == 0 {
		t.Fatal("a part of the file is missing")
	}
	for code, v := range flat(t, file.Decode) {
		if got := float64(tensor.E4M3ToF32(byte(code))); got != v && (got == got || v == v) {
			t.Errorf("code %#x is %v, want %v", code, got, v)
		}
	}
	for _, v := range file.Vectors {
		if got, want := tensor.F32ToE4M3(float32(flat(t, v[0])[0])), byte(flat(t, v[1])[0]); got != want {
			t.Errorf("%v is encoded %#x, want %#x", v[0], got, want)
		}
	}
	for _, e := range []coded{file.Encode, file.Midpoints} {
		x, want := narrow(flat(t, e.X)), unhex(t, e.Codes)
		got := make([]byte, len(x))
		tensor.EncodeE4M3(got, x, true)
		if !bytes.Equal(got, want) {
			t.Errorf("%d values: %x, want %x", len(x), got, want)
		}
	}

	in := neuron.Inbox{Config: &c}
	for _, w := range file.Wire {
		b := unhex(t, w)
		if err := in.Receive(b); err != nil {
			t.Fatal(err)
		}
		m := in.Messages[len(in.Messages)-1]
		if !bytes.Equal(m.Append(nil), b) {
			t.Errorf("message %d does not come back", len(in.Messages)-1)
		}
	}
	for i, bad := range file.Bad {
		if err := in.Receive(unhex(t, bad.Hex)); !errors.Is(err, neuron.ErrWire) {
			t.Errorf("message with %s: %v", bad.Error, err)
		} else if in.Rejected != i+1 {
			t.Errorf("%d messages are counted as refused, want %d", in.Rejected, i+1)
		}
	}
	goldenBoard[float64](t, &c, in.Messages, flat(t, file.Aggregate.B), flat(t, file.Aggregate.Count), flat(t, file.Aggregate.MeanUncertainty), flat(t, file.Pairwise), 1e-10)
	goldenBoard[float32](t, &c, in.Messages, flat(t, file.Aggregate.B), flat(t, file.Aggregate.Count), flat(t, file.Aggregate.MeanUncertainty), flat(t, file.Pairwise), 5e-5)

	for _, u := range file.Uncertainty {
		mean, h, want := flat(t, u.MeanIn), flat(t, u.H), flat(t, u.U)
		got, row := make([]float64, len(h)), make([]float64, 16)
		neuron.Doubt(got, mean, u.Conf, h)
		near(t, "u", got, want, 1e-10, 0)
		single := make([]float32, len(h))
		neuron.Doubt(single, narrow(mean), float32(u.Conf), narrow(h))
		near(t, "u in float32", single, want, 5e-5, 0)
		neuron.Resample(row, mean)
		near(t, "row16", row, flat(t, u.Row16), 1e-10, 0)
	}
	work, single := neuron.NewTileWork[float64](&c), neuron.NewTileWork[float32](&c)
	for i, p := range file.Partial {
		attn, h, w := flat(t, p.Attn), flat(t, p.H), flat(t, p.WOut)
		tile, share, ok := neuron.Choose(attn, h, w, p.Pos, &c, c.PartialSendThreshold, work)
		tile32, _, ok32 := neuron.Choose(narrow(attn), narrow(h), narrow(w), p.Pos, &c, float32(c.PartialSendThreshold), single)
		if ok != (p.Tile != nil) || ok != ok32 || tile != tile32 {
			t.Errorf("partial %d: a tile %v, in float32 %v, want %v", i, ok, ok32, p.Tile)
			continue
		}
		if ok {
			near(t, "tile", []float64{float64(tile.Row), float64(tile.Col), share, float64(tile.Pos)}, p.Tile, 1e-12, 0)
		}
	}
}

func goldenBoard[F float32 | float64](t *testing.T, c *config.Config, msgs []neuron.Message, mean, count, doubt, pairwise []float64, tol float64) {
	t.Helper()
	b := neuron.NewBoard[F](c)
	for i := range msgs {
		b.Receive(&msgs[i])
	}
	got, u, n := make([]F, c.H*c.H), make([]F, c.D), make([]int32, c.H*c.H)
	b.Mean(got)
	near(t, "B", got, mean, tol, 0)
	b.Counts(n)
	for i, x := range n {
		if float64(x) != count[i] {
			t.Fatalf("cell %d has %d messages, want %v", i, x, count[i])
		}
	}
	if !b.Doubt(u) {
		t.Error("no uncertainty arrived")
	}
	near(t, "mean uncertainty", u, doubt, tol, 0)
	literal := *c
	literal.PairwiseMean = true
	b = neuron.NewBoard[F](&literal)
	for i := range 2 {
		b.Receive(&msgs[i])
	}
	b.Mean(got)
	near(t, "B by pairs", got, pairwise, tol, 0)
}
