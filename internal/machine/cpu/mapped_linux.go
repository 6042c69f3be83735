package cpu

import (
	"bytes"
	"os"
	"reflect"
	"strconv"
)

// ResidentFiles returns how much of files is mapped and in memory: the code of
// this program with its libraries, and data; and how much Go's heap has in memory.
// All are 0 if that is not known.
func ResidentFiles() (code, data, heap int64) {
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return 0, 0, 0
	}
	return residentFiles(b, reflect.ValueOf(new([64]byte)).Pointer())
}

// heapBits is how far apart addresses of Go's heap may be; mappings of the system
// are much farther away.
const heapBits = 36

// residentFiles adds up the lines "Rss:" of the mappings of files, and of those
// near an object on Go's heap. The mappings of a file of which one is executable
// are code.
func residentFiles(smaps []byte, object uintptr) (code, data, heap int64) {
	bytesOf, runs := map[string]int64{}, map[string]bool{}
	path, inHeap := "", false
	for line := range bytes.Lines(smaps) {
		f := bytes.Fields(line)
		switch {
		case len(f) == 0:
		case !bytes.HasSuffix(f[0], []byte(":")): // addresses, rights, offset, device, inode, path
			from, _, _ := bytes.Cut(f[0], []byte("-"))
			at, _ := strconv.ParseUint(string(from), 16, 64)
			inHeap = at>>heapBits == uint64(object)>>heapBits
			if path = ""; len(f) >= 6 && f[5][0] == '/' && string(f[4]) != "0" {
				path = string(bytes.Join(f[5:], []byte(" ")))
				runs[path] = runs[path] || len(f[1]) > 2 && f[1][2] == 'x'
			}
		case (path != "" || inHeap) && len(f) >= 2 && string(f[0]) == "Rss:":
			n, _ := strconv.ParseInt(string(f[1]), 10, 64)
			if inHeap {
				heap += n << 10
			} else {
				bytesOf[path] += n << 10
			}
		}
	}
	for path, n := range bytesOf {
		if runs[path] {
			code += n
		} else {
			data += n
		}
	}
	return code, data, heap
}
