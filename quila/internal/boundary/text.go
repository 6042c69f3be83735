package boundary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// specials are the codes of text that are not bytes, from [FirstSpecial] on, in
// this order.
var specials = []string{"BOS", "EOS", "PAD", "SYS", "USER", "ASSISTANT", "TOOL_OPEN", "TOOL_CLOSE"}

// Codes of text.
const (
	FirstSpecial = 256 // bytes come first
	BOS          = FirstSpecial + iota - 1
	EOS
	PAD
	SYS
	USER
	ASSISTANT
	ToolOpen
	ToolClose
	FirstMerge // of a tokenizer with merges
)

// longest is how many bytes a code may stand for, and mostMerges how many merges
// a tokenizer may have.
const (
	longest    = 1 << 12
	mostMerges = 1 << 20
)

// errTokenizer is matched by errors about the text of a tokenizer.
var errTokenizer = errors.New("codebook: bad tokenizer")

// A Tokenizer turns bytes into codes and back, without loss for any bytes. It is
// immutable.
type Tokenizer struct {
	merges [][2]int32
	rank   map[[2]int32]int32 // code of a merged pair
	spell  [][]byte           // bytes of every code
}

// NewTokenizer makes a tokenizer whose code FirstMerge+i stands for the i-th pair
// of codes; without merges every byte is a code. A pair consists of codes before
// its own, no specials, and is listed once.
func NewTokenizer(merges [][2]int32) (*Tokenizer, error) {
	if len(merges) > mostMerges {
		return nil, fmt.Errorf("%w: %d merges, want at most %d", errTokenizer, len(merges), mostMerges)
	}
	t := &Tokenizer{merges: merges, rank: make(map[[2]int32]int32, len(merges)), spell: make([][]byte, FirstMerge, FirstMerge+len(merges))}
	for b := range FirstSpecial {
		t.spell[b] = []byte{byte(b)}
	}
	for i, m := range merges {
		code := int32(FirstMerge + i)
		for _, c := range m {
			if c < 0 || c >= code || c >= FirstSpecial && c < FirstMerge {
				return nil, fmt.Errorf("%w: merge %d is of the code %d, which it cannot have", errTokenizer, i, c)
			}
		}
		if _, twice := t.rank[m]; twice {
			return nil, fmt.Errorf("%w: merge %d is there twice", errTokenizer, i)
		}
		a, b := t.spell[m[0]], t.spell[m[1]]
		if len(a)+len(b) > longest {
			return nil, fmt.Errorf("%w: merge %d stands for %d bytes, want at most %d", errTokenizer, i, len(a)+len(b), longest)
		}
		t.rank[m] = code
		t.spell = append(t.spell, append(append(make([]byte, 0, len(a)+len(b)), a...), b...))
	}
	return t, nil
}

// Codes returns the number of codes, which is the number of rows of the book.
func (t *Tokenizer) Codes() int { return len(t.spell) }

// Merges returns the pairs, which must not be written to.
func (t *Tokenizer) Merges() [][2]int32 { return t.merges }

// Decode returns the bytes of codes. Specials stand for no bytes.
func (t *Tokenizer) Decode(codes []int32) ([]byte, error) {
	var out []byte
	for _, c := range codes {
		if c < 0 || int(c) >= len(t.spell) {
			return nil, &codebookError{"decode", len(t.spell), int(c), errCode}
		}
		out = append(out, t.spell[c]...)
	}
	return out, nil
}

// Encode returns the codes of bytes: of all pairs that are merges the earliest
// in the list is merged first, of equal ones the one further left.
func (t *Tokenizer) Encode(text []byte) []int32 {
	codes := make([]int32, len(text))
	for i, b := range text {
		codes[i] = int32(b)
	}
	if len(t.merges) == 0 || len(codes) < 2 {
		return codes
	}
	return t.merge(codes)
}

// file is the JSON of a tokenizer; its fields are in alphabetical order.
type file struct {
	Merges   [][2]int32 `json:"merges"`
	Specials []string   `json:"specials"`
	Type     string     `json:"type"`
}

// JSON returns the canonical text of a tokenizer: sorted keys, no spaces.
func (t *Tokenizer) JSON() []byte {
	f := file{Merges: t.merges, Specials: specials, Type: "bytes"}
	if len(t.merges) > 0 {
		f.Type = "bpe"
	} else {
		f.Merges = [][2]int32{}
	}
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // numbers and words always have a text
	}
	return text
}

// ParseTokenizer reads what [Tokenizer.JSON] wrote. Any other text is an error,
// that of the same content in another form too.
func ParseTokenizer(text []byte) (*Tokenizer, error) {
	const most = mostMerges*20 + 4096
	if len(text) > most {
		return nil, fmt.Errorf("%w: %d bytes, want at most %d", errTokenizer, len(text), most)
	}
	var f file
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("%w: %w", errTokenizer, err)
	}
	t, err := NewTokenizer(f.Merges)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(t.JSON(), text) {
		return nil, fmt.Errorf("%w: the text is not the canonical one of its content", errTokenizer)
	}
	return t, nil
}
