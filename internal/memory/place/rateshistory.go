package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"atenia/internal/store/durable"
)

// A RunKind says which runs are alike: of one model on one machine, whose placement
// has the same limits. What was off in one is likely to be off in the next.
type RunKind struct {
	Model   string `json:"model"`   // its identity, a hash
	Machine string `json:"machine"` // and how many threads compute
	Class   string `json:"class"`   // of the placement
}

// A past is what runs of a kind measured.
type past struct {
	RunKind
	Ratios []float64 `json:"ratios"` // measured / predicted seconds, the newest last
}

// MemoryRates are how fast the memory of a machine is: bytes a second that all threads
// read, and the parts that are left of its rate and of a disk's while both are read.
type MemoryRates struct {
	RAM      float64 `json:"ram_bytes_per_s"`
	RAMShare float64 `json:"ram_share_at_once"`
	SSDShare float64 `json:"ssd_share_at_once"`
	// Products are those of [Measurement].
	Products map[string]ProductRate `json:"products,omitempty"`
}

// Memory returns what a measurement says of memory; without it, nothing.
func (m *Measurement) Memory() (r MemoryRates) {
	if m.SSD > 0 && m.RAM > 0 {
		r = MemoryRates{m.RAM, m.RAMBusy / m.RAM, m.SSDBusy / m.SSD, m.Products}
	}
	return r
}

// sound reports whether rates are such as machines have.
func (r *MemoryRates) sound() bool {
	for _, x := range r.Products {
		if !x.sound() {
			return false
		}
	}
	return r.RAM >= 1e3 && r.RAM <= 1e15 && r.RAMShare > 0 && r.RAMShare <= mostRatio && r.SSDShare > 0 && r.SSDShare <= mostRatio
}

// kept are the rates that a machine was measured to have last.
type kept struct {
	Machine string `json:"machine"`
	MemoryRates
}

// history is the content of the file.
type history struct {
	Format string `json:"format"`
	Runs   []past `json:"runs"`             // the kinds, the one that ran last is the last
	Memory []kept `json:"memory,omitempty"` // the machine that was measured last is the last
}

const (
	historyFile   = "runs.json"
	historyFormat = "atenia.runs/4" // 1 compared with what was predicted after half a context, 2 packed weights with others, 3 with a rate of memory that paused
	mostRuns      = 20              // of a kind
	mostKinds     = 200             // in the file
	mostBytes     = 1 << 20
	// ratios beyond these are accidents: a process that was stopped, a clock that
	// jumped.
	leastRatio, mostRatio = 0.05, 20
)

// RememberRatio adds what a run measured to the file in a folder, which is made if it
// is not there. Runs that end at the same time take turns.
func RememberRatio(folder string, k RunKind, ratio float64) error {
	if !(ratio >= leastRatio && ratio <= mostRatio) {
		return fmt.Errorf("a run took %g times as long as predicted, which cannot be remembered", ratio)
	}
	return updateHistory(folder, func(h *history) {
		i := slices.IndexFunc(h.Runs, func(p past) bool { return p.RunKind == k })
		p := past{RunKind: k}
		if i >= 0 {
			p = h.Runs[i]
			h.Runs = slices.Delete(h.Runs, i, i+1)
		}
		p.Ratios = append(p.Ratios, ratio)
		p.Ratios = p.Ratios[max(0, len(p.Ratios)-mostRuns):]
		h.Runs = append(h.Runs, p)
		h.Runs = h.Runs[max(0, len(h.Runs)-mostKinds):]
	})
}

// RememberMemory adds what was measured of a machine's memory to the file in a folder, for
// who has too little of it to measure. It does nothing where nothing was.
func RememberMemory(folder, machine string, r MemoryRates) error {
	if !r.sound() {
		return nil
	}
	return updateHistory(folder, func(h *history) {
		products := map[string]ProductRate{} // of other models, too
		for _, k := range h.Memory {
			if k.Machine == machine {
				maps.Copy(products, k.Products)
			}
		}
		maps.Copy(products, r.Products)
		r.Products = products
		h.Memory = slices.DeleteFunc(h.Memory, func(k kept) bool { return k.Machine == machine })
		h.Memory = append(h.Memory, kept{machine, r})
		h.Memory = h.Memory[max(0, len(h.Memory)-mostKinds):]
	})
}

// RememberedMemory returns what the file in a folder has of a machine's memory; zeros
// are nothing.
func RememberedMemory(folder, machine string) (r MemoryRates) {
	if folder == "" {
		return r
	}
	for _, k := range readHistory(filepath.Join(folder, historyFile)).Memory {
		if k.Machine == machine {
			r = k.MemoryRates
		}
	}
	return r
}

// updateHistory changes the file in a folder, which is made if it is not there.
func updateHistory(folder string, change func(h *history)) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	path := filepath.Join(folder, historyFile)
	release, err := durable.Lock(path + ".lock")
	if err != nil {
		return err
	}
	h := readHistory(path)
	change(&h)
	err = durable.Replace(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(h) })
	return errors.Join(err, release())
}

// RememberedRatios returns the ratios of measured to predicted seconds by the class of
// the placement, the newest last, as the file in a folder has them of a model on
// a machine.
func RememberedRatios(folder, model, machine string) map[string][]float64 {
	if folder == "" {
		return nil
	}
	out := map[string][]float64{}
	for _, p := range readHistory(filepath.Join(folder, historyFile)).Runs {
		if p.Model == model && p.Machine == machine {
			out[p.Class] = p.Ratios
		}
	}
	return out
}

// readHistory reads the file. What is no such file, or damaged, is as good as
// none: it only makes predictions better.
func readHistory(path string) history {
	none := history{Format: historyFormat}
	f, err := durable.OpenRegular(path)
	if err != nil {
		return none
	}
	defer f.Close()
	var h history
	if json.NewDecoder(io.LimitReader(f, mostBytes)).Decode(&h) != nil || h.Format != historyFormat {
		return none
	}
	if slices.ContainsFunc(h.Memory, func(k kept) bool { return !k.sound() }) {
		return none
	}
	for _, p := range h.Runs {
		for _, r := range p.Ratios {
			if !(r >= leastRatio && r <= mostRatio) {
				return none
			}
		}
	}
	return h
}
