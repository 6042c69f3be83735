package hw

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

const disks = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
28 27 8:1 / /data rw - xfs /dev/sda1 rw
29 27 259:3 /sub /data/fast rw - ext4 /dev/nvme0n1p3 rw
30 27 0:40 / /with\040space rw - btrfs /dev/nvme0n1 rw
31 27 0:23 / /dev/shm rw - tmpfs tmpfs rw
32 27 0:50 / /net rw - nfs4 host:/export rw
33 27 0:51 / /data/fast/over rw - overlay overlay rw
nonsense
`

func TestStorageKind(t *testing.T) {
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }
	root := fstest.MapFS{
		"proc/self/mountinfo":                      file(disks),
		"sys/dev/block/254:0/queue/rotational":     file("1"),
		"sys/dev/block/8:1":                        link("../../devices/pci/sda/sda1"),
		"sys/devices/pci/sda/sda1/size":            file("9"),
		"sys/devices/pci/sda/queue/rotational":     file("1"),
		"sys/dev/block/259:3":                      link("../../devices/pci/nvme0n1/nvme0n1p3"),
		"sys/devices/pci/nvme0n1/nvme0n1p3/size":   file("77"),
		"sys/devices/pci/nvme0n1/queue/rotational": file("0"),
		"sys/class/block/nvme0n1/dev":              file("259:0"),
		"sys/dev/block/259:0/queue/rotational":     file("0"),
		"sys/dev/block/259:0/size":                 file("1000"),
		"sys/dev/block/259:0/device/serial":        file("S 123  "),
	}
	for dir, want := range map[string]Storage{
		"/":                 {Mount: "/", Filesystem: "ext4", Device: "254:0 ext4", Kind: virtual},
		"/datax":            {Mount: "/", Filesystem: "ext4", Device: "254:0 ext4", Kind: virtual},
		"/data/slow":        {Mount: "/data", Filesystem: "xfs", Device: "8:1 xfs 9", Kind: rotating},
		"/data/fast":        {Mount: "/data/fast", Filesystem: "ext4", Device: "259:3 ext4 77", Kind: solid},
		"/with space/a/b/c": {Mount: "/with space", Filesystem: "btrfs", Device: "259:0 btrfs 1000 S 123", Kind: solid},
		"/dev/shm/x":        {Mount: "/dev/shm", Filesystem: "tmpfs", Device: "0:23 tmpfs", Kind: inMemory},
		"/net/home":         {Mount: "/net", Filesystem: "nfs4", Device: "0:50 nfs4", Kind: network},
		"/data/fast/over":   {Mount: "/data/fast/over", Filesystem: "overlay", Device: "0:51 overlay", Kind: unknown},
	} {
		if got := onMount(root, dir); *got != want {
			t.Errorf("%s: got %+v, want %+v", dir, *got, want)
		}
	}
	if got := onMount(fstest.MapFS{}, "/x"); got.Kind != unknown || got.Device == "" {
		t.Errorf("no table: %+v", got)
	}
}

// TestStorageWarning: a bad place for a cache is called one.
func TestStorageWarning(t *testing.T) {
	p := fake(fstest.MapFS{"proc/self/mountinfo": file("27 1 0:9 / / rw - nfs4 host:/ rw")})
	s, d, err := p.probe(t.Context(), Options{CacheDir: t.TempDir(), Depth: None})
	if err != nil || s.SSD.ReadMBps != nil {
		t.Fatal(err, s.SSD)
	}
	if !warned(d, "cache-on-network") || d.Storage.FreeBytes == nil {
		t.Errorf("got %+v, %v", d.Storage, d.Warnings)
	}
}

func TestPageReporting(t *testing.T) {
	const features = "sys/bus/virtio/drivers/virtio_balloon/virtio3/features"
	for bits, want := range map[string]bool{"0110010100": true, "0110000100": false, "01": false, "": false} {
		root := fstest.MapFS{features: file(bits)}
		if got := pageReporting(root); got != want {
			t.Errorf("%q: %v", bits, got)
		}
		_, d, err := fake(root).probe(t.Context(), Options{})
		if err != nil || warned(d, "page-reporting") != want {
			t.Errorf("%q: %v, %v", bits, d.Warnings, err)
		}
	}
}

func TestLockLimit(t *testing.T) {
	if _, limited := lockLimit(fstest.MapFS{"proc/self/status": file("Name:\tx\nCapEff:\t0000000000004000")}); limited {
		t.Error("limited in spite of the capability")
	}
	if n, limited := lockLimit(fstest.MapFS{"proc/self/status": file("CapEff:\t0000000000003fff")}); limited && n == 0 {
		t.Log("this process may lock nothing")
	}
}

func FuzzMountOf(f *testing.F) {
	f.Add(disks, "/data/fast/x")
	f.Add(`1 2 0:9 / /a\04 rw - x\777 \134`, "/a")
	f.Fuzz(func(t *testing.T, table, dir string) {
		m, ok := mountOf(table, dir)
		if ok && m.point != "/" && !strings.HasPrefix(dir, m.point) {
			t.Errorf("%q is not on %q", dir, m.point)
		}
	})
}
