package cpu

import "testing"

// TestImage: all that is mapped of the program's file counts, and nothing else.
func TestImage(t *testing.T) {
	const maps = `00400000-00c00000 r-xp 00000000 fe:00 12                 /bin/atenia
00c00000-01000000 r--p 00800000 fe:00 12                 /bin/atenia
7f0000000000-7f0000100000 r--s 00000000 fe:00 77         /models/bin/atenia
7f0000200000-7f0000300000 r-xp 00000000 fe:00 78         /lib/libc.so.6
c000000000-c000400000 rw-p 00000000 00:00 0
nonsense
`
	if n := imageBytes([]byte(maps), "/bin/atenia"); n != 0x1000000-0x400000 {
		t.Errorf("%#x bytes", n)
	}
	if n := Image(); n < 1<<20 || n > 1<<30 {
		t.Errorf("this program has %d bytes", n)
	}
}
