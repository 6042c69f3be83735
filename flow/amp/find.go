package amp

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Suffixes are the file name suffixes of node libraries.
var Suffixes = []string{".amp.so", ".amp.dylib", ".amp.dll"}

// maxFiles bounds the number of libraries examined.
const maxFiles = 10000

// Folders returns the search path, in order: the given folders, those of
// AMP_NODE_PATH, amp/nodes in the user's data folder, and the system's. getenv
// reads the environment; it returns "" for a variable that is not set.
func Folders(given []string, getenv func(string) string) []string {
	list := slices.Clone(given)
	for _, dir := range filepath.SplitList(getenv("AMP_NODE_PATH")) {
		if dir != "" {
			list = append(list, dir)
		}
	}
	if data := getenv("XDG_DATA_HOME"); data != "" {
		list = append(list, filepath.Join(data, "amp", "nodes"))
	} else if home := getenv("HOME"); home != "" {
		list = append(list, filepath.Join(home, ".local", "share", "amp", "nodes"))
	}
	return append(list, "/usr/local/lib/amp", "/usr/lib/amp")
}

// findLibraries lists the libraries below the folders, sorted by name within a folder. A
// missing folder is empty; an element of the list may itself be a library.
func findLibraries(folders []string) (files []string, err error) {
	seen := map[string]bool{}
	for _, dir := range folders {
		dir, err2 := filepath.Abs(dir)
		if err2 != nil {
			return nil, err2
		}
		err2 = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				return err
			}
			if d.IsDir() || suffix(path) == "" || seen[path] {
				return nil
			}
			if len(files) == maxFiles {
				return fmt.Errorf("more than %d libraries of nodes: name the folders more closely", maxFiles)
			}
			seen[path] = true
			files = append(files, path)
			return nil
		})
		err = errors.Join(err, err2)
	}
	return files, err
}

func suffix(path string) string {
	i := slices.IndexFunc(Suffixes, func(s string) bool { return strings.HasSuffix(path, s) })
	if i < 0 {
		return ""
	}
	return Suffixes[i]
}

// beside reads the manifest beside a library, nil if there is none.
func beside(path string) (*Manifest, error) {
	b, err := read(strings.TrimSuffix(path, suffix(path)) + ".amp.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseManifest(b)
}

// read reads a manifest or cache entry, up to the largest allowed size.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 2<<20))
}

// A TypeInfo is a node type that libraries provide.
type TypeInfo struct {
	Name     string
	Major    int
	Library  int   // index in Result.Libraries of the one that is used
	Shadowed []int // others that provide it, in the order of the search
}

// index determines which library is used for each type.
func index(list []LibraryInfo) []TypeInfo {
	type key struct {
		name  string
		major int
	}
	at := map[key]int{}
	var types []TypeInfo
	for i, l := range list {
		if l.Manifest == nil {
			continue
		}
		for _, n := range l.Manifest.Nodes {
			k := key{n.Type, l.Manifest.ABI[0]}
			j, ok := at[k]
			if !ok {
				at[k] = len(types)
				types = append(types, TypeInfo{Name: n.Type, Major: k.major, Library: i})
				continue
			}
			types[j].Shadowed = append(types[j].Shadowed, i)
		}
	}
	slices.SortStableFunc(types, func(a, b TypeInfo) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Major, b.Major)) })
	return types
}
