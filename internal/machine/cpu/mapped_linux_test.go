package cpu

import "testing"

func TestResidentFiles(t *testing.T) {
	const smaps = `00400000-00c8d000 r-xp 00000000 fe:00 12 /bin/atenia
Size:               8756 kB
Rss:                4000 kB
00c8d000-01000000 r--p 00000000 fe:00 12 /bin/atenia
Rss:                1000 kB
7f00-7f01 r--s 00000000 fe:00 77 /models/a model.gguf
Rss:               30000 kB
Pss:               30000 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Rss:                 500 kB
7ffc-7ffd rw-p 00000000 00:00 0 [stack]
Rss:                 100 kB
7fff-7fff rw-s 00000000 00:01 0 /dev/zero (deleted)
Rss:                 700 kB
`
	if code, data, heap := residentFiles([]byte(smaps), 0xc000001230); code != 5000<<10 || data != 30000<<10 || heap != 500<<10 {
		t.Errorf("%d of code, %d of data, %d of heap", code, data, heap)
	}
	if code, _, heap := ResidentFiles(); code == 0 || heap < 64<<10 {
		t.Error("nothing of this program is in memory")
	}
}
