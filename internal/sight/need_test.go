package sight

import (
	"path/filepath"
	"testing"

	"atenia/internal/exec"
	"atenia/internal/golden"
	"atenia/internal/machine/ledger"
	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// TestNeedSuffices: an account of what an image is said to need has room for it, and
// one of less has not.
func TestNeedSuffices(t *testing.T) {
	d, err := file.Open(filepath.Join(golden.Root(t), "testdata", "golden", "parity", "qwen2_vl"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m, err := compile.Compile(d, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := m.Config.Vision
	p := &exec.Patches{Grid: [3]int{1, 30, 50}}
	p.Values = make([]float32, 1500*v.Patch*v.Patch*v.Channels*v.Temporal)
	for less, works := range map[int64]bool{0: true, 1 << 16: false} {
		e, err := Open(Config{Model: m, Files: d, Threads: 1, Account: ledger.New(ledger.Process, 0)})
		if err != nil {
			t.Fatal(err)
		}
		need, err := e.Need(1500)
		if err != nil {
			t.Fatal(err)
		}
		e.c.Account.SetLimit(need - less)
		if _, err := e.encode(p); (err == nil) != works {
			t.Errorf("%d bytes less than %d: %v", less, need, err)
		}
		e.Close()
		if n := e.c.Account.Held(); n != 0 {
			t.Errorf("%d bytes are held after all is closed", n)
		}
	}
}
