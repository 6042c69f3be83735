package bench

import (
	"context"
	"fmt"

	"atenia/internal/engine"
	"atenia/internal/memory/place"
)

// Rates measures how fast a model's largest file and memory are read, alone and
// both at once, for a second in all. It returns the bytes of all files, too, of
// which nothing stays in the system's cache.
func Rates(ctx context.Context, path string, threads int) (r place.KeptRates, bytes int64, err error) {
	d, err := engine.OpenFiles(path, "")
	if err != nil {
		return r, 0, err
	}
	defer d.Close()
	if path == "" || len(d.Parts) == 0 {
		return r, 0, fmt.Errorf("%s: want a model in files", engine.Display(path))
	}
	largest, most := "", int64(-1)
	for _, p := range d.Parts {
		bytes += p.Bytes
		if p.Bytes > most {
			largest, most = p.Path, p.Bytes
		}
		if err := place.DropCache(p.Path); err != nil {
			return r, 0, err
		}
	}
	measured, err := place.MeasureRates(ctx, largest, place.MeasureEffort{Threads: threads, MemoryBytes: engine.FreeMemory()})
	return measured.KeptRates, bytes, err
}
