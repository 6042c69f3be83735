package command

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is too long is refused, whether its length is known or not, and of a file
// only what is ahead counts.
func TestReadMost(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("abcd"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := ReadMost(f, 3); err == nil {
		t.Errorf("four bytes of a file are %q", b)
	}
	if at, err := f.Seek(0, io.SeekCurrent); at != 0 || err != nil {
		t.Errorf("of a file that is too long, %d bytes were read: %v", at, err)
	}
	if _, err := f.Seek(1, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadMost(f, 3); string(b) != "bcd" || err != nil {
		t.Errorf("three bytes are %q, %v", b, err)
	}
	if b, err := ReadMost(strings.NewReader("abcd"), 3); err == nil {
		t.Errorf("four bytes of a stream are %q", b)
	}
	if b, err := ReadMost(strings.NewReader("abc"), 3); string(b) != "abc" || err != nil {
		t.Errorf("three bytes are %q, %v", b, err)
	}
}
