package place

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
)

// What runs measured is kept by model, machine and class, the newest of each,
// also when many end at once; a file of something else is none.
func TestHistory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "atenia")
	k := RunKind{"model", "machine", "streamed"}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 3 {
				if err := RememberRatio(dir, k, 1.5); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for i := range 15 {
		if err := RememberRatio(dir, k, 1+float64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := RememberRatio(dir, RunKind{"model", "machine", "held"}, 2); err != nil {
		t.Fatal(err)
	}
	got := RememberedRatios(dir, "model", "machine")
	want := append(slices.Repeat([]float64{1.5}, mostRuns-15), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
	if len(got) != 2 || !slices.Equal(got["streamed"], want) || !slices.Equal(got["held"], []float64{2}) {
		t.Errorf("got %v", got)
	}
	if len(RememberedRatios(dir, "model", "other"))+len(RememberedRatios(dir, "other", "machine"))+len(RememberedRatios("", "model", "machine")) != 0 {
		t.Error("runs of something else")
	}
	for _, bad := range []float64{0, -1, 1e9} {
		if RememberRatio(dir, k, bad) == nil {
			t.Errorf("remembered %g", bad)
		}
	}
	for i := range mostKinds {
		if err := RememberRatio(dir, RunKind{fmt.Sprint(i), "machine", "c"}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if len(RememberedRatios(dir, "model", "machine")) != 0 || len(RememberedRatios(dir, "0", "machine")) != 1 {
		t.Error("the file grows")
	}
}

// TestHistoryMemory: the memory of a machine is what was measured last, beside what runs
// measured, and rates that no machine has are not kept.
func TestHistoryMemory(t *testing.T) {
	dir := t.TempDir()
	if err := RememberRatio(dir, RunKind{"m", "x", "c"}, 2); err != nil {
		t.Fatal(err)
	}
	measured := Measurement{KeptRates: KeptRates{SSD: 2e9, RAM: 40e9, SSDBusy: 1e9, RAMBusy: 30e9}}
	measured.Products = map[string]ProductRate{"f32": {2, 1e9, 1e10}}
	want := MemoryRates{40e9, 0.75, 0.5, map[string]ProductRate{"f32": {2, 1e9, 1e10}, "f16": {3, 1e9, 1e10}}} // of models with other types, too
	rates := func(ram, share float64, products map[string]ProductRate) MemoryRates {
		return MemoryRates{RAM: ram, RAMShare: share, SSDShare: 1, Products: products}
	}
	for _, r := range []MemoryRates{
		rates(1e9, 1, map[string]ProductRate{"f16": {3, 1e9, 1e10}, "f32": {3, 1e9, 1e10}}), measured.Memory(), {}, (&Measurement{KeptRates: KeptRates{SSD: 2e9}}).Memory(), rates(-1, 1, nil), rates(1e9, 0, nil),
		rates(1e300, 1, nil), rates(1e9, 1, map[string]ProductRate{"f16": {-1, 1e9, 1e10}}),
	} {
		if err := RememberMemory(dir, "x", r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range mostKinds - 1 {
		if err := RememberMemory(dir, fmt.Sprint(i), rates(1e9, 1, nil)); err != nil {
			t.Fatal(err)
		}
	}
	if got := RememberedMemory(dir, "x"); !reflect.DeepEqual(got, want) || RememberedMemory("", "x").RAM+RememberedMemory(dir, "y").RAM != 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if err := RememberMemory(dir, "one more", want); err != nil || RememberedMemory(dir, "x").RAM != 0 {
		t.Errorf("the file grows, or %v", err)
	}
	if got := RememberedRatios(dir, "m", "x")["c"]; !slices.Equal(got, []float64{2}) {
		t.Errorf("runs are forgotten: %v", got)
	}
}

// TestHistoryLink: the file is replaced as a whole: a link in its place is not followed,
// and who has the old one open, or another name of it, reads no part of the new one.
func TestHistoryLink(t *testing.T) {
	for name, link := range map[string]func(from, to string) error{"symbolic": os.Symlink, "hard": os.Link} {
		dir := t.TempDir()
		victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, historyFile)
		if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := link(victim, path); err != nil {
			t.Skip(err)
		}
		if err := RememberRatio(dir, RunKind{"m", "x", "c"}, 2); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(victim); err != nil || string(b) != "mine" {
			t.Errorf("%s: written through the link: %q, %v", name, b, err)
		}
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
			t.Errorf("%s: the link stayed: %v", name, err)
		}
		if got := RememberedRatios(dir, "m", "x")["c"]; !slices.Equal(got, []float64{2}) {
			t.Errorf("%s: remembered %v", name, got)
		}
	}
}

// Damage and other formats are no history, and do not stay.
func TestHistoryDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, historyFile)
	k := RunKind{"m", "x", "c"}
	for _, text := range []string{"", "{", "GGUF", `{"format":"atenia.runs/1","runs":[]}`, `{"format":"atenia.runs/4","runs":[{"model":"m","machine":"x","class":"c","ratios":[1e300]}]}`,
		`{"format":"atenia.runs/4","runs":[{"model":"m","machine":"x","class":"c","ratios":[2]}],"memory":[{"machine":"x","ram_bytes_per_s":-1}]}`} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := RememberedRatios(dir, "m", "x"); len(got) != 0 {
			t.Errorf("%q: %v", text, got)
		}
		if err := RememberRatio(dir, k, 2); err != nil || !slices.Equal(RememberedRatios(dir, "m", "x")["c"], []float64{2}) {
			t.Errorf("%q: afterwards %v", text, err)
		}
	}
	if err := os.WriteFile(path+".lock", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := RememberRatio(filepath.Join(path, "no"), k, 2); err == nil {
		t.Error("remembered in a file's place")
	}
}
