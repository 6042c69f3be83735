package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"atenia/flow/amp"
	"atenia/flow/amp/internal/fatal"
	"atenia/flow/amp/manifest"
	"atenia/internal/durable"
)

// Limit is how long a library may take to say what it has.
const Limit = 5 * time.Second

// A Config says where libraries are and how they are asked.
type Config struct {
	Folders []string // or libraries themselves; see Folders
	// Command is the program and the arguments that come to [Serve], without
	// the library, which is added. Nil: libraries without a manifest are faulty.
	Command []string
	Cache   string        // folder of what was found out; "": nothing is remembered
	Limit   time.Duration // zero means [Limit]
	FS      durable.FS    // for tests; nil is the operating system's
}

// A Source says how a library is known.
type Source int

// The sources.
const (
	Beside Source = iota // a manifest beside it
	Cached               // an earlier scan
	Asked                // a child has loaded it
)

var sources = []string{"manifest", "cache", "scan"}

// String returns the source's name.
func (s Source) String() string { return sources[s] }

// A Library is what is known of one file.
type Library struct {
	Path        string
	Source      Source
	Manifest    *manifest.Manifest // nil: it cannot be used
	Quarantined bool               // it crashed or hung when it was asked
	Err         error              // why it cannot be used
}

// A Result is what a scan has found.
type Result struct {
	Libraries []Library // in the order of the search
	Types     []Type    // by name
}

// Run finds libraries and what they have. The error is of folders that cannot
// be read, or the context's; libraries have their own.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	files, err := find(cfg.Folders)
	r := &Result{}
	for _, path := range files {
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		r.Libraries = append(r.Libraries, cfg.look(ctx, path))
	}
	r.Types = index(r.Libraries)
	return r, err
}

// look finds out what one library has.
func (cfg *Config) look(ctx context.Context, path string) Library {
	m, err := beside(path)
	if m != nil || err != nil {
		if err != nil {
			m = nil
		}
		return Library{Path: path, Source: Beside, Manifest: m, Err: err}
	}
	key, err := keyOf(path)
	if err != nil {
		return Library{Path: path, Source: Asked, Err: err}
	}
	if e := cfg.remembered(key); e != nil {
		return e.library(Cached)
	}
	if len(cfg.Command) == 0 {
		return Library{Path: path, Source: Asked, Err: errors.New("it has no manifest beside it, and nothing is loaded to ask it")}
	}
	e := &entry{key: key}
	m, err = cfg.ask(ctx, path)
	switch {
	case ctx.Err() != nil:
		return Library{Path: path, Source: Asked, Err: ctx.Err()}
	case errors.Is(err, errDied):
		e.Quarantined = err.Error()
	case err != nil: // a clear answer, which may be another one tomorrow
		return Library{Path: path, Source: Asked, Err: err}
	default:
		m.SHA256 = key.SHA256
		e.manifest = m
	}
	l := e.library(Asked)
	if err := cfg.remember(e); err != nil {
		l.Err = errors.Join(l.Err, fmt.Errorf("what was found out is not remembered: %w", err))
	}
	return l
}

// errDied is the error of a library that crashed or hung.
var errDied = errors.New("quarantined")

// fdAnswer is the file that a child writes its manifest to: a library may print.
const fdAnswer = 3

// ask has a child load a library.
func (cfg *Config) ask(ctx context.Context, path string) (*manifest.Manifest, error) {
	limit := cfg.Limit
	if limit <= 0 {
		limit = Limit
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
		return nil, fmt.Errorf("%w: it took longer than %v to say what it has", errDied, limit)
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
	return manifest.Parse(text)
}

// exitAnswered is the status of a child that says why a library cannot be used.
const exitAnswered = 3

const refused = "refused: "

func refusal(text []byte) (string, bool) {
	if s := string(text); len(s) > len(refused) && s[:len(refused)] == refused {
		return s[len(refused):], true
	}
	return "", false
}

// Serve is the child: it loads one library, writes what it has to the file that
// the parent gave it, and returns the program's exit status.
func Serve(path string) int {
	fatal.Default()
	answer := os.NewFile(fdAnswer, "answer")
	if answer == nil {
		return 2
	}
	path, err := filepath.Abs(path)
	if err == nil {
		var l *amp.Library
		if l, err = amp.Open(path, amp.Options{}); err == nil {
			if _, err = answer.Write(l.Manifest().Encode()); err == nil {
				return 0
			}
		}
	}
	fmt.Fprint(answer, refused, err)
	return exitAnswered
}
