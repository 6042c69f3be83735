package atenia_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/place"
)

// TestMixtureBudget: a mixture that does not fit its budget gives the logits of one
// that does, from both kinds of files, and says what its experts cost.
func TestMixtureBudget(t *testing.T) {
	root := filepath.Join(golden.Root(t), "testdata", "golden")
	for _, path := range []string{filepath.Join(root, "gguf", "models", "qwen3moe-q4_k_m.gguf"), filepath.Join(root, "parity", "qwen2_moe")} {
		cfg := &atenia.Config{BatchTokens: 4, Slots: 1, Context: 32, Threads: 2, Placement: place.Rules{Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}}}
		tokens := []int32{1, 9, 3, 4, 5, 6, 30, 8, 7}
		type streamed struct {
			place.Streaming
			Placement *atenia.Placement
		}
		run := func() (rows [][]float32, s streamed) {
			m, err := atenia.Open(t.Context(), path, cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if err := m.EachLogits(t.Context(), tokens, atenia.LogitsOptions{Step: 3}, func(_ int, row []float32) {
				rows = append(rows, slices.Clone(row))
			}); err != nil {
				t.Fatal(err)
			}
			return rows, streamed{m.Streaming(), m.Placement()}
		}
		want, s := run()
		if s.Experts != (place.ExpertCache{}) {
			t.Errorf("%s: a cache without a budget: %+v", path, s.Experts)
		}
		cfg.Budget.RAM, cfg.Budget.Reserve.Runtime = 1<<17, 1<<16
		p, err := atenia.OpenPlan(path, cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Place()
		floor, ok := errors.AsType[*place.FloorError](err)
		if !ok {
			t.Fatal(err)
		}
		cfg.Placement.Pins = []string{`blk\.0\..*=ram`} // experts that the cache holds, and no one else
		if p, err = atenia.OpenPlan(path, cfg); err != nil {
			t.Fatal(err)
		}
		_, err = p.Place()
		pinned, ok := errors.AsType[*place.FloorError](err)
		if !ok || pinned.Floor <= floor.Floor {
			t.Fatal(err)
		}
		cfg.Budget.RAM = pinned.Floor
		if got, s := run(); !slices.EqualFunc(got, want, slices.Equal[[]float32]) || s.Placement.Cache.Held == 0 {
			t.Errorf("%s: pinned experts: %+v", path, s.Placement.Cache)
		}
		cfg.Placement.Pins = nil
		for _, more := range []int64{0, 60 << 10, 150 << 10} {
			cfg.Budget.RAM = floor.Floor + more
			got, s := run()
			if !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
				t.Errorf("%s, %d bytes: other logits", path, cfg.Budget.RAM)
			}
			e, c := &s.Experts, &s.Placement.Cache
			if e.Misses == 0 || e.Read == 0 || e.Slots != c.Slots+c.Held || s.Read < e.Read || e.HitRate() > 1 {
				t.Errorf("%s, %d bytes: %+v, planned %+v", path, cfg.Budget.RAM, e, c)
			}
			if ram := s.Placement.RAM(); ram > cfg.Budget.RAM {
				t.Errorf("%s: %d bytes are planned of %d", path, ram, cfg.Budget.RAM)
			}
			var table, stats strings.Builder
			if err := errors.Join(s.Placement.WriteText(&table), s.WriteText(&stats)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(table.String(), "ram cache of ") || !strings.Contains(stats.String(), "% hits") {
				t.Errorf("%s:\n%s%s", path, &table, &stats)
			}
		}
	}
}
