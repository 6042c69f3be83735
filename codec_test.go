package atenia_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/place"
)

// coding is a copy of a model of floats that does not fit its budget.
type coding struct {
	path         string
	least, whole int64
	log          bytes.Buffer
}

func newCoding(t *testing.T) *coding {
	t.Helper()
	c := &coding{path: filepath.Join(t.TempDir(), "m")}
	if err := os.CopyFS(c.path, os.DirFS(filepath.Join(golden.Family(t, "parity"), "llama_bf16_sharded"))); err != nil {
		t.Fatal(err)
	}
	p, err := atenia.OpenPlan(c.path, c.config(0))
	if err != nil {
		t.Fatal(err)
	}
	all, err := p.Place()
	if err != nil {
		t.Fatal(err)
	}
	c.whole = all.RAM()
	if p, err = atenia.OpenPlan(c.path, c.config(1<<17)); err != nil {
		t.Fatal(err)
	}
	_, err = p.Place()
	floor, ok := errors.AsType[*place.FloorError](err)
	if !ok {
		t.Fatal(err)
	}
	c.least = floor.Floor
	return c
}

func (c *coding) config(ram int64) *atenia.Config {
	cfg := &atenia.Config{
		BatchTokens: 4, Slots: 1, Context: 32, Threads: 1, Logger: slog.New(slog.NewTextHandler(&c.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Placement: place.Rules{Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}},
	}
	cfg.Budget.Reserve.Runtime, cfg.Budget.RAM = 1<<16, ram
	return cfg
}

// logits runs the model and returns all logits, and how weights were streamed.
func (c *coding) logits(t *testing.T, cfg *atenia.Config) (out []float32, s place.Streaming) {
	t.Helper()
	m, err := atenia.Open(t.Context(), c.path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.EachLogits(t.Context(), []int32{1, 2, 3, 4, 5, 6}, atenia.LogitsOptions{Step: 3}, func(_ int, l []float32) { out = append(out, l...) }); err != nil {
		t.Fatal(err)
	}
	return out, m.Streaming()
}

// Logits are the same bits in every form and budget, also when the file of
// coded weights is damaged or cut while the model runs or before.
func TestCodec(t *testing.T) {
	c := newCoding(t)
	file := filepath.Join(c.path, "m.coded")
	off := c.config((c.least + c.whole) / 2)
	off.Codec = "off"
	want, s := c.logits(t, off)
	if s.Codec != "off: as asked" || s.Read == 0 {
		t.Fatalf("%+v", s)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	used := 0
	for i := range 10 {
		cfg := c.config(c.least + rng.Int64N(c.whole-c.least))
		cfg.Codec = "planehuff"
		got, s := c.logits(t, cfg)
		if !slices.Equal(got, want) {
			t.Errorf("run %d, %s: other logits", i, s.Codec)
		}
		if strings.HasPrefix(s.Codec, "planehuff: as asked ("+file) {
			used++
			if !slices.ContainsFunc(s.Lanes, func(l place.LaneWork) bool { return l.Lane == "Transfer" && l.Tasks > 0 }) {
				t.Errorf("nothing was decoded: %+v", s.Lanes)
			}
		}
	}
	if used == 0 || c.log.Len() > 0 {
		t.Fatalf("%d runs decoded weights; %s", used, c.log.String())
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(whole)
	for at := 100; at < len(damaged)*9/10; at += 512 {
		damaged[at] ^= 1
	}
	if err := os.WriteFile(file, damaged, 0o666); err != nil {
		t.Fatal(err)
	}
	cfg := c.config(c.least + (c.whole-c.least)*3/4)
	cfg.Codec = "planehuff"
	if got, _ := c.logits(t, cfg); !slices.Equal(got, want) {
		t.Error("damaged chunks: other logits")
	}
	if !strings.Contains(c.log.String(), "coded weights are damaged") {
		t.Errorf("damage is not told: %s", c.log.String())
	}
	if err := os.WriteFile(file, whole[:len(whole)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	if got, s := c.logits(t, cfg); !slices.Equal(got, want) || !strings.Contains(s.Codec, file) {
		t.Errorf("a file that was cut is not written again: %s", s.Codec)
	}
	if now, _ := os.ReadFile(file); !bytes.Equal(now, whole) {
		t.Errorf("%d bytes are written, %d before", len(now), len(whole))
	}
	st, _ := os.Stat(filepath.Join(c.path, "model-00001-of-00002.safetensors"))
	if err := os.Chtimes(filepath.Join(c.path, "model-00001-of-00002.safetensors"), st.ModTime().Add(1e9), st.ModTime().Add(1e9)); err != nil {
		t.Fatal(err)
	}
	auto := c.config(cfg.Budget.RAM)
	if _, s := c.logits(t, auto); !strings.HasPrefix(s.Codec, "off: ") {
		t.Errorf("a file of another model is used: %s", s.Codec)
	}
}

// auto writes and uses a file where the disk is slow and files are asked for,
// and says why not otherwise; the notes of a plan say the same.
func TestCodecAuto(t *testing.T) {
	c := newCoding(t)
	ram := c.least + (c.whole-c.least)*3/4
	for _, k := range []struct {
		ssd  float64
		pack string
		want string
	}{
		{1e14, "disk", "and the disk reads 100000000 MB/s"},
		{1, "", "--pack disk would write a file of coded weights"},
		{1, "disk", "times smaller"},
	} {
		cfg := c.config(ram)
		cfg.Placement.Rates.SSD, cfg.Pack = k.ssd, k.pack
		_, s := c.logits(t, cfg)
		_, err := os.Stat(filepath.Join(c.path, "m.coded"))
		if !strings.Contains(s.Codec, k.want) && !strings.Contains(s.Codec, "0.0 free cores") {
			t.Errorf("%+v: %s", k, s.Codec)
		}
		if made := err == nil; made != strings.HasPrefix(s.Codec, "planes: ") {
			t.Errorf("%+v: %s, but a file: %v", k, s.Codec, made)
		}
		cfg.Codec = "auto" // asked for, so the plan says what came of it
		p, err := atenia.OpenPlan(c.path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		pl, err := p.Place()
		if err != nil {
			t.Fatal(err)
		}
		notes, err := p.PlacementNotes(pl)
		if err != nil || !strings.Contains(fmt.Sprint(notes), "codec    ") {
			t.Errorf("%q, %v", notes, err)
		}
	}
	bad := c.config(ram)
	bad.Codec = "gzip"
	if _, err := atenia.Open(t.Context(), c.path, bad); err == nil || !strings.Contains(err.Error(), "Codec") {
		t.Errorf("an unknown codec: %v", err)
	}
}
