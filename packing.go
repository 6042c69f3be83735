package atenia

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"atenia/internal/cpu"
	"atenia/internal/exec"
	"atenia/internal/pack"
)

// A Packing says whether a model's weights are packed, that is, copied to the
// order in which kernels stream them, and with which numbers that was decided.
type Packing = pack.Decision

// Packing returns what was decided when the model was opened.
func (m *Model) Packing() Packing { return m.packing }

// usualReserve is memory that packed weights leave to whoever else needs some.
const usualReserve = 256 << 20

// packConfig lets packed weights take what memory there is, less what caches
// may grow to.
func (p *Plan) packConfig() pack.Config {
	mode, _ := pack.ParseMode(p.cfg.Pack) // checked by withDefaults
	available := cpu.AvailableMemory()
	fixed, perToken := p.StateBytes()
	cache := int64(fixed+perToken*uint64(p.cfg.context(&p.model.Config))) * int64(p.cfg.Slots)
	if p.cfg.CacheBytes > 0 {
		cache = min(cache, p.cfg.CacheBytes)
	}
	return pack.Config{Mode: mode, Available: available, Reserve: max(usualReserve, available/16) + cache}
}

// execConfig is the configuration of the executor, but for where weights are.
func (p *Plan) execConfig() exec.Config {
	return exec.Config{
		Threads: p.cfg.Threads, MaxTokens: p.cfg.BatchTokens, MaxLogits: p.cfg.maxLogits(),
		Context: p.cfg.context(&p.model.Config), Precise: p.cfg.Precise,
	}
}

// maxLogits returns how many rows of logits a step may hold.
func (c *Config) maxLogits() int { return min(max(c.Slots, allRows), c.BatchTokens) }

func (m *Model) packConfig() pack.Config {
	c := m.plan.packConfig()
	c.Release, c.Disk = m.desc.Release, m.packFiles()
	return c
}

// packFiles says where the packed form of the model's files may be kept: beside
// them, or in the folder for those that lie where nothing may be written. Merged
// weights are packed anew each time.
func (m *Model) packFiles() pack.Disk {
	d := pack.Disk{Verify: m.cfg.PackVerify}
	path, err := filepath.Abs(m.Path())
	if m.Path() == "" || err != nil || m.cfg.Adapter != "" {
		return d
	}
	h := sha256.New()
	for _, p := range m.desc.Parts {
		st, err := os.Stat(p.Path)
		if err != nil {
			return d
		}
		fmt.Fprintln(h, st.Size(), st.ModTime().UnixNano())
	}
	d.Source = [sha256.Size]byte(h.Sum(nil))
	name := strings.TrimSuffix(filepath.Base(path), ".gguf")
	beside := filepath.Join(filepath.Dir(path), name+".packed")
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		beside = filepath.Join(path, name+".packed")
	}
	d.Paths = append(d.Paths, beside)
	if m.cfg.PackDir != "" {
		of := sha256.Sum256([]byte(path))
		d.Paths = append(d.Paths, filepath.Join(m.cfg.PackDir, fmt.Sprintf("%s-%x.packed", name, of[:6])))
	}
	return d
}
