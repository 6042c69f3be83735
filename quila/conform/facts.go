package conform

// The hashed memory and the persona.

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"atenia/grad"
	"atenia/quila/internal/stores"
)

func engramProbes(t *report) {
	const dim = 16
	var last time.Duration
	for _, size := range []int{7, 10, 14, 17, 20} { // about 10² to 10⁶ rows
		table, err := stores.NewEngramTable(stores.EngramConfig{Bits: size, Dim: dim, Mul: stores.DefaultMultipliers()}, stores.NewMemory(stores.TierConfig{}))
		t.Must(err)
		dst, codes := make([]float32, stores.Heads*dim), []uint32{1, 2, 3, 4}
		const lookups = 2000
		start := time.Now()
		for i := range lookups {
			codes[3] = uint32(i)
			n, err := stores.Lookup(t.Context(), table, dst, codes)
			t.Must(err)
			if n != 8 {
				t.Errorf("%d rows of a table of 2^%d", n, size)
			}
		}
		last = time.Since(start) / lookups
		if table.Reads() != 8*lookups {
			t.Errorf("%d rows read by %d lookups", table.Reads(), lookups)
		}
		t.Must(table.Close())
	}
	right := closedBook(t)
	if right < .95 {
		t.Errorf("%.1f %% of 200 facts, want 95", 100*right)
	}
	t.Figure("8 probes; %v a lookup at 2^20 rows; %.1f %% of 200 facts", last, 100*right)
}

// closedBook teaches 200 facts to the table alone and returns how many it knows. A
// fact is a key of three letters and a code.
func closedBook(t *report) float64 {
	const dim, codes, size, facts, steps = 32, 64, 12, 200, 60
	r := source(9)
	var reg grad.Registry[float32]
	stores.RegisterEngram(&reg)
	tape := grad.New(&reg)
	mul := stores.DefaultMultipliers()
	scaled := func(n int, s float32) []float32 {
		v := normals(r, n)
		for i := range v {
			v[i] *= s
		}
		return v
	}
	table, wk, wv := scaled(dim<<size, .1), scaled(dim*dim, .2), scaled(dim*dim, .2)
	for i := range dim {
		wv[i*dim+i]++
	}
	read, book, grid := make([]float32, dim*dim), normals(r, codes*dim), normals(r, dim)
	for i := range dim {
		read[i*dim+i] = 1
	}
	contexts, targets := make([][]uint32, facts), make([]int32, facts)
	for i := range contexts {
		contexts[i] = []uint32{uint32('a' + i%26), uint32('a' + i/26), '='}
		targets[i] = int32(r.IntN(codes))
	}
	var params []*grad.Param[float32]
	for i, v := range [][]float32{table, wk, wv} {
		params = append(params, &grad.Param[float32]{Name: fmt.Sprint(i), Shape: []int{len(v) / dim, dim}, Value: v, Grad: make([]float32, len(v))})
	}
	opt, err := grad.NewOptimizer(grad.AdamW{}, params, nil)
	t.Must(err)
	for step := range steps {
		tape.Reset()
		tb, k, v := tape.Param(table, 1<<size, dim), tape.Param(wk, dim, dim), tape.Param(wv, dim, dim)
		other := tape.Param(grid, 1, dim) // of the grid: the loss must not reach it
		b := stores.Book{Table: tb, Keys: k, Values: v, Read: tape.Const(read, dim, dim), Codebook: tape.Const(book, codes, dim), Tau: 1}
		loss, logits, err := stores.ClosedBook(tape, b, contexts, targets, size, &mul)
		t.Must(err)
		if step == steps-1 {
			return accuracy(tape.Value(logits), targets, codes)
		}
		t.Must(tape.Backward(loss))
		if _, ok := tape.Grad(other); ok {
			t.Errorf("the grid has a gradient")
		}
		for i, p := range []grad.Ref{tb, k, v} {
			g, ok := tape.Grad(p)
			if !ok {
				t.Fatalf("no gradient of tensor %d", i)
			}
			copy(params[i].Grad, g)
		}
		opt.Step(.03, 1)
	}
	return 0
}

