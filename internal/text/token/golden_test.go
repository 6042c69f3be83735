package token

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"atenia/internal/golden"
)

// A goldenRef is one entry of <kind>.ref.json; absent fields have defaults.
type goldenRef struct {
	IDs   []int32 `json:"ids"`
	Added [2]int  `json:"added"`
	Off   []int   `json:"off"`
	Dec   *string `json:"dec"`
	Skip  *string `json:"skip"`
	Full  *string `json:"full"`
}

type goldenStream struct {
	IDs       []int32   `json:"ids"`
	Skip      bool      `json:"skip"`
	Steps     []*string `json:"steps"`
	Dec       string    `json:"dec"`
	Tail      string    `json:"tail"`
	Retracted bool      `json:"retracted"`
	Error     string    `json:"error"`
}

type goldenPair struct {
	A, B  string
	IDs   []int32
	Types []int32
}

// goldenKinds returns the names of the tokenizers in dir.
func goldenKinds(t testing.TB, dir string) []string {
	t.Helper()
	refs, err := filepath.Glob(filepath.Join(dir, "*.ref.json"))
	if err != nil || len(refs) == 0 {
		t.Fatalf("no references in %s: %v", dir, err)
	}
	for i, r := range refs {
		refs[i] = strings.TrimSuffix(filepath.Base(r), ".ref.json")
	}
	return refs
}

func goldenLoad(t testing.TB, dir, kind string) *Tokenizer {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, kind+".json"))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestGoldenTokenizers compares every kind of tokenizer with the reference
// library: ids, offsets, text, streams and pairs.
func TestGoldenTokenizers(t *testing.T) {
	dir := golden.Family(t, "tokenizers")
	var texts []string
	golden.JSON(t, filepath.Join(dir, "texts.json"), &texts)
	streams, pairs := map[string][]goldenStream{}, map[string][]goldenPair{}
	golden.JSON(t, filepath.Join(dir, "stream.json"), &streams)
	golden.JSON(t, filepath.Join(dir, "pairs.json"), &pairs)
	for _, kind := range goldenKinds(t, dir) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			tok := goldenLoad(t, dir, kind)
			strs := slices.Clone(texts)
			var extra []string
			if data, err := os.ReadFile(filepath.Join(dir, kind+".extra.json")); err == nil {
				if err := json.Unmarshal(data, &extra); err != nil {
					t.Fatal(err)
				}
			}
			strs = append(strs, extra...)
			var refs []goldenRef
			golden.JSON(t, filepath.Join(dir, kind+".ref.json"), &refs)
			if len(refs) != len(strs) {
				t.Fatalf("%d references for %d strings", len(refs), len(strs))
			}
			t.Run("encode", func(t *testing.T) { checkEncode(t, tok, strs, refs) })
			t.Run("offsets", func(t *testing.T) { checkOffsets(t, tok, strs, refs) })
			t.Run("decode", func(t *testing.T) { checkDecode(t, tok, strs, refs) })
			t.Run("stream", func(t *testing.T) { checkStreams(t, tok, streams[kind]) })
			t.Run("pairs", func(t *testing.T) {
				for _, p := range pairs[kind] {
					ids, types := tok.EncodePair(p.A, p.B)
					if !slices.Equal(ids, p.IDs) || !slices.Equal(types, p.Types) {
						t.Errorf("%q, %q:\n got %v %v\nwant %v %v", p.A, p.B, ids, types, p.IDs, p.Types)
					}
				}
			})
		})
	}
}

// plainIDs returns the reference ids without special tokens.
func (r goldenRef) plainIDs() []int32 { return r.IDs[r.Added[0] : len(r.IDs)-r.Added[1]] }

func checkEncode(t *testing.T, tok *Tokenizer, texts []string, refs []goldenRef) {
	for i, s := range texts {
		if got := tok.Encode(s, true); !slices.Equal(got, refs[i].IDs) {
			t.Errorf("%d %.60q:\n got %v\nwant %v", i, s, got, refs[i].IDs)
		}
		if got := tok.Encode(s, false); !slices.Equal(got, refs[i].plainIDs()) {
			t.Errorf("%d %.60q without special:\n got %v\nwant %v", i, s, got, refs[i].plainIDs())
		}
	}
}

func checkOffsets(t *testing.T, tok *Tokenizer, texts []string, refs []goldenRef) {
	for i, s := range texts {
		if refs[i].Off == nil && len(s) > 0 {
			continue
		}
		ids, off := tok.EncodeWithOffsets(s, true)
		var flat []int
		for _, o := range off {
			flat = append(flat, o.Start, o.End)
		}
		if !slices.Equal(ids, refs[i].IDs) || !slices.Equal(flat, refs[i].Off) {
			t.Errorf("%d %.60q:\n got %v %v\nwant %v %v", i, s, ids, flat, refs[i].IDs, refs[i].Off)
		}
	}
}

func checkDecode(t *testing.T, tok *Tokenizer, texts []string, refs []goldenRef) {
	for i, s := range texts {
		r := refs[i]
		dec := s
		if r.Dec != nil {
			dec = *r.Dec
		}
		skip := dec
		if r.Skip != nil {
			skip = *r.Skip
		}
		if got := tok.Decode(r.plainIDs(), false); got != dec {
			t.Errorf("%d plain:\n got %.200q\nwant %.200q", i, got, dec)
		}
		if got := tok.Decode(r.IDs, true); got != skip {
			t.Errorf("%d skipping:\n got %.200q\nwant %.200q", i, got, skip)
		}
		if r.Full != nil {
			if got := tok.Decode(r.IDs, false); got != *r.Full {
				t.Errorf("%d full:\n got %.200q\nwant %.200q", i, got, *r.Full)
			}
		}
	}
}

func checkStreams(t *testing.T, tok *Tokenizer, cases []goldenStream) {
	for i, c := range cases {
		s := tok.NewStream(c.Skip)
		for k, id := range c.IDs {
			got := s.Next(id)
			if k >= len(c.Steps) {
				continue // the reference gave up
			}
			want := ""
			if c.Steps[k] != nil {
				want = *c.Steps[k]
			}
			if got != want {
				t.Errorf("%d: step %d of %v: got %q, want %q", i, k, c.IDs, got, want)
			}
		}
		tail := s.Flush()
		if c.Error == "" && !c.Retracted && tail != c.Tail {
			t.Errorf("%d: tail of %v: got %q, want %q", i, c.IDs, tail, c.Tail)
		}
		if got := tok.Decode(c.IDs, c.Skip); got != c.Dec {
			t.Errorf("%d: %v decodes to %q, want %q", i, c.IDs, got, c.Dec)
		}
	}
}
