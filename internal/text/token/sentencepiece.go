package token

// SentencePiece models (sentencepiece_model.proto): the vocabulary with scores,
// the kind of model, and how text is normalized.

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Kinds of pieces, as in the file; those of GGUF have the same numbers.
const pieceKinds = TypeByte

// Kinds of models, as in the file.
const (
	spUnigram = 1
	spBPE     = 2
)

// A spModel is the content of a file.
type spModel struct {
	pieces []spPiece
	kind   int
	bytes  bool // unknown characters become bytes
	suffix bool // spaces end words instead of beginning them

	charsmap                  []byte
	dummyPrefix, trim, escape bool
}

type spPiece struct {
	text  string
	score float32
	kind  int32
}

// LoadSentencePiece reads a SentencePiece model, of kind unigram or bpe. Errors
// are [*FormatError], with a field of the file and its position, and
// [*UnknownError].
func LoadSentencePiece(data []byte, c Companion) (*Tokenizer, error) {
	m, err := readSentencePiece(data)
	if err != nil {
		return nil, err
	}
	if c.Fairseq {
		if err := m.toFairseq(); err != nil {
			return nil, err
		}
	}
	return m.tokenizer(c)
}

// readSentencePiece reads the messages ModelProto, TrainerSpec and
// NormalizerSpec.
func readSentencePiece(data []byte) (*spModel, error) {
	m := &spModel{kind: spUnigram, dummyPrefix: true, trim: true, escape: true}
	top := &protoReader{data: data, path: "model"}
	for top.next() {
		switch {
		case top.field == 1 && top.isBytes():
			p := spPiece{kind: TypeNormal}
			r := top.sub(fmt.Sprintf("pieces[%d]", len(m.pieces)))
			for r.next() {
				switch {
				case r.field == 1 && r.isBytes():
					p.text = toValidUTF8(r.bytes)
				case r.field == 2 && r.wire == wire32:
					p.score = math.Float32frombits(uint32(r.value))
				case r.field == 3 && r.wire == wireVarint:
					p.kind = int32(r.value)
				}
			}
			switch {
			case r.err != nil:
				return nil, r.err
			case p.text == "":
				return nil, r.wrong("a text", "none")
			case p.kind < TypeNormal || p.kind > pieceKinds:
				return nil, r.wrong("a type from 1 to 6", p.kind)
			case p.score-p.score != 0: // infinite, or not a number
				return nil, r.wrong("a score", p.score)
			}
			m.pieces = append(m.pieces, p)
		case top.field == 2 && top.isBytes():
			r := top.sub("trainer_spec")
			for r.next() {
				switch {
				case r.wire != wireVarint:
				case r.field == 3:
					m.kind = int(r.value)
				case r.field == 24:
					m.suffix = r.value != 0
				case r.field == 35:
					m.bytes = r.value != 0
				}
			}
			if r.err != nil {
				return nil, r.err
			}
		case top.field == 3 && top.isBytes():
			r := top.sub("normalizer_spec")
			for r.next() {
				switch {
				case r.field == 2 && r.isBytes():
					m.charsmap = r.bytes
				case r.wire != wireVarint:
				case r.field == 3:
					m.dummyPrefix = r.value != 0
				case r.field == 4:
					m.trim = r.value != 0
				case r.field == 5:
					m.escape = r.value != 0
				}
			}
			if r.err != nil {
				return nil, r.err
			}
		}
	}
	switch {
	case top.err != nil:
		return nil, top.err
	case len(m.pieces) == 0:
		return nil, &FormatError{Path: "pieces", Want: "a vocabulary", Got: "none"}
	case m.kind != spUnigram && m.kind != spBPE:
		return nil, &UnknownError{"trainer_spec.model_type", "model", fmt.Sprint(m.kind)}
	}
	return m, nil
}

// toFairseq moves the ids by one: <s>, <pad>, </s> and <unk> come first, whatever
// the file's order, and <mask> last.
func (m *spModel) toFairseq() error {
	if len(m.pieces) < 3 {
		return &FormatError{Path: "pieces", Want: "at least <unk>, <s> and </s>", Got: fmt.Sprint(len(m.pieces))}
	}
	head := []spPiece{{"<s>", 0, TypeControl}, {"<pad>", 0, TypeControl}, {"</s>", 0, TypeControl}, {"<unk>", 0, TypeUnknown}}
	m.pieces = append(append(head, m.pieces[3:]...), spPiece{"<mask>", 0, TypeControl})
	return nil
}

