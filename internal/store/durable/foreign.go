package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A ForeignError says that a file holds what a download left in its place.
type ForeignError struct {
	Path, Got, Fix string
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("%s: this is %s: %s", e.Path, e.Got, e.Fix)
}

var (
	// A pointer is as https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md has it.
	pointer = regexp.MustCompile(`^version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:[0-9a-f]{64}\n(?:.*\n)*?size (\d+)\n`)
	page    = regexp.MustCompile(`^(?:\xef\xbb\xbf)?\s*(?i:<!doctype html|<html)[\s>]`)
)

// texts are the endings of texts that may be pages.
var texts = []string{"", ".txt", ".text", ".md", ".html", ".htm", ".xml", ".log"}

// foreign looks at the beginning of a regular file; text says that its content may be any.
func foreign(path string, f *os.File, text bool) error {
	head := make([]byte, 512)
	n, _ := f.ReadAt(head, 0) // who reads it will find the error, too
	head = head[:n]
	if m := pointer.FindSubmatch(head); m != nil {
		return &ForeignError{path, fmt.Sprintf("a Git LFS pointer in the place of a file of %s bytes", m[1]), "fetch the file itself, by git lfs pull"}
	}
	if !bytes.Contains(head, []byte("<")) || !page.Match(head) {
		return nil
	}
	ending := strings.ToLower(filepath.Ext(path))
	if text && slices.Contains(texts, ending) || ending == ".jinja" && (bytes.Contains(head, []byte("{{")) || bytes.Contains(head, []byte("{%"))) {
		return nil
	}
	return &ForeignError{path, "an HTML page", "fetch the file itself: the address may need a login, or show the file in a page"}
}

// Open is [os.Open] for what a user names, which may be a pipe, too: a file that holds
// what a download left in its place is a [*ForeignError].
func Open(path string) (*os.File, error) { return open(path, false) }

// OpenText is Open for a file whose content may be any text, such as a page.
func OpenText(path string) (*os.File, error) { return open(path, true) }

func open(path string, text bool) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(path, err)
	}
	if err != nil {
		return nil, err
	}
	if st, e := f.Stat(); e == nil && st.Mode().IsRegular() {
		if err := foreign(path, f, text); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// Stat is [os.Stat] for what a user names: a link to what is not there is a
// [*ForeignError], which does not match [fs.ErrNotExist].
func Stat(path string) (fs.FileInfo, error) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(path, err)
	}
	return st, err
}

// missing returns why a file is not there: a link of a cache of downloads may point to
// what was not completed, or was removed. Without a link it is err.
func missing(path string, err error) error {
	to, e := os.Readlink(path)
	if e != nil {
		return err
	}
	return &ForeignError{path, "a link to " + to + ", which is not there", "fetch the file again: its download was not completed, or was removed"}
}
