package cpu

import (
	"bytes"
	"os"
	"strconv"
)

// ResidentFiles returns how much of files is mapped and in memory: the code of
// this program with its libraries, and data. Both are 0 if that is not known.
func ResidentFiles() (code, data int64) {
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return 0, 0
	}
	return residentFiles(b)
}

// residentFiles adds up the lines "Rss:" of the mappings of files. The mappings
// of a file of which one is executable are code.
func residentFiles(smaps []byte) (code, data int64) {
	bytesOf, runs := map[string]int64{}, map[string]bool{}
	path := ""
	for line := range bytes.Lines(smaps) {
		f := bytes.Fields(line)
		switch {
		case len(f) == 0:
		case !bytes.HasSuffix(f[0], []byte(":")): // addresses, rights, offset, device, inode, path
			if path = ""; len(f) >= 6 && f[5][0] == '/' && string(f[4]) != "0" {
				path = string(bytes.Join(f[5:], []byte(" ")))
				runs[path] = runs[path] || bytes.IndexByte(f[1], 'x') >= 0
			}
		case path != "" && len(f) >= 2 && string(f[0]) == "Rss:":
			n, _ := strconv.ParseInt(string(f[1]), 10, 64)
			bytesOf[path] += n << 10
		}
	}
	for path, n := range bytesOf {
		if runs[path] {
			code += n
		} else {
			data += n
		}
	}
	return code, data
}
