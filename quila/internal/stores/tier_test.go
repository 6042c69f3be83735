package stores

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"atenia/internal/machine/ledger"
	"atenia/internal/memory"
)

// newest keeps the pages that were made last.
func newest(_ Level, pages []*Page, out []float64) {
	for i, p := range pages {
		out[i] = float64(p.Block())
	}
}

func group(t *testing.T, c TierConfig, l2, l3, l5 uint64, soft bool) (*Memory, *Group) {
	m := NewMemory(c)
	g, err := m.Group("g", KFEHot, []Quota{{L2, l2, false}, {L3, l3, false}, {L5, l5, soft}}, newest)
	if err != nil {
		t.Fatal(err)
	}
	return m, g
}

func pageOf(t *testing.T, g *Group, i int) *Page {
	p, err := g.Page(fmt.Sprint(i), 100, L2)
	if err != nil {
		t.Fatal(err)
	}
	copy(p.Bytes(), bytes.Repeat([]byte{byte(i + 1)}, 100))
	return p
}

// TestSettle: quotas hold, bytes are kept, the account has what is in RAM alone, a
// page that is in use stays, and a hard last level drops pages and their blocks.
func TestSettle(t *testing.T) {
	account, dir := ledger.New(nil, 0), t.TempDir()
	m, g := group(t, TierConfig{Account: account, Dir: dir}, 200, 100, 300, false)
	var pages []*Page
	for i := range 8 {
		p := pageOf(t, g, i)
		pages = append(pages, p)
		if err := g.Settle(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []Level{0, 0, L5, L5, L5, L3, L2, L2} {
		if got := pages[i].Level(); got != want {
			t.Errorf("page %d is in %v, want %v", i, got, want)
		}
	}
	if account.Held() != 300 || g.Used(L5) != 300 || g.Over(L2) != 0 {
		t.Errorf("%d bytes held, %d in L5", account.Held(), g.Used(L5))
	}
	files, err := filepath.Glob(filepath.Join(dir, "g", "*.zst"))
	if err != nil || len(files) != 3 {
		t.Errorf("%d blocks: %v", len(files), err)
	}
	if err := g.Move(t.Context(), pages[2], L3); err != nil || pages[2].Bytes()[99] != 3 {
		t.Errorf("a page came back: %v", err)
	}
	if err := m.Close(); err != nil || account.Held() != 0 {
		t.Errorf("closed: %d bytes held, %v", account.Held(), err)
	}
	// What lies in the folder is taken over.
	_, again := group(t, TierConfig{Dir: dir}, 0, memory.NoQuota, memory.NoQuota, true)
	for block, r := range again.Folder().All() {
		p, err := again.Adopt(fmt.Sprint(block), int(r.Length), block)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Move(t.Context(), p, L3); err != nil || p.Bytes()[0] != byte(block+1) {
			t.Errorf("block %d: %v", block, err)
		}
	}
}

// TestFailedMove: a block that cannot be written or read, and RAM that is full,
// leave the page where it was.
func TestFailedMove(t *testing.T) {
	dir, account := t.TempDir(), ledger.New(nil, 150)
	_, g := group(t, TierConfig{Account: account, Dir: dir}, 0, 1000, 1000, true)
	p := pageOf(t, g, 0)
	if _, err := g.Page("more", 100, L2); !errors.Is(err, ledger.ErrFull) {
		t.Errorf("a full account: %v", err)
	}
	if _, err := g.Page("0", 10, L2); err == nil {
		t.Error("a page of the same name")
	}
	if err := os.WriteFile(filepath.Join(dir, "g"), nil, 0o666); err != nil { // in place of the folder
		t.Fatal(err)
	}
	if err := g.Move(t.Context(), p, L3); err != nil {
		t.Fatal(err)
	}
	if err := g.Move(t.Context(), p, L5); err == nil || p.Level() != L3 || p.Bytes()[5] != 1 {
		t.Errorf("a folder that is a file: %v, the page is in %v", err, p.Level())
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "g")), g.Move(t.Context(), p, L5)); err != nil {
		t.Fatal(err)
	}
	q := pageOf(t, g, 1)
	if err := g.Move(t.Context(), p, L3); !errors.Is(err, ledger.ErrFull) || p.Level() != L5 {
		t.Errorf("no room: %v, the page is in %v", err, p.Level())
	}
	if err := g.Remove(q); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "g", fmt.Sprintf("%016x.zst", p.Block()))
	if err := os.Truncate(path, 20); err != nil {
		t.Fatal(err)
	}
	if err := g.Move(t.Context(), p, L3); !errors.Is(err, errDamaged) || p.Level() != L5 || account.Held() != 0 {
		t.Errorf("a cut block: %v, the page is in %v, %d bytes held", err, p.Level(), account.Held())
	}
}

func TestMemoryRefusals(t *testing.T) {
	m := NewMemory(TierConfig{})
	if _, err := m.Group("g", NMDB, []Quota{{L3, 1, false}, {L5, 1, false}}, newest); !errors.Is(err, ErrNoFolder) {
		t.Errorf("L5 without a folder: %v", err)
	}
	if _, err := m.Group("g", NMDB, []Quota{{L1, 1, false}, {L3, 1, false}}, newest); !errors.Is(err, ErrTransition) {
		t.Errorf("levels without a way: %v", err)
	}
	g, err := m.Group("g", NMDB, []Quota{{L3, 1, false}}, newest)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Page("p", 1, L2); !errors.Is(err, ErrTransition) {
		t.Errorf("a level that the group lacks: %v", err)
	}
	p, err := g.Page("p", 8, L3)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(g.Remove(p), nil); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove(p); !errors.Is(err, errNoPage) {
		t.Errorf("removed twice: %v", err)
	}
}