// accuracy is the share of rows whose largest logit is the target's.
func accuracy(logits []float32, targets []int32, codes int) (right float64) {
	for i, want := range targets {
		row := logits[i*codes : (i+1)*codes]
		if slices.Index(row, slices.Max(row)) == int(want) {
			right += 1 / float64(len(targets))
		}
	}
	return right
}

// personaNVRAM keeps a persona in a folder that stands for non-volatile memory.
func personaNVRAM(t *report) {
	dir := t.Dir()
	warnings := 0
	open := func() *stores.Vector {
		v, err := stores.OpenPersona(stores.PersonaConfig{Dim: 64, NVRAM: dir, Path: filepath.Join(t.Dir(), "never"), Warn: func(string) { warnings++ }})
		t.Must(err)
		return v
	}
	v := open()
	want := normals(source(10), 64)
	t.Must(v.Set(want))
	if v.Medium() != stores.NVRAM || filepath.Dir(v.Path()) != dir {
		t.Errorf("it is kept in %v, %s", v.Medium(), v.Path())
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(v.Values())))
	if found, known := mappedFrom(at, v.Path()); known && !found {
		t.Errorf("the values at %#x are not memory of %s", at, v.Path())
	}
	// A killed process closes nothing: what it leaves is the file as it is now.
	again := open()
	for i, x := range again.Values() {
		if math.Float32bits(x) != math.Float32bits(want[i]) {
			t.Fatalf("value %d is %g after a kill, want %g", i, x, want[i])
		}
	}
	if warnings != 0 {
		t.Errorf("%d warnings", warnings)
	}
	t.Must(again.Close())
	t.Must(v.Close())
}

// mappedFrom reports whether an address lies in memory that is mapped from a file,
// and whether the system can tell.
func mappedFrom(at uintptr, path string) (found, known bool) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return false, false
	}
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x", &from, &to); n == 2 && from <= at && at < to {
			return strings.HasSuffix(strings.TrimSpace(line), path), true
		}
	}
	return false, true
}

// personaFallback keeps one where there is no such memory.
func personaFallback(t *report) {
	mounts := filepath.Join(t.Dir(), "mounts")
	t.Must(os.WriteFile(mounts, []byte("/dev/sda1 / ext4 rw,relatime 0 0\n/dev/pmem9 /ro ext4 ro,dax=always 0 0\n"), 0o666))
	for _, x := range []struct {
		path   string
		medium stores.Medium
	}{{filepath.Join(t.Dir(), "persona"), stores.File}, {"", stores.RAM}} {
		var warnings []string
		c := stores.PersonaConfig{Dim: 8, Path: x.path, Mounts: mounts, Warn: func(s string) { warnings = append(warnings, s) }}
		v, err := stores.OpenPersona(c)
		t.Must(err)
		t.Must(v.Set(normals(source(11), 8)))
		if v.Medium() != x.medium {
			t.Errorf("kept in %v, want %v", v.Medium(), x.medium)
		}
		if len(warnings) != 1 || !strings.Contains(warnings[0], "persistence") {
			t.Errorf("warnings %q, want one about persistence", warnings)
		}
		t.Must(v.Close())
	}
	folder := t.Dir() // a mount with direct access is found by itself
	t.Must(os.WriteFile(mounts, []byte("/dev/pmem0 "+folder+" xfs rw,dax=always 0 0\n"), 0o666))
	v, err := stores.OpenPersona(stores.PersonaConfig{Dim: 8, Mounts: mounts, Warn: func(s string) { t.Errorf("warning %q", s) }})
	t.Must(err)
	if v.Medium() != stores.NVRAM {
		t.Errorf("a mount with direct access is not used: %v", v.Medium())
	}
	t.Must(v.Close())
}
