package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/store/blob"
)

// cacheRun runs the command and returns its output.
func cacheRun(t *testing.T, json bool, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	c := cacheCommand(&command.Env{Out: &out, Err: &errs, JSON: &json})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.Execute()
	return out.String(), err
}

func TestList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c, err := blob.OpenCache(dir, blob.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.PutWith(blob.Tensor, "tensor:a", make([]byte, 1000), blob.Options{Codec: blob.RLE, Version: 3}); err != nil {
		t.Fatal(err)
	}
	out, err := cacheRun(t, false, "ls", dir)
	if err != nil || !strings.Contains(out, `tensor  "tensor:a"  1000   8     Rle`) || !strings.HasSuffix(out, "1 entry, 8 bytes in files\n") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = cacheRun(t, true, "ls", dir)
	var list listResult
	if err == nil {
		err = json.Unmarshal([]byte(out), &list)
	}
	if err != nil || len(list.Entries) != 1 || list.Entries[0].Version != 3 || list.Entries[0].Hash != blob.HashOf(make([]byte, 1000)) {
		t.Errorf("%v: %s", err, out)
	}
	out, err = cacheRun(t, true, "gc", dir, "--quota", "1B", "--dry-run")
	if err != nil || !strings.Contains(out, `"freed_bytes":8`) {
		t.Errorf("%v: %s", err, out)
	}
	if out, err = cacheRun(t, true, "verify", dir); err != nil || !strings.Contains(out, `"broken":0`) {
		t.Errorf("%v: %s", err, out)
	}
}

// Entries of kernels' data, which other programs keep and this one does not, are listed,
// verified and collected as all others.
func TestForeignKernelMeta(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "saved")
	cache := filepath.Join(dir, "cache")
	for name, text := range map[string]string{
		"kernel_meta/tuned.bin": "\x01\x02\x03", "kernel_meta/tuned.meta": "kind=kernelmeta\nlen=3\nchecksum32=1456420779\ncreated_unix=7\n",
		"tensor/tensor_a_len3.bin": "\x01\x02\x03", "tensor/tensor_a_len3.meta": "kind=tensor\nlen=3\nchecksum32=1456420779\ncreated_unix=7\n",
	} {
		path := filepath.Join(cache, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := cacheRun(t, false, "ls", cache); err != nil || !strings.Contains(out, `kernel_meta  "tuned"`) || !strings.Contains(out, "owner unknown") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := cacheRun(t, false, "verify", cache); err != nil || !strings.Contains(out, "2 entries, 0 broken") {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(cache, "kernel_meta/tuned.bin"), []byte{1, 2, 4}, 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := cacheRun(t, false, "verify", cache); !errors.Is(err, command.ErrVerify) || !strings.Contains(out, `kernel_meta "tuned"`) {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := cacheRun(t, false, "gc", cache, "--quota", "1B"); err != nil || !strings.Contains(out, `kernel_meta "tuned", `) {
		t.Errorf("%v: %s", err, out)
	}
}
