package residence

import (
	"fmt"

	"atenia/internal/exec"
	"atenia/internal/machine/ledger"
	"atenia/internal/memory/pack"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// A Tower is the weights of a model's encoder of images or sounds. They are not
// among those of [Tensors]: most requests are text, so they are loaded with the
// first image or sound.
type Tower struct {
	Weights exec.Weights
	block   ledger.Block
}

// OfTower materializes the weights of a tower, which stay in memory until it is
// closed. The files must stay open as long. Within a limit they are copied, and
// reserved in the account; without one they are views of the mapped files, as far as
// kernels read what the files have.
func OfTower(m *compile.Model, d *file.Description, a *ledger.Account) (*Tower, error) {
	t := &Tower{Weights: exec.Weights{}}
	var room []byte
	if a.Limit() > 0 {
		n := TowerBytes(m, d)
		var err error
		if t.block, err = ledger.NewBlock(a, ledger.Weights, int(n)); err != nil {
			return nil, fmt.Errorf("its weights: %w", err)
		}
		room = t.block.Bytes
	}
	for _, b := range m.Plans.VisionEncode.Plan.Weights {
		v, err := compile.MaterializeOne(m.Weights[b.Name], d)
		if err != nil {
			t.Close()
			return nil, fmt.Errorf("weight %s: %w", b.Name, err)
		}
		if n := aligned(int64(len(v.Data))); n <= int64(len(room)) {
			copy(room, v.Data)
			v.Data, room = room[:len(v.Data):len(v.Data)], room[n:]
		}
		t.Weights[b.Name] = v
	}
	return t, nil
}

// Close frees the weights.
func (t *Tower) Close() {
	t.block.Release()
	t.Weights = nil
}

// TowerBytes returns what the weights of a model's tower take; 0 if it has none.
func TowerBytes(m *compile.Model, d *file.Description) (n int64) {
	if m.Plans.VisionEncode == nil {
		return 0
	}
	for _, b := range m.Plans.VisionEncode.Plan.Weights {
		w := m.Weights[b.Name]
		n += aligned(describe(&w, d).Bytes)
	}
	return n
}

// towerStep is by how many rows a tower of images grows: it is made anew for the first
// image that is larger than those before, and images are of many sizes.
const towerStep = 1 << 10

// TowerConfig is how a model's tower runs for so many rows: patches of the largest
// image, or frames of a window of sound, which is always as long.
func TowerConfig(m *compile.Config, rows, threads int, precise bool, a *ledger.Account) exec.Config {
	c := exec.Config{Threads: threads, Precise: precise, Account: a, MaxTokens: rows}
	c.Pack = pack.Config{Mode: pack.Off, Because: "the encoder runs once a window"}
	if m.Audio == nil {
		c.MaxTokens, c.Halves = (rows+towerStep-1)/towerStep*towerStep, true
		c.Pack.Because = "images are few"
	}
	return c
}

// TowerNeed returns what a tower takes altogether: weights, and buffers for so many
// rows, as [exec.NewTower] has them.
func TowerNeed(m *compile.Model, d *file.Description, c exec.Config) (int64, error) {
	need, err := exec.MeasureTower(&m.Plans, Headers(m, d), c)
	return TowerBytes(m, d) + need.Registers + need.Work, err
}

// aligned rounds up to where the next weight begins.
func aligned(n int64) int64 { return (n + copyAlign - 1) / copyAlign * copyAlign }

// towers returns the weights that the tower alone reads.
func towers(m *compile.Model) map[string]bool {
	alone := map[string]bool{}
	if m.Plans.VisionEncode == nil {
		return alone
	}
	for _, b := range m.Plans.VisionEncode.Plan.Weights {
		alone[b.Name] = true
	}
	for _, mode := range m.Plans.TextModes() {
		for _, b := range m.Plans.ByMode(mode).Plan.Weights {
			delete(alone, b.Name)
		}
	}
	if s := m.Plans.Scatter; s != nil {
		for _, b := range s.Plan.Weights {
			delete(alone, b.Name)
		}
	}
	return alone
}
