package hw

import (
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"atenia/internal/store/durable"

	"golang.org/x/sys/unix"
)

// storageOf describes the storage of an absolute path, from the mount table and
// the block devices in /sys.
func storageOf(root fs.FS, dir string) *Storage {
	dir = existing(dir)
	st := onMount(root, dir)
	if free, ok := durable.FreeBytes(dir); ok {
		st.FreeBytes = known(free)
	}
	return st
}

// onMount is storageOf for a directory that exists.
func onMount(root fs.FS, dir string) *Storage {
	st := &Storage{Kind: unknown, Device: "unknown"}
	m, ok := mountOf(read(root, "proc/self/mountinfo"), dir)
	if !ok {
		return st
	}
	st.Mount, st.Filesystem = m.point, m.filesystem
	number := m.device
	if strings.HasPrefix(number, "0:") { // btrfs and the like use anonymous device numbers
		if n := read(root, "sys/class/block/"+path.Base(m.source)+"/dev"); n != "" {
			number = n
		}
	}
	block := "sys/dev/block/" + number
	st.Device = strings.Join(strings.Fields(number+" "+m.filesystem+" "+read(root, block+"/size")+" "+read(root, block+"/device/serial")), " ")
	st.Kind = kindOf(root, m, block)
	return st
}

// existing returns dir or its nearest existing ancestor, with symbolic links
// resolved.
func existing(dir string) string {
	for {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return real
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// kindOf determines the kind of a block device.
func kindOf(root fs.FS, m mount, block string) StorageKind {
	switch m.filesystem {
	case "tmpfs", "ramfs", "devtmpfs", "rootfs":
		return inMemory
	case "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "lustre", "gpfs", "glusterfs", "virtiofs", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone":
		return network
	}
	queue := block + "/queue"
	if _, err := fs.Stat(root, queue); err != nil { // a partition; the disk is the parent directory
		target, err := fs.ReadLink(root, block)
		if err != nil {
			return unknown
		}
		queue = path.Join(path.Dir(path.Join("sys/dev/block", target)), "queue")
	}
	if strings.HasPrefix(path.Base(m.source), "vd") || strings.HasPrefix(path.Base(m.source), "xvd") {
		return virtual // virtual disks claim to be rotational
	}
	switch read(root, queue+"/rotational") {
	case "0":
		return solid
	case "1":
		return rotating
	}
	return unknown
}

// A mount is one line of the mount table.
type mount struct{ device, point, filesystem, source string }

// mountOf finds the mount of an absolute, clean path: the one with the longest
// mount point above it, the last among equals. Lines are
//
//	36 35 98:0 /sub /point rw,noatime master:1 - ext3 /dev/root rw
func mountOf(table, dir string) (best mount, ok bool) {
	for line := range strings.Lines(table) {
		left, right, found := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !found || len(l) < 6 || len(r) < 2 {
			continue
		}
		point := unescape(l[4])
		if point != "/" && dir != point && !strings.HasPrefix(dir, point+"/") {
			continue
		}
		if !ok || len(point) >= len(best.point) {
			best, ok = mount{l[2], point, r[0], unescape(r[1])}, true
		}
	}
	return best, ok
}

// unescape replaces the octal escapes of a mount table.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// pageReporting reports whether the guest reports freed pages to its host: bit 5
// of the balloon device's features.
func pageReporting(root fs.FS) bool {
	const feature = 5
	dirs, _ := fs.Glob(root, "sys/bus/virtio/drivers/virtio_balloon/virtio*")
	for _, d := range dirs {
		if bits := read(root, d+"/features"); len(bits) > feature && bits[feature] == '1' {
			return true
		}
	}
	return false
}

// lockLimit returns how much memory this process may lock; false if there is no
// limit or the process has the capability to ignore it.
func lockLimit(root fs.FS) (uint64, bool) {
	const capIPCLock = 14
	for line := range strings.Lines(read(root, "proc/self/status")) {
		if set, ok := strings.CutPrefix(line, "CapEff:"); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64); err == nil && n>>capIPCLock&1 == 1 {
				return 0, false
			}
		}
	}
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &r) != nil || r.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	return r.Cur, true
}
