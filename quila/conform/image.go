// HNSW-FMT: the file, read and searched plainly as hnswlib does.

package conform

import (
	"atenia/quila/internal/index"
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
)

// A plain is an image read by the table of section 6.2, with nothing checked but
// what the table says.
type plain struct {
	top    int
	entry  uint32
	links  [][][]uint32 // by node and level
	rows   [][]float32
	labels []uint64
}

// readPlain takes an image apart.
func readPlain(t *report, b []byte) plain {
	le := binary.LittleEndian
	u64 := func(at int) int { return int(le.Uint64(b[at:])) }
	n, record, label, data := u64(16), u64(24), u64(32), u64(40)
	for at, want := range map[int]int{0: 0, 56: 16, 64: 32, 72: 16, 88: 200} {
		if got := u64(at); got != want {
			t.Errorf("number at %d is %d, want %d", at, got, want)
		}
	}
	if m := math.Float64frombits(le.Uint64(b[80:])); m != 1/math.Log(16) {
		t.Errorf("mult is %v", m)
	}
	if data != 132 || label != 132+4*dim || record != label+8 {
		t.Fatalf("offsets %d, %d, %d", data, label, record)
	}
	p := plain{top: int(int32(le.Uint32(b[48:]))), entry: le.Uint32(b[52:])}
	list := func(at int) (links []uint32) {
		for i := range int(le.Uint16(b[at:])) {
			links = append(links, le.Uint32(b[at+4+4*i:]))
		}
		return links
	}
	at := 96
	for range n {
		p.links = append(p.links, [][]uint32{list(at)})
		row := make([]float32, dim)
		for i := range row {
			row[i] = math.Float32frombits(le.Uint32(b[at+data+4*i:]))
		}
		p.rows, p.labels = append(p.rows, row), append(p.labels, le.Uint64(b[at+label:]))
		at += record
	}
	for id := range n {
		length := int(le.Uint32(b[at:]))
		at += 4
		for range length / 68 {
			p.links[id] = append(p.links[id], list(at))
			at += 68
		}
	}
	if at != len(b) {
		t.Errorf("%d bytes are read, there are %d", at, len(b))
	}
	return p
}

// search is searchKnn of hnswlib with sorted lists for its heaps.
func (p *plain) search(q []float32, k, ef int) []uint64 {
	distance := func(id uint32) float64 {
		sum := 0.0
		for i, v := range p.rows[id] {
			sum += float64(v) * float64(q[i])
		}
		return 1 - sum
	}
	at := p.entry
	for level := p.top; level > 0; level-- {
		for moved := true; moved; {
			moved = false
			for _, nb := range p.links[at][level] {
				if distance(nb) < distance(at) {
					at, moved = nb, true
				}
			}
		}
	}
	type near struct {
		d  float64
		id uint32
	}
	put := func(list []near, n near) []near {
		i := 0
		for i < len(list) && list[i].d <= n.d {
			i++
		}
		return slices.Insert(list, i, n)
	}
	first := near{distance(at), at}
	best, open, seen := []near{first}, []near{first}, map[uint32]bool{at: true}
	for len(open) > 0 && !(open[0].d > best[len(best)-1].d && len(best) >= ef) {
		id := open[0].id
		open = open[1:]
		for _, nb := range p.links[id][0] {
			if seen[nb] {
				continue
			}
			seen[nb] = true
			if n := (near{distance(nb), nb}); len(best) < ef || n.d < best[len(best)-1].d {
				open, best = put(open, n), put(best, n)
				best = best[:min(len(best), ef)]
			}
		}
	}
	var out []uint64
	for _, n := range best[:min(k, len(best))] {
		out = append(out, p.labels[n.id])
	}
	return out
}

func hnswFormat(t *report) {
	r := rand.New(rand.NewPCG(11, 12))
	rows, queries := clustered(r, 3000), clustered(r, 100)
	x := newIndex(t, rows, index.GraphConfig{})
	for label := range uint64(500) {
		t.Must(x.Delete(3 * label)) // tombstones are not in the file
	}
	var image, again bytes.Buffer
	size := x.ImageBytes()
	n, err := x.Write(&image)
	t.Must(err)
	if n != size || int64(image.Len()) != size {
		t.Errorf("%d and %d bytes, %d were announced", n, image.Len(), size)
	}
	b := image.Bytes()
	y, err := index.ReadGraph(bytes.NewReader(b), int64(len(b)), index.GraphConfig{Dim: dim})
	t.Must(err)
	if got := y.Config(); got.M != 16 || got.EfConstruction != 200 {
		t.Errorf("parameters %+v", got)
	}
	_, err = y.Write(&again)
	t.Must(err)
	if !bytes.Equal(b, again.Bytes()) {
		t.Errorf("read and written, the image has other bytes")
	}
	p := readPlain(t, b)
	if len(p.rows) != 2500 {
		t.Errorf("%d elements, want 2500", len(p.rows))
	}
	same := 0.0
	for _, q := range queries {
		hits, err := y.Search(nil, q, k, 64)
		t.Must(err)
		was, err := x.Search(nil, q, k, 64)
		t.Must(err)
		if !slices.Equal(hits, was) {
			t.Errorf("after reading, other neighbours")
		}
		same += share(hits, p.search(q, k, 64)) / float64(len(queries))
	}
	t.Figure("%d bytes, %.4f of the neighbours are those of a plain search", len(b), same)
	if same < .99 {
		t.Errorf("%.4f of the neighbours are those of a plain search, at least .99", same)
	}
	for at, v := range map[int]byte{96: 33, 98: 2, 101: 0xff, 103: 0xff, 52: 0xff, 16: 1, 95: 0x80} {
		bad := bytes.Clone(b)
		bad[at] = v
		if _, err := index.ReadGraph(bytes.NewReader(bad), int64(len(bad)), index.GraphConfig{}); !errors.Is(err, index.ErrGraphFormat) {
			t.Errorf("byte %d spoiled: %v", at, err)
		}
	}
}
