package cpu

import (
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
)

// A MemoryReader reads [Memory] repeatedly: it keeps the system's files open and
// allocates nothing after [OpenMemory]. It must be used by one goroutine at a
// time.
type MemoryReader struct {
	info, stalls io.ReaderAt // nil if the file does not exist
	own          io.ReaderAt
	page         int64 // bytes
	root         fs.FS
	member       io.ReaderAt // names the groups of this process
	names        [512]byte   // its content when groups were opened, as far as it has room
	open         []fs.File
	groups       []controlGroup
	text         [16 << 10]byte // buffer for a file; the longest have 4 KiB
}

// A controlGroup is the files of one control group.
type controlGroup struct {
	limit, high, used, stat io.ReaderAt // high is nil in version 1
	inactive, active        string      // the lines of stat with cached files
}

// OpenMemory opens the files of the system and of this process's control groups.
// A group's limit may change later, and the process may move to another group:
// then the files are opened again, which allocates.
func OpenMemory() *MemoryReader { return openMemory(os.DirFS("/")) }

func openMemory(root fs.FS) *MemoryReader {
	r := &MemoryReader{page: int64(os.Getpagesize()), root: root}
	r.openFiles()
	return r
}

func (r *MemoryReader) openFiles() {
	root := r.root
	r.member = r.file(root, "proc/self/cgroup")
	copy(r.names[:], r.read(r.member))
	r.info = r.file(root, "proc/meminfo")
	r.stalls = r.file(root, "proc/pressure/memory")
	r.own = r.file(root, "proc/self/statm")
	controlGroups(root, "memory", func(dir string) {
		g := controlGroup{inactive: "inactive_file", active: "active_file"}
		if g.limit = r.file(root, path.Join(dir, "memory.max")); g.limit != nil {
			g.high = r.file(root, path.Join(dir, "memory.high"))
			g.used = r.file(root, path.Join(dir, "memory.current"))
		} else { // version 1
			g.inactive, g.active = "total_inactive_file", "total_active_file"
			g.limit = r.file(root, path.Join(dir, "memory.limit_in_bytes"))
			g.used = r.file(root, path.Join(dir, "memory.usage_in_bytes"))
		}
		g.stat = r.file(root, path.Join(dir, "memory.stat"))
		if g.limit != nil && g.used != nil {
			r.groups = append(r.groups, g)
		}
	})
}

// follow opens the files of other groups if the process was moved to them.
func (r *MemoryReader) follow() {
	text := r.read(r.member)
	n := min(len(text), len(r.names))
	if n > 0 && string(text[:n]) != string(r.names[:n]) {
		root := r.root
		r.Close()
		r.root, r.page = root, int64(os.Getpagesize())
		r.openFiles()
	}
}

// file opens a file that is closed with the reader; it returns nil on error.
func (r *MemoryReader) file(root fs.FS, name string) io.ReaderAt {
	f, err := root.Open(name)
	if err != nil {
		return nil
	}
	at, ok := f.(io.ReaderAt)
	if !ok {
		f.Close()
		return nil
	}
	r.open = append(r.open, f)
	return at
}

// Close closes the files.
func (r *MemoryReader) Close() {
	for _, f := range r.open {
		f.Close()
	}
	*r = MemoryReader{}
}

// Read returns the current state. Available is the smallest of what the system
// and every limited group have left.
func (r *MemoryReader) Read() Memory {
	var m Memory
	r.follow()
	info := r.read(r.info)
	if kib, ok := numberAfter(info, "MemTotal:"); ok {
		m.Total = kib << 10
		m.Limit = m.Total
	}
	kib, known := numberAfter(info, "MemAvailable:")
	m.Available, m.Free = kib<<10, kib<<10
	m.Own, m.Mapped = r.process()
	for i := range r.groups {
		limit, left, ok := r.group(&r.groups[i])
		if !ok {
			continue
		}
		if m.Limit == 0 || limit < m.Limit {
			m.Limit = limit
		}
		if m.GroupLimit == 0 || left < m.GroupAvailable {
			m.GroupLimit, m.GroupAvailable = limit, left
		}
		if !known || left < m.Available {
			m.Available, known = left, true
		}
	}
	text := r.read(r.stalls)
	some, ok := floatAfter(text, "some avg10=")
	full, ok2 := floatAfter(text, "full avg10=")
	if ok {
		m.Stalls.Known, m.Stalls.Some = true, some
	}
	if ok2 {
		m.Stalls.Known, m.Stalls.Full = true, full
	}
	return m
}

// process returns what this process has: memory, and pages of files.
func (r *MemoryReader) process() (own, mapped int64) {
	text := r.read(r.own) // pages: size, resident, of files and shared, …
	_, text = cutNumber(text)
	resident, text := cutNumber(text)
	mapped, _ = cutNumber(text)
	return max(0, resident-mapped) * r.page, mapped * r.page
}

// group returns the limit of a control group and what it has left; false if it
// has no limit. Its usage includes cached files, which are reclaimable.
func (r *MemoryReader) group(g *controlGroup) (limit, left int64, ok bool) {
	for _, f := range [...]io.ReaderAt{g.limit, g.high} {
		n, known := numberAfter(r.read(f), "") // version 2 writes "max" for no limit
		if known && n < 1<<60 && (!ok || n < limit) {
			limit, ok = n, true // version 1 writes nearly 2^63 for no limit
		}
	}
	if !ok {
		return 0, 0, false
	}
	used, ok := numberAfter(r.read(g.used), "")
	if !ok {
		return 0, 0, false
	}
	text := r.read(g.stat)
	inactive, _ := numberAfter(text, g.inactive)
	active, _ := numberAfter(text, g.active)
	return limit, min(limit, max(0, limit-used+inactive+active)), true
}

// read returns the content of a file, in the reader's buffer.
func (r *MemoryReader) read(f io.ReaderAt) []byte {
	if f == nil {
		return nil
	}
	n, err := f.ReadAt(r.text[:], 0)
	if err != nil && err != io.EOF {
		return nil
	}
	return r.text[:n]
}

// after returns the first field after a word and spaces at the start of a line.
func after(text []byte, word string) []byte {
	for len(text) > 0 {
		line := text
		text = nil
		for i, c := range line {
			if c == '\n' {
				line, text = line[:i], line[i+1:]
				break
			}
		}
		if len(line) < len(word) || string(line[:len(word)]) != word {
			continue
		}
		field := line[len(word):]
		start := 0
		for start < len(field) && field[start] == ' ' {
			start++
		}
		if start == 0 && word != "" && word[len(word)-1] != '=' && word[len(word)-1] != ':' {
			continue // a longer word
		}
		end := start
		for end < len(field) && field[end] != ' ' {
			end++
		}
		return field[start:end]
	}
	return nil
}

// numberAfter returns the natural number after a word at the start of a line.
func numberAfter(text []byte, word string) (n int64, ok bool) {
	digits := after(text, word)
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int64(c-'0'); n < 0 {
			return 0, false
		}
	}
	return n, true
}

// cutNumber returns the natural number before the first space, and the rest; 0
// for what is none.
func cutNumber(text []byte) (n int64, rest []byte) {
	for i, c := range text {
		if c < '0' || c > '9' || n > 1<<50 {
			return n, text[i+1:]
		}
		n = n*10 + int64(c-'0')
	}
	return n, nil
}

// floatAfter returns the number after a word at the start of a line.
func floatAfter(text []byte, word string) (float64, bool) {
	f, err := strconv.ParseFloat(string(after(text, word)), 64) // short, so the copy stays on the stack
	return f, err == nil && f >= 0
}
