package serve

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"atenia"
	"atenia/internal/golden"
	"atenia/place"
)

// TestWholeContexts: the slots of a server's only model have room for as many whole contexts
// as doctor said of so many sequences, and its log says how many if not all have.
func TestWholeContexts(t *testing.T) {
	path := filepath.Join(golden.Family(t, "parity"), "llama3")
	const slots = 4
	config := func(ram int64) atenia.Config {
		return atenia.Config{
			Context: 512, BatchTokens: 4, Budget: place.Budget{RAM: ram, Reserve: place.Reserve{Runtime: 1 << 20}},
			Placement: place.Rules{Rates: place.Rates{SSD: 1e9, RAM: 10e9, FLOPS: 1e12}},
		}
	}
	doctor := func(ram int64, batch int) *place.Advice {
		t.Helper()
		c := config(ram)
		c.Placement.Batch = batch
		a, err := atenia.Advise(t.Context(), path, &c)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	one, all := doctor(1<<30, 1).Fit, doctor(1<<30, slots).Fit
	each := (all - one) / (slots - 1)
	for n := 1; n <= slots; n++ {
		ram := one + each*int64(n-1) + each/2
		if a := doctor(ram, slots); a.Whole != n {
			t.Errorf("doctor says that %d whole contexts have room for %d", ram, a.Whole)
		}
		var log strings.Builder
		c := Config{Models: []Model{{Path: path}}, Open: config(ram), Logger: slog.New(slog.NewTextHandler(&log, nil))}
		c.Open.Slots = slots
		s, _ := newServer(t, c)
		<-s.ready
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		few := fmt.Sprintf("keys and values of %d of %d sequences have room for whole contexts at once", n, slots)
		if !strings.Contains(log.String(), "model loaded") || strings.Contains(log.String(), few) != (n < slots) || strings.Contains(log.String(), "whole contexts") != (n < slots) {
			t.Errorf("room for %d:\n%s", n, log.String())
		}
	}
}
