package token

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"atenia/internal/golden"
)

func repeated(n int, part string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(part+",", n), ",") + "]"
}

// doubling is a map of "a" to "aa".
func doubling() string {
	units := make([]uint32, 256)
	units[0] = 1 << 10 // children of the root from 1
	units[1^'a'] = 'a' | 1<<8 | 2<<10
	units[1^'a'^2] = 1 << 31 // the text at 0
	b := binary.LittleEndian.AppendUint32(nil, uint32(4*len(units)))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint32(b, u)
	}
	return base64.StdEncoding.EncodeToString(append(b, "aa\x00"...))
}

// bombs are files of a few kilobytes that would ask for more memory or time than any
// machine has, by the part that is refused.
func bombs() map[string]map[string]string {
	replace := `{"type":"Replace","pattern":{"String":"a"},"content":"` + strings.Repeat("a", 1000) + `"}`
	twice := `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`
	regex := `{"type":"Replace","pattern":{"Regex":"a+"},"content":"aa"}`
	charsmap := `{"type":"Precompiled","precompiled_charsmap":"` + doubling() + `"}`
	normalizers := func(n int, part string) map[string]string {
		return map[string]string{"normalizer": `{"type":"Sequence","normalizers":` + repeated(n, part) + `}`}
	}
	many := `{"type":"TemplateProcessing","single":` + repeated(20_000, `{"Sequence":{"id":"A","type_id":0}}`) + `,"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],"special_tokens":{}}`
	return map[string]map[string]string{
		"replace":        normalizers(5, replace),
		"doubling":       normalizers(24, twice),
		"expressions":    normalizers(24, regex),
		"maps":           normalizers(24, charsmap),
		"byte levels":    normalizers(24, `{"type":"ByteLevel"}`),
		"prefixes":       normalizers(24, `{"type":"Prepend","prepend":"aaaa"}`),
		"forms":          normalizers(100, `{"type":"NFKD"}`),
		"nested":         normalizers(5, `{"type":"Sequence","normalizers":`+repeated(5, twice)+`}`),
		"words":          {"pre_tokenizer": `{"type":"Sequence","pretokenizers":` + repeated(24, `{"type":"ByteLevel","add_prefix_space":true,"use_regex":false}`) + `}`},
		"marks":          {"pre_tokenizer": `{"type":"Sequence","pretokenizers":` + repeated(24, `{"type":"Metaspace","replacement":"▁"}`) + `}`},
		"both":           {"normalizer": normalizers(5, twice)["normalizer"], "pre_tokenizer": `{"type":"Metaspace","replacement":"▁"}`},
		"template":       {"post_processor": many},
		"decoder":        {"decoder": `{"type":"Sequence","decoders":` + repeated(24, twice) + `}`},
		"empty suffixes": {"decoder": `{"type":"Sequence","decoders":` + repeated(24, `{"type":"BPEDecoder","suffix":""}`) + `}`},
	}
}

// TestBombs: a tokenizer whose steps make too much of a text is refused when it is
// loaded.
func TestBombs(t *testing.T) {
	for name, change := range bombs() {
		_, err := Load([]byte(tiny(change)))
		if e, ok := errors.AsType[*FormatError](err); !ok || !strings.Contains(e.Want, "times as long") && !strings.Contains(e.Want, "steps") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGrowth: files in use are far from the bound, and no text of theirs becomes longer
// than what was computed.
func TestGrowth(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"a", " ", "\ufdfa", "\u0390", "\u0130", "漢", "é", "\u200b", "日本 \ufdfa\ufdfa a", "\x00"}
	seen := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := Load(data)
		if err != nil {
			continue // not a tokenizer
		}
		seen++
		encode, decode := tok.growths()
		t.Logf("%s: %.3g and %.3g times", filepath.Base(f), encode.product*encode.unicode, decode.product*decode.unicode)
		for _, text := range texts {
			p := newPiece(text, false)
			if tok.normalizer != nil {
				p = tok.normalizer.Normalize(p)
			}
			n := 0
			tok.cutter.Chain(func(p Piece) { n += len(p.S) })(p)
			if float64(n) > encode.product*encode.unicode*float64(len(text)) {
				t.Errorf("%s: %q becomes %d bytes, more than %.3g times as many", f, text, n, encode.product*encode.unicode)
			}
		}
	}
	if seen == 0 {
		t.Fatal("no tokenizer")
	}
}

// TestMapGrowth: a map's growth is that of the key it lengthens most.
func TestMapGrowth(t *testing.T) {
	tok, err := Load([]byte(tiny(map[string]string{"normalizer": `{"type":"Precompiled","precompiled_charsmap":"` + doubling() + `"}`})))
	if err != nil {
		t.Fatal(err)
	}
	m := tok.normalizer.(*charsmap)
	if got := m.Normalize(Piece{S: "bab"}).S; got != "baab" {
		t.Fatalf("the map makes %q of bab", got)
	}
	if g := m.growth(); g != 2 {
		t.Errorf("a map of a to aa makes %v bytes of one", g)
	}
	if s := fmt.Sprint(tok.bounded()); s != "<nil>" {
		t.Error(s)
	}
}
