package stores

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"atenia/internal/golden/await"
	"atenia/internal/machine/ledger"
	"atenia/quila/config"
)

func nano(t testing.TB, neurons, dim int) *config.Config {
	c, err := config.Profile("nano")
	if err != nil {
		t.Fatal(err)
	}
	c.N, c.D = neurons, dim
	return &c
}

func store(t testing.TB, c *config.Config, o KFEOptions) *KFE {
	s, err := NewKFE(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func normals(r *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func unit(v []float32) []float32 {
	n := norm(v)
	for i := range v {
		v[i] /= n
	}
	return v
}

func putKFE(t testing.TB, s *KFE, neuron, n int, r *rand.Rand) {
	for i := range n {
		e := KFEEntry[float32]{ID: uint64(neuron)<<32 | uint64(i), Embedding: unit(normals(r, s.dim)), Snapshot: normals(r, s.dim), Utility: .5, Confidence: .7}
		if err := s.Insert(neuron, e); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKFEGradient compares the gradient of a recall with central differences, the
// choice of entries frozen: with and without clip, shadows among them, h_mid long
// and short against what is added.
func TestKFEGradient(t *testing.T) {
	const dim, n, h = 7, 5, 1e-6
	r := rand.New(rand.NewPCG(1, 2))
	wide := func(n int, s float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = s * r.NormFloat64()
		}
		return v
	}
	for _, clip := range []bool{false, true} {
		for _, length := range []float64{.3, 3} {
			ids := make([]uint64, n)
			keys, snaps, soft := wide(n*dim, .6), wide(n*dim, 1), []bool{false, true, false, false, true}
			mid, up := wide(dim, length), wide(dim, 1)
			m := Mix{Gain: .7, Clip: clip}
			loss := func() (s float64) {
				var x Recalled[float64]
				out := make([]float64, dim)
				x.Set(ids, keys, snaps, soft, dim)
				x.Add(out, mid, m)
				for i, y := range out {
					s += up[i] * y
				}
				return s
			}
			var x Recalled[float64]
			out, dMid := make([]float64, dim), make([]float64, dim)
			x.Set(ids, keys, snaps, soft, dim)
			x.Add(out, mid, m)
			const conf = .35
			x.Backward(dMid, up, conf)
			check := func(what string, v, d []float64, factor float64) {
				for i := range v {
					was := v[i]
					v[i] = was + h
					a := loss()
					v[i] = was - h
					b := loss()
					v[i] = was
					want := factor * (a - b) / (2 * h)
					if math.Abs(d[i]-want) > 1e-4*math.Max(1e-3, math.Abs(want)) {
						t.Errorf("clip %v, length %g: gradient of %s[%d] is %g, differences %g", clip, length, what, i, d[i], want)
					}
				}
			}
			check("h_mid", mid, dMid, 1)
			check("snapshots", snaps, x.DSnap, conf)
		}
	}
}

// TestDescend: what one step of descent changes, and that shadows have no part.
func TestDescend(t *testing.T) {
	c := nano(t, 1, 4)
	c.KFEClip = false
	s := store(t, c, KFEOptions{})
	for i := range 2 {
		e := KFEEntry[float32]{ID: uint64(i), Embedding: []float32{1, 0, 0, 0}, Snapshot: []float32{1, 2, 3, 4}, Soft: i == 1}
		e.Embedding[0], e.Embedding[i] = 0, 1
		if err := s.Insert(0, e); err != nil {
			t.Fatal(err)
		}
	}
	var x Recalled[float64]
	h := []float64{1, 1, 0, 0}
	NewKFEReader[float64](s).Recall(0, 0, h, make([]float64, 4), &x)
	x.Backward(make([]float64, 4), []float64{1, 0, -2, 0}, .5)
	kfeGradient(s, 0, &x)
	kfeGradient(s, 0, &x) // two sessions
	if err := s.Descend(context.Background()); err != nil {
		t.Fatal(err)
	}
	live, _ := s.Library(0).Get(0)
	if want := []float32{1 - .1, 2, 3 + .2, 4}; !near(live.Snapshot, want, 2e-3) {
		t.Errorf("snapshot %v, want %v", live.Snapshot, want)
	}
	if shadow, _ := s.Library(0).Get(1); !slices.Equal(shadow.Snapshot, []float32{1, 2, 3, 4}) {
		t.Errorf("a shadow was moved to %v", shadow.Snapshot)
	}
	if err := s.Replay(context.Background(), 0, []float32{3, 1, 0, 0}, []float32{9, 9, 9, 9}); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Library(0).Get(0); !near(got.Snapshot[:1], []float32{.99*.9 + .09}, 2e-3) {
		t.Errorf("after the micro-update %v", got.Snapshot)
	}
}

func near(a, b []float32, tol float64) bool {
	for i := range a {
		if math.Abs(float64(a[i]-b[i])) > tol {
			return false
		}
	}
	return len(a) == len(b)
}

// TestPageScore: a page is worth what its best entry is. One that was just
// recalled keeps an old neighbour in L2, and two entries of middling age go down
// before them.
func TestPageScore(t *testing.T) {
	const dim, now = 8, 2000
	c := nano(t, 1, dim)
	c.KFEPage = 2
	s := store(t, c, KFEOptions{})
	r := rand.New(rand.NewPCG(6, 1))
	for i, last := range []int64{now, 0, now / 2, now / 2} {
		if err := s.Insert(0, KFEEntry[float32]{ID: uint64(i), Embedding: unit(normals(r, dim)), Snapshot: normals(r, dim), Last: last}); err != nil {
			t.Fatal(err)
		}
	}
	s.SetTurn(now)
	if err := s.SetQuota(t.Context(), L2, uint64(2*stride(dim))); err != nil {
		t.Fatal(err)
	}
	for i, want := range []Level{L2, L2, L3, L3} {
		if got, ok := s.Library(0).Level(uint64(i)); !ok || got != want {
			t.Errorf("entry %d is in %v, want %v", i, got, want)
		}
	}
}

// TestTiersChangeNothing: recalls have the same bits wherever the entries are.
func TestTiersChangeNothing(t *testing.T) {
	const dim, n = 16, 40
	var outs [3][]float32
	for i := range outs {
		c := nano(t, 1, dim)
		c.KFEPage = 8
		s := store(t, c, KFEOptions{Memory: NewMemory(TierConfig{Dir: t.TempDir()}), Cold: true})
		r := rand.New(rand.NewPCG(3, 4))
		putKFE(t, s, 0, n, r)
		if i > 0 {
			quota := uint64(i-1) * uint64(8*stride(dim)) // none, or one page in RAM
			for _, l := range []Level{L2, L3} {
				if err := s.SetQuota(t.Context(), l, quota); err != nil {
					t.Fatal(err)
				}
			}
		}
		read := NewKFEReader[float32](s)
		for range 5 {
			h, out := normals(r, dim), make([]float32, dim)
			read.Recall(0, 0, h, out, nil)
			outs[i] = append(outs[i], out...)
			if err := s.Commit(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(outs[0], outs[1]) || !slices.Equal(outs[0], outs[2]) {
		t.Error("recalls depend on where entries are")
	}
}

// TestConcurrent: recalls of neurons and sessions at once, with and without other
// workers, give the same bits and leave the same store.
func TestConcurrent(t *testing.T) {
	const neurons, sessions, dim = 4, 6, 8
	run := func(workers int) (out []float32, entries string) {
		c := nano(t, neurons, dim)
		c.KFEPage = 4
		s := store(t, c, KFEOptions{Memory: NewMemory(TierConfig{Dir: t.TempDir()}), Cold: true})
		r := rand.New(rand.NewPCG(5, 6))
		for n := range neurons {
			putKFE(t, s, n, 10, r)
		}
		s.Learn(true)
		u := make([]float32, neurons)
		for i := range u {
			u[i] = r.Float32()
		}
		if err := errors.Join(s.SetSignals(u, u, u), s.SetQuota(t.Context(), L2, uint64(2*4*stride(dim))), s.SetQuota(t.Context(), L3, uint64(3*4*stride(dim)))); err != nil {
			t.Fatal(err)
		}
		read := NewKFEReader[float32](s)
		for turn := range int64(6) {
			mid := normals(r, neurons*sessions*dim)
			got := make([]float32, len(mid))
			jobs := make(chan int, neurons*sessions)
			for j := range neurons * sessions {
				jobs <- j
			}
			close(jobs)
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					for j := range jobs {
						read.Recall(j%neurons, j/neurons, mid[j*dim:(j+1)*dim], got[j*dim:(j+1)*dim], nil)
						if _, err := s.Offer(j%neurons, Offer{j / neurons, 1, 1, 1, 3, mid[j*dim : (j+1)*dim], got[j*dim : (j+1)*dim]}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if err := errors.Join(s.Commit(t.Context(), turn), s.EndTurn(t.Context(), turn)); err != nil {
				t.Fatal(err)
			}
			out = append(out, got...)
		}
		for n := range neurons {
			for e, err := range s.Library(n).Entries() {
				l, _ := s.Library(n).Level(e.ID)
				entries += fmt.Sprintln(e, l, err)
			}
		}
		return out, entries + fmt.Sprint(s.Counts(), s.Weights())
	}
	one, entries := run(1)
	for _, workers := range []int{2, 7} {
		got, other := run(workers)
		if !slices.Equal(got, one) || other != entries {
			t.Errorf("%d workers give another result", workers)
		}
	}
}

// TestEntriesUnlocked: in a loop over the entries of a library, it can be changed.
func TestEntriesUnlocked(t *testing.T) {
	const dim = 8
	s := store(t, nano(t, 1, dim), KFEOptions{})
	r := rand.New(rand.NewPCG(7, 8))
	putKFE(t, s, 0, 3, r)
	seen := make(chan []uint64, 1)
	go func() { // which waits for ever if a lock is held
		var ids []uint64
		for e, err := range s.Library(0).Entries() {
			if ids = append(ids, e.ID); len(ids) == 1 {
				err = errors.Join(err, s.Insert(0, KFEEntry[float32]{ID: 7, Embedding: unit(normals(r, dim)), Snapshot: normals(r, dim)}))
				s.mu.Lock()
				err = errors.Join(err, s.Library(0).remove(1))
				s.mu.Unlock()
			}
			if err != nil {
				t.Error(err)
			}
		}
		seen <- ids
	}()
	if ids := await.Value(t, "the end of the loop", seen); !slices.Equal(ids, []uint64{0, 2}) {
		t.Errorf("entries %v, want those that were there and still are", ids)
	}
}

// TestRefusals: what a store does not take leaves it as it was.
func TestKFERefusals(t *testing.T) {
	const dim = 8
	s := store(t, nano(t, 2, dim), KFEOptions{})
	r := rand.New(rand.NewPCG(7, 8))
	putKFE(t, s, 0, 3, r)
	nan := normals(r, dim)
	nan[2] = float32(math.NaN())
	good := func() KFEEntry[float32] {
		return KFEEntry[float32]{ID: 9, Embedding: unit(normals(r, dim)), Snapshot: normals(r, dim)}
	}
	bad := func(f func(*KFEEntry[float32])) KFEEntry[float32] { e := good(); f(&e); return e }
	for _, x := range []struct {
		what string
		err  error
		is   error
	}{
		{"NaN embedding", s.Insert(0, bad(func(e *KFEEntry[float32]) { e.Embedding = nan })), errNotFinite},
		{"NaN snapshot", s.Insert(0, bad(func(e *KFEEntry[float32]) { e.Snapshot = nan })), errNotFinite},
		{"NaN utility", s.Insert(0, bad(func(e *KFEEntry[float32]) { e.Utility = nan[2] })), errNotFinite},
		{"zero embedding", s.Insert(0, bad(func(e *KFEEntry[float32]) { e.Embedding = make([]float32, dim) })), errNotFinite},
		{"short embedding", s.Insert(0, bad(func(e *KFEEntry[float32]) { e.Embedding = e.Embedding[1:] })), errKFEShape},
		{"taken id", s.Insert(0, bad(func(e *KFEEntry[float32]) { e.ID = 1 })), errDuplicate},
		{"neuron", s.Insert(2, good()), errNoNeuron},
		{"negative neuron", s.Insert(-1, good()), errNoNeuron},
		{"unknown entry", s.Accuse(0, 77, Penalty), errNoEntry},
		{"signals", s.SetSignals(nan[:1], nan[:2], nan[:2]), errKFEShape},
		{"NaN signals", s.SetSignals(nan[:2], nan[1:3], nan[:2]), errNotFinite},
		{"weights", s.SetWeights(KFEWeights{math.NaN()}), errNotFinite},
		{"replay", s.Replay(t.Context(), 0, nan, nan), errNotFinite},
	} {
		if !errors.Is(x.err, x.is) {
			t.Errorf("%s: %v", x.what, x.err)
		}
	}
	if ok, err := s.Offer(0, Offer{0, 1, 1, 1, 3, nan, nan}); ok || !errors.Is(err, errNotFinite) {
		t.Errorf("offer of NaN: %v, %v", ok, err)
	}
	out := make([]float32, dim)
	NewKFEReader[float32](s).Recall(0, 0, nan, out, nil)
	if !slices.Equal(out[:2], nan[:2]) || out[2] == out[2] {
		t.Errorf("a recall of NaN gives %v", out)
	}
	if err := s.Commit(t.Context(), 1); err != nil || s.Len() != 3 {
		t.Errorf("%d entries, %v", s.Len(), err)
	}
}

// TestNoRoom: an account that is full refuses entries and keeps those that are
// there.
func TestNoRoom(t *testing.T) {
	const dim = 8
	c := nano(t, 1, dim)
	c.KFEPage = 4
	account := ledger.New(nil, 16<<10)
	s := store(t, c, KFEOptions{Memory: NewMemory(TierConfig{Account: account})})
	r := rand.New(rand.NewPCG(9, 10))
	var err error
	n := 0
	for ; n < 1000 && err == nil; n++ {
		err = s.Insert(0, KFEEntry[float32]{ID: uint64(n), Embedding: unit(normals(r, dim)), Snapshot: normals(r, dim)})
	}
	if !errors.Is(err, ledger.ErrFull) || n < 4 || s.Len() != n-1 || s.Library(0).Index().Len() != n-1 {
		t.Fatalf("%d entries, %d in the index, after %d: %v", s.Len(), s.Library(0).Index().Len(), n, err)
	}
	out := make([]float32, dim)
	var x Recalled[float32]
	NewKFEReader[float32](s).Recall(0, 0, normals(r, dim), out, &x)
	if len(x.IDs) != min(n-1, 32) {
		t.Errorf("a full store recalls %d", len(x.IDs))
	}
}

// TestRestore: entries and the image of their index, written and read.
func TestRestore(t *testing.T) {
	const dim = 8
	s := store(t, nano(t, 1, dim), KFEOptions{})
	putKFE(t, s, 0, 20, rand.New(rand.NewPCG(11, 12)))
	var image bytes.Buffer
	if _, err := s.Library(0).Index().Write(&image); err != nil {
		t.Fatal(err)
	}
	var entries []KFEEntry[float32]
	for e, err := range s.Library(0).Entries() {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	again := store(t, nano(t, 1, dim), KFEOptions{})
	if err := again.Restore(0, entries, bytes.NewReader(image.Bytes()), int64(image.Len())); err != nil {
		t.Fatal(err)
	}
	var second bytes.Buffer
	if _, err := again.Library(0).Index().Write(&second); err != nil || !bytes.Equal(image.Bytes(), second.Bytes()) {
		t.Errorf("the image is another one: %v", err)
	}
	i := 0
	for e := range again.Library(0).Entries() {
		if fmt.Sprint(e) != fmt.Sprint(entries[i]) {
			t.Errorf("entry %d is %v", i, e)
		}
		i++
	}
	entries[3].Embedding[0] += .5
	if err := store(t, nano(t, 1, dim), KFEOptions{}).Restore(0, entries, bytes.NewReader(image.Bytes()), int64(image.Len())); !errors.Is(err, errKFEShape) {
		t.Errorf("an index of other embeddings: %v", err)
	}
}

// TestAllocs: a recall allocates nothing once it has run.
func TestAllocs(t *testing.T) {
	if testing.Short() || await.Race {
		t.Skip("the race detector allocates")
	}
	const dim = 64
	s := store(t, nano(t, 1, dim), KFEOptions{})
	r := rand.New(rand.NewPCG(13, 14))
	putKFE(t, s, 0, 100, r)
	read, h, out := NewKFEReader[float32](s), normals(r, dim), make([]float32, dim)
	step := func() {
		read.Recall(0, 0, h, out, nil)
		if err := s.Commit(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := await.Allocs(50, step); n > 0 {
		t.Errorf("%g allocations a recall", n)
	}
}

func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{100, 1000, 17_643} {
		b.Run(fmt.Sprintf("D=128/entries=%d", n), func(b *testing.B) {
			c := nano(b, 1, 128)
			s := store(b, c, KFEOptions{})
			r := rand.New(rand.NewPCG(15, 16))
			putKFE(b, s, 0, n, r)
			read, h, out := NewKFEReader[float32](s), normals(r, 128), make([]float32, 128)
			for b.Loop() {
				read.Recall(0, 0, h, out, nil)
				s.libs[0].used = 0
			}
		})
	}
}