func (m *spModel) tokenizer(c Companion) (*Tokenizer, error) {
	t := &Tokenizer{lex: newLexicon(len(m.pieces))}
	unk := none
	types, scores := make([]int32, len(m.pieces)), make([]float32, len(m.pieces))
	var own []string // user-defined pieces
	var ownIDs []int32
	for id, p := range m.pieces {
		if _, twice := t.lex.IDs[p.text]; twice {
			return nil, &FormatError{Path: fmt.Sprintf("pieces[%d]", id), Want: "each piece once", Got: clip(p.text)}
		}
		t.lex.Add(p.text, int32(id))
		types[id], scores[id] = p.kind, p.score
		switch p.kind {
		case TypeUnknown:
			if unk != none {
				return nil, &FormatError{Path: fmt.Sprintf("pieces[%d]", id), Want: "one unknown piece", Got: "two"}
			}
			unk = int32(id)
		case TypeUserDefined:
			own, ownIDs = append(own, p.text), append(ownIDs, int32(id))
		}
		if p.kind == TypeUnknown || p.kind == TypeControl {
			t.added = append(t.added, AddedToken{ID: int32(id), Content: p.text, Special: true})
		}
	}
	if unk == none {
		return nil, &FormatError{Path: "pieces", Want: "an unknown piece", Got: "none"}
	}
	var defined *trie
	if len(own) > 0 {
		defined = newTrie(own, ownIDs)
	}
	ids, all := t.lex.ByteTokens()
	if m.bytes && !all {
		return nil, &FormatError{Path: "trainer_spec.byte_fallback", Want: "pieces <0x00> to <0xFF>", Got: "not all"}
	}
	if m.kind == spBPE {
		t.model = &spm{Lex: t.lex, Scores: scores, Unk: unk, Bytes: ids, AllBytes: m.bytes, Types: types, Defined: defined}
	} else {
		t.model = newSentenceUnigram(t.lex, scores, types, unk, m.bytes)
	}
	if err := m.text(t, c, defined); err != nil {
		return nil, err
	}
	return t, t.accompany(c, idLimit(len(m.pieces)))
}

// text sets the normalizer and the decoder. Those of the original Llama are the
// components of that name, which GGUF knows.
func (m *spModel) text(t *Tokenizer, c Companion, defined *trie) error {
	spaces := replacement{Name: " ", Match: literal(" "), Content: metaMark}
	n := &sentenceText{Defined: defined, Prefix: m.dummyPrefix, OnlyFirst: c.OnlyFirst, Trim: m.trim, Suffix: m.suffix, Escape: m.escape}
	if len(m.charsmap) > 0 {
		var ok bool
		if n.Map, ok = newCharsmap(m.charsmap); !ok {
			return &FormatError{Path: "normalizer_spec.precompiled_charsmap", Want: "a size, a trie of that size and UTF-8 text", Got: fmt.Sprintf("%d bytes", len(m.charsmap))}
		}
	}
	common := decoders{replaceDecoder{replacement{Name: metaMark, Match: literal(metaMark), Content: " "}}, byteFallback{}, fuse{}}
	t.normalizer, t.decoder = n, common
	if m.dummyPrefix || m.trim {
		t.decoder = append(decoders{sentenceStart{every: m.trim}}, common...)
	}
	if n.Map == nil && defined == nil && !m.trim && !m.suffix && m.escape && (!m.dummyPrefix || !c.OnlyFirst) {
		t.normalizer = spaces
		if m.dummyPrefix {
			t.normalizer = normalizers{prefixText{Text: metaMark}, spaces}
			t.decoder = append(common, trimDecoder{' ', 1, 0})
		}
	}
	t.origins = c.OnlyFirst
	return nil
}

// sentenceStart removes the mark of a space from the first piece of a text, or
// from every piece until text begins.
type sentenceStart struct{ every bool }

func (d sentenceStart) decode(tokens []string) []string {
	out := slices.Clone(tokens)
	for i, s := range out {
		if _, ok := byteToken(s); ok {
			break
		}
		rest, cut := strings.CutPrefix(s, metaMark)
		if out[i] = rest; rest != "" || cut && !d.every {
			break
		}
	}
	return out
}
