package atenia

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"atenia/internal/engine"
	"atenia/internal/store/durable"
	"atenia/place"
)

// ErrNoRun matches the error of [ReadLastRun] for a model without an account.
var ErrNoRun = errors.New("no run is on record")

const (
	accountVersion = 4
	accountFolder  = "runs"
	accountEnding  = ".json"
	newestName     = "newest.json" // the latest run of any model
	mostAccount    = 16 << 20
)

// fullName names a model from any folder.
func fullName(model string) string {
	if model != "" {
		folder, _ := engine.Folder(model)
		if abs, err := filepath.Abs(folder); err == nil {
			return abs
		}
	}
	return engine.Display(model)
}

// accountPath returns the file of a model's account.
func accountPath(dir, model string) string {
	sum := sha256.Sum256([]byte(fullName(model)))
	return filepath.Join(dir, accountFolder, fmt.Sprintf("%x%s", sum[:12], accountEnding))
}

// ReadLastRun reads the account of the last run of a model that wrote one,
// "atenia-story" for the embedded one, or of any model for "". [place.LastRun].Later names a
// run since then that wrote none. Dir is that of [Observation].Account. A model that was
// not run yet is an error that matches [ErrNoRun].
func ReadLastRun(dir, model string) (*place.LastRun, error) {
	path := filepath.Join(dir, accountFolder, newestName)
	if model == engine.Display("") {
		path = accountPath(dir, "")
	} else if model != "" {
		path = accountPath(dir, model)
	}
	later := func(after int64) *place.RunWithout {
		if model == "" {
			return lastWithout(dir, "", after)
		}
		r := lastWithout(dir, markPrefix(path), after)
		if r != nil {
			r.Model = model
		}
		return r
	}
	f, err := durable.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		if r := later(0); r != nil {
			return nil, fmt.Errorf("%s: %w: %s", engine.Display(model), ErrNoRun, r)
		}
		return nil, fmt.Errorf("%s: %w", engine.Display(model), ErrNoRun)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostAccount))
	if err != nil {
		return nil, err
	}
	r := &place.LastRun{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: not the account of a run: %w; run the model again", path, err)
	}
	if r.Version != accountVersion {
		return nil, fmt.Errorf("%s: an account of version %d, this program reads %d; run the model again", path, r.Version, accountVersion)
	}
	r.Later = later(cmp.Or(r.Opened, r.Started*int64(time.Second)))
	r.SeenFrom(here())
	return r, nil
}

// save replaces the account of the model, and that of the newest run, but for those of runs
// that began later and ended before.
func saveRun(r *place.LastRun, dir, model string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, accountFolder), 0o777); err != nil {
		return err
	}
	for _, path := range []string{accountPath(dir, model), filepath.Join(dir, accountFolder, newestName)} {
		var there struct {
			Opened int64 `json:"opened_unix_nano"`
		}
		if b, err := durable.ReadRegular(path, mostAccount); err == nil && json.Unmarshal(b, &there) == nil && there.Opened > r.Opened && r.Opened > 0 {
			continue
		}
		if err := durable.Replace(path, func(w io.Writer) error {
			_, err := w.Write(append(b, '\n'))
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
