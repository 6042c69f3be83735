package file

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"atenia/tensor"
)

// A released tensor takes no memory of the process, its neighbours keep theirs,
// and it reads as before.
func TestRelease(t *testing.T) {
	const n = 1 << 20
	path := filepath.Join(t.TempDir(), "m.gguf")
	var sources []TensorSource
	var want [][]byte
	for i := range 3 {
		data := bytes.Repeat([]byte{byte(i + 1), 7}, n/2)
		want = append(want, data)
		sources = append(sources, SourceOf(fmt.Sprint("t", i), tensor.View{DType: tensor.I8, Shape: tensor.Shape{n}, Data: data}))
	}
	if err := WriteGGUF(path, Metadata{}, sources); err != nil {
		t.Fatal(err)
	}
	for _, evict := range []bool{false, true} {
		d, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		check := func(what string, least, most int) {
			t.Helper()
			if got := residentBytes(t, address(d.Parts[0].data)); got < least || got > most {
				t.Errorf("evict %v, %s: %d bytes resident, want %d to %d", evict, what, got, least, most)
			}
		}
		touch(d)
		check("read", 3*n, 4*n)
		d.Release(d.Tensors[1].View.Data, evict)
		check("one released", 2*n, 2*n+1<<17)
		d.Release(want[0], evict) // not of the file
		for i := range want {
			if !bytes.Equal(d.Tensors[i].View.Data, want[i]) {
				t.Errorf("tensor %d reads otherwise", i)
			}
		}
	}
}

// residentBytes returns how much of the mapping at an address is in memory.
func residentBytes(t *testing.T, at uintptr) int {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	m := regexp.MustCompile(fmt.Sprintf(`(?m)^0*%x-[^\n]*\n(?:[A-Z][^\n]*\n)*?Rss: +(\d+) kB`, at)).FindSubmatch(smaps)
	if m == nil {
		t.Fatalf("no mapping at %x", at)
	}
	kb, _ := strconv.Atoi(string(m[1]))
	return kb << 10
}
