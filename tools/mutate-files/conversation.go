package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"atenia"

	"github.com/zeebo/xxh3"
)

// A conversation is the folder of [atenia.Config].Checkpoint after an answer of the
// embedded model: the manifest, what it is of, the sums, and the keys and values of the
// conversation in the cache.

// asked is longer than the least that is worth remembering.
const asked = "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she saw a big red ball and wanted to play with it."

// manifestName is the name of the file that the names of the two beside it follow from.
const manifestName = "checkpoint.meta"

// conversations has one of 64 tokens, and what is said of it alone, without the model's
// weights, which most changes would be of.
func conversations(c *corpus, add func(...entry)) {
	dir := filepath.Join(c.temp, "conversation")
	if c.err == nil {
		c.fail(converse(&scratch{dir: dir, ctx: context.Background()}))
	}
	all := seal(c.saved(dir))
	add(all...)
	brief := append(sample(nil), all...)
	for i := range brief {
		e := &brief[i]
		e.keep = strings.Contains(e.name, "/")
		switch {
		case e.name == manifestName:
			head, _, _ := bytes.Cut(e.data, []byte("\nid="))
			_, kv, _ := bytes.Cut(e.data, []byte("\nid=kv:"))
			e.data = append(entries.ReplaceAll(head, []byte("entry_count=1")), "\nid=kv:"...)
			kv, _, _ = bytes.Cut(kv, []byte("\nid="))
			e.data = append(e.data, kv...)
		case filepath.Ext(e.name) == ".model":
			e.data = ofWeight.ReplaceAll(e.data, nil)
		}
	}
	add(seal(brief)...)
}

// continueConversation goes on with a conversation, as far as the folder has it, and
// saves it again. What names the manifest by its sum is made to fit first: the format
// checkpoint has what does not.
func continueConversation(x *scratch, s sample) error {
	if err := x.put(seal(s)); err != nil {
		return err
	}
	return converse(x)
}

// converse opens the embedded model with a folder, asks, and closes it.
func converse(x *scratch) error {
	m, err := atenia.Open(x.ctx, "", &atenia.Config{Threads: 1, Context: 128, Slots: 1, Checkpoint: x.dir})
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }() // again, unless the answer ended
	for _, err := range m.Generate(x.ctx, atenia.Prompt{Text: asked, Options: atenia.Options{MaxTokens: 24}}) {
		if err != nil {
			return err
		}
	}
	return m.Close()
}

var (
	created   = regexp.MustCompile(`(?m)^created_unix=\d+$`)
	entries   = regexp.MustCompile(`(?m)^entry_count=\d+$`)
	ofWeight  = regexp.MustCompile(`(?m)^type .*\n`)
	ofSum     = regexp.MustCompile(`(?m)^manifest=.*$`)
	lastSum   = regexp.MustCompile(`sum=.*\n?$`)
	castTable = crc32.MakeTable(crc32.Castagnoli)
)

// seal returns the files as they were saved at the beginning of 1970, so that a case is
// the same whenever it is made, with names and sums that fit the manifest.
func seal(s sample) sample {
	out := append(sample(nil), s...)
	hash := ""
	for i := range out {
		e := &out[i]
		if strings.HasSuffix(e.name, ".meta") {
			e.data = created.ReplaceAll(e.data, []byte("created_unix=1"))
		}
		if e.name == manifestName {
			hash = fmt.Sprintf("%x", xxh3.Hash128(e.data).Bytes())
		}
	}
	for i := range out {
		e := &out[i]
		switch kind := filepath.Ext(e.name); {
		case hash == "" || strings.Contains(e.name, "/") || kind != ".model" && kind != ".sums":
		default:
			e.name = "checkpoint." + hash[:16] + kind
			e.data = lastSum.ReplaceAll(ofSum.ReplaceAll(e.data, []byte("manifest="+hash)), nil)
			e.data = fmt.Appendf(e.data, "sum=%08x\n", crc32.Checksum(e.data, castTable))
		}
	}
	return out
}

// saved returns the files of a checkpoint's folder.
func (c *corpus) saved(dir string) (s sample) {
	c.fail(filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		k := plainText
		if strings.HasSuffix(name, ".bin") {
			k = binary
		}
		s = append(s, entry{name: filepath.ToSlash(rel), data: b, kind: k})
		return err
	}))
	return s
}
