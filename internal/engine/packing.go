package engine

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory/pack"
	"atenia/internal/memory/place"
	"atenia/internal/model/file"
)

// packing lets packed weights take what memory there is, less what is kept for others
// on the machine and for the keys and values that a placement has room for: those of
// [place.Rules].Batch sequences. Where more sequences need it, packed weights leave memory. It
// answers for "plan", and for whoever opens the model without a budget of his own.
func (p *Plan) packing() pack.Config {
	available := int64(0)
	if ledger.Process.Limit() > 0 {
		available = max(1, ledger.Process.Room()-ledger.Process.Of(ledger.Program))
	}
	e := p.Effective()
	cache := p.footprint.CacheBytes(PlaceConfig{Budget: e.Budget, Rules: e.Rules, Exec: e.exec(&p.Model.Config), CacheBytes: e.CacheBytes})
	return pack.Config{Mode: p.Config.Pack, Available: available, Reserve: available/16 + cache, Mixture: p.footprint.experts().Chosen > 0}
}

// packingOf is packing for the weights of open files.
func (p *Plan) packingOf(d *file.Description) pack.Config {
	c := p.packing()
	c.Release, c.Disk, c.Account = d.Release, p.packFiles(d), p.account
	return c
}

// packingWithin gives packed weights the rest of a placement's budget.
func (p *Plan) packingWithin(d *file.Description, pl *place.Placement) pack.Config {
	c := p.packingOf(d)
	if ram := pl.Input().RAM; ram > 0 && !p.Effective().Budget.Auto {
		c.Available, c.Bound, c.Reserve, c.Mixture = max(1, ram-pl.RAM()), true, 0, false // the budget has room for the files' form, too
	}
	return c
}

// inPlace reports whether a weight that is read into memory is packed there.
func (f *footprint) inPlace(t *place.Tensor, c *PlaceConfig) bool {
	w := f.headers[t.Name]
	return t.Held == "" && t.Multiplied() && !c.Exec.Precise && c.Exec.Pack.Mode != pack.Off &&
		len(w.Shape) == 2 && pack.InPlace(w.DType, w.Shape.Rows(), w.Shape.Cols())
}

// packs reports whether the weights are packed that a placement has in memory, of which it
// streams none: rows of a table may be read from the disk.
func (f *footprint) packs(c *PlaceConfig, pl *place.Placement) (bool, error) {
	if pl.Spills() {
		in := pl.Input()
		return pl.Ring.Units == 0 && slices.ContainsFunc(in.Tensors, func(t place.Tensor) bool { return f.inPlace(&t, c) }), nil
	}
	need, err := f.Need(f.within(*c, pl).Exec)
	if err != nil {
		return false, err
	}
	return need.Packing.Mode != pack.Off || f.holds(c, pl, &need.Packing), nil
}

// holds reports whether weights that all have room are read into memory, to be packed
// there, where a packed form beside the mapped files has no room.
func (f *footprint) holds(c *PlaceConfig, pl *place.Placement, d *pack.Decision) bool {
	in := pl.Input()
	if pl.Spills() || in.RAM == 0 || !d.Short() {
		return false
	}
	some := false
	for i := range f.tensors {
		if f.tensors[i].Experts > 0 { // of which a cache holds those that are chosen
			return false
		}
		some = some || f.inPlace(&f.tensors[i], c)
	}
	return some
}

// loaded returns a placement that weights are read into memory for, nil if they are mapped.
func (p *Plan) loaded(pl *place.Placement) (*place.Placement, error) {
	if pl == nil || pl.Spills() {
		return pl, nil
	}
	if p.Config.NoMap { // they are in memory already
		return nil, nil
	}
	c := p.placeConfig()
	need, err := p.footprint.Need(p.footprint.within(c, pl).Exec)
	if err != nil || !p.footprint.holds(&c, pl, &need.Packing) {
		return nil, err
	}
	return pl, nil
}

// packFiles returns where the packed form of the model's files may be kept:
// beside them, or in the cache folder if theirs is read-only. Merged weights
// are packed anew each time.
func (p *Plan) packFiles(d *file.Description) pack.Disk {
	disk := pack.Disk{Verify: p.Config.PackVerify}
	given := PathOf(d)
	path, err := filepath.Abs(given)
	if given == "" || err != nil || p.Config.Lora != "" {
		return disk
	}
	h := sha256.New()
	for _, part := range d.Parts {
		st, err := os.Stat(part.Path)
		if err != nil {
			return disk
		}
		fmt.Fprintln(h, st.Size(), st.ModTime().UnixNano())
	}
	disk.Source = [sha256.Size]byte(h.Sum(nil))
	name := strings.TrimSuffix(filepath.Base(path), ".gguf")
	beside := filepath.Join(filepath.Dir(path), name+".packed")
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		beside = filepath.Join(path, name+".packed")
	}
	disk.Paths = append(disk.Paths, beside)
	if p.Config.PackDir != "" {
		of := sha256.Sum256([]byte(path))
		disk.Paths = append(disk.Paths, filepath.Join(p.Config.PackDir, fmt.Sprintf("%s-%x.packed", name, of[:6])))
	}
	return disk
}
