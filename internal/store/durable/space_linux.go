package durable

import "golang.org/x/sys/unix"

// freeBytes returns what users may still write to the disk of a folder that exists.
func freeBytes(dir string) (int64, bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}
