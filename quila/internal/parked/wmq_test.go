package parked

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"atenia/internal/machine/ledger"
	"atenia/quila/internal/stores"
)

// TestNothingRunsBeside: the package starts no goroutine and knows no clock
// (INV-3).
func TestNothingRunsBeside(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range files {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		seen++
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", e.Name())
			case *ast.ImportSpec:
				if n.Path.Value == `"time"` {
					t.Errorf("%s imports time", e.Name())
				}
			}
			return true
		})
	}
	if seen == 0 {
		t.Error("no files")
	}
}

// TestHalf: the profile fp16 keeps contents in half precision.
func TestHalf(t *testing.T) {
	q, err := NewQueue[float32](QueueConfig{Dim: 2, Hot: 1, Cold: 1, Half: true}, stores.NewMemory(stores.TierConfig{}), "q")
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Seed([]float32{1 + 1./4096, 2}, 0); err != nil {
		t.Fatal(err)
	}
	hits, err := q.Retrieve(nil, []float32{1, 0}, 1, 0)
	if err != nil || len(hits) != 1 || hits[0].Content[0] != 1 {
		t.Errorf("%v, %v", hits, err)
	}
}

// TestNoRoom: a queue reserves all it will need, or is not made.
func TestNoRoom(t *testing.T) {
	account := ledger.New(nil, 1000)
	m := stores.NewMemory(stores.TierConfig{Account: account})
	if _, err := NewQueue[float64](QueueConfig{Dim: 8, Hot: 8, Cold: 8}, m, "q"); !errors.Is(err, ledger.ErrFull) || account.Held() != 0 {
		t.Errorf("%v, %d bytes held", err, account.Held())
	}
	if _, err := NewQueue[float64](QueueConfig{}, m, "q"); !errors.Is(err, errConfig) {
		t.Errorf("no dimensions: %v", err)
	}
	q, err := NewQueue[float64](QueueConfig{Dim: 2, Hot: 2, Cold: 2}, m, "q")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := q.Seed([]float64{1, 0}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(); err != nil || account.Held() != 0 {
		t.Errorf("closed: %v, %d bytes held", err, account.Held())
	}
}

func BenchmarkRetrieve(b *testing.B) {
	q, err := NewQueue[float32](QueueConfig{Dim: 128, Hot: 512, Cold: 4096}, stores.NewMemory(stores.TierConfig{}), "q")
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]float32, 128)
	for range 4608 {
		for i := range v {
			v[i] = float32(r.NormFloat64())
		}
		if err := q.Seed(v, 0); err != nil {
			b.Fatal(err)
		}
	}
	var hits []QueueHit[float32]
	for b.Loop() {
		if hits, err = q.Retrieve(hits[:0], v, 8, 0); err != nil {
			b.Fatal(err)
		}
	}
}
