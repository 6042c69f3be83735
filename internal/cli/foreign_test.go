package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"atenia/internal/cli/command"
	"atenia/internal/golden"
)

// TestForeignFiles: what a download left in the place of a file is told by its name,
// whichever file of whichever reader it is.
func TestForeignFiles(t *testing.T) {
	const (
		pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
		page    = "\n<!doctype HTML>\n<html><head><title>Sign in</title></head></html>"
	)
	from := filepath.Join(golden.Family(t, "parity"), "llama3")
	// A model is a folder with another file of that name; "" is one that is linked to nowhere.
	model := func(name, content string) string {
		t.Helper()
		dir := t.TempDir()
		for _, n := range []string{"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"} {
			b, err := os.ReadFile(filepath.Join(from, n))
			if n == "chat_template.jinja" {
				if err = nil; n != name {
					continue
				}
			}
			if n == name && content == "" {
				err = os.Symlink("../blobs/absent", filepath.Join(dir, n))
			} else if err == nil {
				if n == name {
					b = []byte(strings.Replace(content, "CONTENT", string(b), 1))
				}
				err = os.WriteFile(filepath.Join(dir, n), b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	single := func(name, content string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := prepare(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "text.txt"), []byte(pointer), 0o600); err != nil {
		t.Fatal(err)
	}
	const lfs, html, link = "a Git LFS pointer in the place of a file of 12345 bytes", "an HTML page", "a link to ../blobs/absent, which is not there"
	for _, c := range []struct {
		want string
		args []string
	}{
		{lfs, []string{"run", model("model.safetensors", pointer), "a"}},
		{lfs, []string{"run", model("tokenizer.json", pointer), "a"}},
		{lfs, []string{"plan", model("config.json", pointer)}},
		{lfs, []string{"run", single("m.gguf", pointer), "a"}},
		{lfs, []string{"inspect", single("m.sxlm", pointer)}},
		{lfs, []string{"train", config, "--out", filepath.Join(t.TempDir(), "out")}},
		{lfs, []string{"tokenize", "--file", single("t.txt", pointer)}},
		{lfs, []string{"eval", "atenia-story", "--text", single("t.txt", pointer)}},
		{lfs, []string{"replay", single("d.jsonl", pointer)}},
		{html, []string{"chat", model("chat_template.jinja", page)}},
		{html, []string{"run", model("model.safetensors", page), "a"}},
		{html, []string{"run", model("tokenizer.json", page), "a"}},
		{html, []string{"run", single("m.GGUF", page), "a"}},
		{html, []string{"flow", "run", single("p.json", page)}},
		{html, []string{"tokenize", "--file", single("t.txt", page)}},
		{"", []string{"eval", "atenia-story", "--text", single("t.html", page)}},
		{link, []string{"run", model("model.safetensors", ""), "a"}},
		{link, []string{"run", model("tokenizer.json", ""), "a"}},
		{"", []string{"run", model("config.json", "\ufeffCONTENT"), "a", "-n", "1"}},
		{"", []string{"run", model("tokenizer.json", "\ufeffCONTENT"), "a", "-n", "1"}},
	} {
		var out, errw bytes.Buffer
		code := Main(c.args, strings.NewReader(""), &out, &errw)
		if (code == command.OK) != (c.want == "") || !strings.Contains(errw.String(), c.want) {
			t.Errorf("%v: exit %d, %s, want %q", c.args, code, &errw, c.want)
		}
	}
}

// TestDanglingLinks: a link to what is not there is told by both its names, and a shard that
// is not there by its own, whichever command reads the file.
func TestDanglingLinks(t *testing.T) {
	const link, shard = "which is not there: fetch the file again", "model-00002-of-00002.safetensors"
	dangling := func(path string) string {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink("../../blobs/absent", path)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	single := func(name string) string { return dangling(filepath.Join(t.TempDir(), name)) }
	sharded := func() string {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(golden.Family(t, "parity"), "llama3"))); err != nil {
			t.Fatal(err)
		}
		const first = "model-00001-of-00002.safetensors"
		index := `{"weight_map": {"model.embed_tokens.weight": "` + first + `", "model.norm.weight": "` + shard + `"}}`
		if err := errors.Join(os.Rename(filepath.Join(dir, "model.safetensors"), filepath.Join(dir, first)),
			os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(index), 0o600)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	cut, without := sharded(), sharded()
	dangling(filepath.Join(cut, shard))
	gguf, adapter, bare := single("m.gguf"), filepath.Dir(single("adapter_config.json")), filepath.Dir(single("tokenizer.json"))
	type call struct{ command, after []string }
	calls := []call{
		{[]string{"run", "--lora", adapter}, []string{"a"}},
		{[]string{"run", "--lora", single("ad.gguf")}, []string{"a"}},
		{[]string{"run", "--lora", single("ad")}, []string{"a"}},
		{[]string{"inspect", single("m.safetensors")}, nil},
		{[]string{"plan", single("config.json")}, nil},
		{[]string{"tokenize", "--text", "a", bare}, nil},
		{[]string{"inspect", single("m.sxlm")}, nil},
		{[]string{"run", single("m.sxlm")}, []string{"a"}},
		{[]string{"quila", "eval", single("m.sxlm")}, nil},
		{[]string{"train", single("t.toml")}, nil},
		{[]string{"chat", "--mcp", single("m.json")}, nil},
		{[]string{"serve", "--mcp", single("m.json")}, nil},
		{[]string{"bench", "table", gguf}, nil},
	}
	wanted := map[string][]string{}
	for _, model := range []string{gguf, cut, without} {
		calls = append(calls, call{[]string{"run", model}, []string{"a"}}, call{[]string{"inspect", model}, nil}, call{[]string{"plan", model}, nil}, call{[]string{"doctor", model}, nil})
	}
	wanted[cut] = []string{filepath.Join(cut, shard), "a link to ../../blobs/absent, " + link}
	wanted[without] = []string{filepath.Join(without, shard), "no such file"}
	for _, c := range calls {
		path := c.command[len(c.command)-1]
		want := wanted[path]
		if want == nil {
			want = []string{path, "a link to ../../blobs/absent, " + link}
		}
		var out, errw bytes.Buffer
		code := Main(append(c.command, c.after...), strings.NewReader(""), &out, &errw)
		said := out.String() + errw.String() // doctor's findings are its answer
		if code == command.OK || strings.Contains(said, "quotes") || strings.Contains(said, "is missing") {
			t.Errorf("%v: exit %d, %s", c, code, said)
		}
		for _, w := range want {
			if !strings.Contains(said, w) {
				t.Errorf("%v: no %q in %s", c, w, said)
			}
		}
	}
}

// TestModelNotes: what of a model's files, of the context or of a prompt makes answers worse,
// or is not read, is said by each command that uses it; a sound model has no notes.
func TestModelNotes(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(golden.Family(t, "parity"), "llama3"))); err != nil {
		t.Fatal(err)
	}
	const begin = `"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}`
	name := filepath.Join(dir, "tokenizer.json")
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, bytes.Replace(b, []byte(`"post_processor": null`), []byte(begin), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	said := func(args ...string) string {
		t.Helper()
		var out, errw bytes.Buffer
		if code := Main(args, strings.NewReader(""), &out, &errw); code != command.OK {
			t.Fatalf("%v: exit %d, %s", args, code, &errw)
		}
		return out.String() + errw.String()
	}
	const trained, stray, twice = "longer than the 512", "model.safetensors.index.json", "begins with <s> twice"
	run, plan, doctor := []string{"run", dir, "Hello", "-n", "2"}, []string{"plan", dir}, []string{"doctor", dir}
	commands := [][]string{run, plan, doctor, {"run", dir, "<s>Hello", "-n", "2"}}
	for i, args := range commands {
		sound := said(append(args[:len(args):len(args)], "--ctx", "512")...)
		if strings.Contains(sound, trained) || strings.Contains(sound, stray) || strings.Contains(sound, twice) != (i == 3) {
			t.Errorf("%v: %s", args, sound)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, stray), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range commands {
		if got := said(append(args[:len(args):len(args)], "--ctx", "513")...); !strings.Contains(got, trained) || !strings.Contains(got, stray) {
			t.Errorf("%v: %s", args, got)
		}
	}
}

// TestInspectNames: names of a file have a line each, whatever is in them, and JSON keeps
// their bytes.
func TestInspectNames(t *testing.T) {
	const key, value, name = "general.na\nme\xff", "caf\xe9 \x00\n", "x\n\t\x1b[2Jy\xff"
	text := func(s string) string { return string(binary.LittleEndian.AppendUint64(nil, uint64(len(s)))) + s }
	number := func(n uint32) string { return string(binary.LittleEndian.AppendUint32(nil, n)) }
	file := "GGUF" + number(3) + "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" +
		text("general.architecture") + number(8) + text("llama") + text(key) + number(8) + text(value) +
		text(name) + number(1) + "\x01\x00\x00\x00\x00\x00\x00\x00" + number(0) + "\x00\x00\x00\x00\x00\x00\x00\x00"
	file += strings.Repeat("\x00", 32-len(file)%32+32)
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errw bytes.Buffer
	if code := Main([]string{"inspect", path}, nil, &out, &errw); code != command.OK {
		t.Fatal(errw.String())
	}
	for _, want := range []string{`general.na\nme\xff    string  "caf\xe9 \x00\n"`, `x\n\t\x1b[2Jy\xff  F32`} {
		if !strings.Contains(out.String(), "\n  "+want) {
			t.Errorf("no %s in %q", want, &out)
		}
	}
	out.Reset()
	if code := Main([]string{"inspect", path, "--json"}, nil, &out, &errw); code != command.OK {
		t.Fatal(errw.String())
	}
	var got struct {
		Metadata []struct {
			Value    string
			KeyBytes []byte `json:"key_bytes"`
		}
		Tensors []struct {
			NameBytes []byte `json:"name_bytes"`
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	said, err := strconv.Unquote(got.Metadata[1].Value)
	if err != nil || said != value || string(got.Metadata[1].KeyBytes) != key || got.Metadata[0].KeyBytes != nil || string(got.Tensors[0].NameBytes) != name {
		t.Errorf("%q, %v: %s", said, err, &out)
	}
}
