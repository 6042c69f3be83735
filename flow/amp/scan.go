package amp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"atenia/internal/machine/watch"
)

// ScanLimit is the default time limit for a library's description.
const ScanLimit = 5 * time.Second

// A ScanConfig says where to search and how to query libraries.
type ScanConfig struct {
	Folders []string // or libraries themselves; see Folders
	// Command is the program and arguments that end up in [ServeManifest], without the
	// library, which is appended. Nil: libraries without a manifest are errors.
	Command []string
	Cache   string        // folder of the cache; "": no cache
	Limit   time.Duration // zero means [ScanLimit]
}

// A Source says where a description comes from.
type Source int

// The sources.
const (
	FromManifest Source = iota // a manifest beside it
	FromCache                  // the cache of an earlier scan
	FromScan                   // a child that loaded the library
)

var sources = []string{"manifest", "cache", "scan"}

// String returns the source's name.
func (s Source) String() string { return sources[s] }

// A LibraryInfo is what is known of one file.
type LibraryInfo struct {
	Path        string
	Source      Source
	Manifest    *Manifest // nil: not usable
	Quarantined bool      // crashed or hung when queried
	Err         error     // why it is not usable
}

// A ScanResult is the result of a scan.
type ScanResult struct {
	Libraries []LibraryInfo // in the order of the search
	Types     []TypeInfo    // by name
}

// Scan finds libraries and their descriptions. The error is about unreadable
// folders, or the context's; errors of libraries are in the result.
func Scan(ctx context.Context, cfg ScanConfig) (*ScanResult, error) {
	files, err := findLibraries(cfg.Folders)
	r := &ScanResult{}
	for _, path := range files {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		r.Libraries = append(r.Libraries, cfg.look(ctx, path))
	}
	r.Types = index(r.Libraries)
	return r, err
}

// look describes one library.
func (cfg *ScanConfig) look(ctx context.Context, path string) LibraryInfo {
	m, err := beside(path)
	if m != nil || err != nil {
		if err != nil {
			m = nil
		}
		return LibraryInfo{Path: path, Source: FromManifest, Manifest: m, Err: err}
	}
	key, err := keyOf(path)
	if err != nil {
		return LibraryInfo{Path: path, Source: FromScan, Err: err}
	}
	if e := cfg.remembered(key); e != nil {
		return e.library(FromCache)
	}
	if len(cfg.Command) == 0 {
		return LibraryInfo{Path: path, Source: FromScan, Err: errors.New("no manifest beside it, and Config.Command is not set to query it")}
	}
	e := &cacheEntry{key: key}
	m, err = cfg.ask(ctx, path)
	switch {
	case ctx.Err() != nil:
		return LibraryInfo{Path: path, Source: FromScan, Err: ctx.Err()}
	case errors.Is(err, errDied):
		e.Quarantined = err.Error()
	case err != nil: // a definite error, which may be gone next time
		return LibraryInfo{Path: path, Source: FromScan, Err: err}
	default:
		m.SHA256 = key.SHA256
		e.manifest = m
	}
	l := e.library(FromScan)
	if err := cfg.remember(e); err != nil {
		l.Err = errors.Join(l.Err, fmt.Errorf("the result is not cached: %w", err))
	}
	return l
}

// errDied is the error of a library that crashed or hung.
var errDied = errors.New("quarantined")

// fdAnswer is the file descriptor for the child's manifest, since a library may
// print to the standard ones.
const fdAnswer = 3

// ask makes a child load a library and describe it.
func (cfg *ScanConfig) ask(ctx context.Context, path string) (*Manifest, error) {
	limit := cfg.Limit
	if limit <= 0 {
		limit = ScanLimit
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd := exec.CommandContext(timed, cfg.Command[0], append(cfg.Command[1:len(cfg.Command):len(cfg.Command)], path)...)
	cmd.ExtraFiles = []*os.File{out}
	err = cmd.Start()
	out.Close()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(in, 2<<20))
	err2 := cmd.Wait()
	if timed.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w: no description within %v", errDied, limit)
	}
	if e, ok := errors.AsType[*exec.ExitError](err2); ok && e.ExitCode() != exitAnswered {
		return nil, fmt.Errorf("%w: it crashed when it was loaded: %v", errDied, err2)
	}
	if err := errors.Join(err, err2); err != nil && len(text) == 0 {
		return nil, err
	}
	if why, ok := refusal(text); ok {
		return nil, errors.New(why)
	}
	return ParseManifest(text)
}

// exitAnswered is the exit status of a child that reports why a library is not
// usable.
const exitAnswered = 3

const refused = "refused: "

func refusal(text []byte) (string, bool) {
	if s := string(text); len(s) > len(refused) && s[:len(refused)] == refused {
		return s[len(refused):], true
	}
	return "", false
}

// ServeManifest is the child's main function: it loads one library, writes its
// description to the file that the parent passed, and returns the exit status.
func ServeManifest(path string) int {
	watch.DefaultFaults()
	answer := os.NewFile(fdAnswer, "answer")
	if answer == nil {
		return 2
	}
	path, err := filepath.Abs(path)
	if err == nil {
		var l *Library
		if l, err = Open(path, Options{}); err == nil {
			if _, err = answer.Write(l.Manifest().Encode()); err == nil {
				return 0
			}
		}
	}
	fmt.Fprint(answer, refused, err)
	return exitAnswered
}
