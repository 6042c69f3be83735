package data

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"slices"

	"atenia/internal/model/text"
	"atenia/internal/tape"
	"atenia/internal/text/token"
)

// Long selects what happens to a document longer than a row.
type Long string

// The choices.
const (
	split Long = "split" // rows, cut at different places in every epoch
	cut   Long = "cut"   // only the first row is used
	drop  Long = "drop"  // the document is skipped
)

// Config configures the batches. Zero fields have the default given here.
type Config struct {
	Files []string // in the formats of [token.ReadCorpus]
	Row   int      // maximum tokens of a row; 512
	Rows  int      // a batch has at most Row·Rows tokens; 8
	// Alone makes each batch exactly Rows rows, however short, without packing.
	Alone bool
	Long  Long   // Split
	Seed  uint64 // of the order and of the held-out selection
	// Heldout is the share of documents kept for evaluation. If that is less than
	// one document, it is the share of each document, at its end.
	Heldout float64
	// End is the text of the token that ends every text; "" for none. Conversations
	// end as rendered by the chat template.
	End string
	// Model is the folder of the model that learns. Its encoders read the images or
	// sounds of documents, with so many Threads. If it is an encoder itself, documents
	// are examples: a batch has exactly Rows, an epoch's last one what is left, and each
	// text of an example has at most Row tokens. "" for texts alone.
	Model   string
	Threads int
	// Everything includes the questions of conversations in the loss.
	Everything bool
	// MemoryBytes is the limit on bytes of tokens in memory; 256 MiB. The rest spills to
	// a temporary file in Dir, or in the system's directory.
	MemoryBytes int64
	Dir         string
}

// errConfig is matched by faults of a [Config], and by data with nothing to
// learn.
var errConfig = errors.New("training data")

func (c Config) defaulted() (Config, error) {
	set := func(x *int, usual int) {
		if *x == 0 {
			*x = usual
		}
	}
	set(&c.Row, 512)
	set(&c.Rows, 8)
	if c.Long == "" {
		c.Long = split
	}
	if c.MemoryBytes == 0 {
		c.MemoryBytes = 256 << 20
	}
	c.Files = slices.Clone(c.Files)
	var faults []error
	need := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("%w: "+format, append([]any{errConfig}, args...)...))
		}
	}
	need(len(c.Files) > 0, "no files")
	need(c.Row >= 1 && c.Row <= 1<<24, "rows of %d tokens", c.Row)
	need(c.Rows >= 1 && c.Rows <= 1<<24, "batches of %d rows", c.Rows)
	need(slices.Contains([]Long{split, cut, drop}, c.Long), "no treatment %q of long documents, want %q, %q or %q", c.Long, split, cut, drop)
	need(c.Heldout >= 0 && c.Heldout < 1, "a held-out share of %v, want 0 to below 1", c.Heldout)
	need(c.MemoryBytes >= 0, "%d bytes of memory", c.MemoryBytes)
	return c, errors.Join(faults...)
}

// A Summary describes the content of a [Set].
type Summary struct {
	Documents     int // with something to learn
	Conversations int // of these
	Empty         int // documents with nothing to learn, which are skipped
	Long          int // documents longer than a row
	Heldout       int // documents, or parts of documents, kept for evaluation
	Tokens        int64
	Learnt        int64 // tokens with loss; examples of encoders have none
}

// A Set is the tokenized documents.
type Set struct {
	cfg     Config
	store   store
	starts  []int64 // start of each document in store, and the end of the last
	train   []span
	held    []span
	sum     Summary
	version uint32           // checksum of tokens and configuration
	senses  *Senses          // nil: there are texts alone
	media   map[int64]*Media // of documents, by their start
	pairs   *pairing         // the documents are examples of an encoder
}

// A span is the part of a document that a source uses: a range of tokens in the
// store.
type span struct{ from, to int64 }

// Open reads and tokenizes files. Faults of a file are a [*token.CorpusError] with
// its line; others match [errConfig].
func Open(ctx context.Context, cfg Config, t *text.Text) (*Set, error) {
	cfg, err := cfg.defaulted()
	if err != nil {
		return nil, err
	}
	e := &encoder{text: t, everything: cfg.Everything, end: none}
	if cfg.End != "" {
		id, ok := t.Tokenizer.ID(cfg.End)
		if !ok {
			return nil, fmt.Errorf("%w: the tokenizer has no token %q to end a text with", errConfig, cfg.End)
		}
		e.end = id
	}
	if cfg.Model != "" {
		if e.senses, err = openSenses(cfg.Model, t.Tokenizer, cfg.Row, cfg.Threads); err != nil {
			return nil, err
		}
		cfg.Alone = cfg.Alone || e.senses.Hears() // a sound takes much more memory than its text
	}
	var pairs *pairing
	if cfg.Model != "" && e.senses == nil {
		if pairs, err = openPairs(cfg.Model, t.Tokenizer, cfg.Row); err != nil {
			return nil, err
		}
	}
	s := &Set{cfg: cfg, senses: e.senses, pairs: pairs, store: store{most: max(1, cfg.MemoryBytes/4), dir: cfg.Dir}, starts: []int64{0}}
	if err := s.read(ctx, e); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.share(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if len(s.train) == 0 {
		return nil, errors.Join(fmt.Errorf("%w: there is nothing to learn in %d documents", errConfig, s.sum.Empty), s.Close())
	}
	return s, nil
}

// read fills the store.
func (s *Set) read(ctx context.Context, e *encoder) error {
	var doc []int32 // complemented: without loss
	begun, chat, cut := false, false, false
	for d, err := range token.ReadCorpus(ctx, s.cfg.Files) {
		if err != nil {
			return err
		}
		var shown *Media
		switch chat = d.Messages != nil; {
		case s.pairs != nil:
			doc, cut, err = s.pairs.example(ctx, doc[:0], &d)
		case d.Pair != nil && d.Text == "":
			err = fmt.Errorf("%w: a pair, which encoders learn from, and the model generates text: want {\"text\": …} or {\"messages\": …}", errConfig)
		case chat:
			doc, shown, err = e.conversation(doc[:0], &d)
		case d.Audio != "" || e.senses.Hears():
			doc, shown, err = e.said(doc[:0], &d)
		default:
			doc = e.piece(doc[:0], &d, !begun)
		}
		if err == nil {
			err = s.fits(shown)
		}
		if err != nil {
			return &token.CorpusError{File: d.File, Line: d.Line, Err: err}
		}
		if err := s.store.append(doc); err != nil {
			return err
		}
		if s.pairs != nil {
			s.finishPair(tokens(doc), cut)
			continue
		}
		if begun = d.More; !begun {
			if err := s.finish(chat, shown); err != nil {
				return err
			}
		}
	}
	s.version ^= crc32.ChecksumIEEE(fmt.Append(nil, s.cfg.Row, s.cfg.Rows, s.cfg.Alone, s.cfg.Long, s.cfg.Seed, s.cfg.Heldout))
	s.version ^= s.store.sum
	return nil
}

// fits rejects a document that would lose the end of an image.
func (s *Set) fits(m *Media) error {
	if m != nil && m.End > s.cfg.Row && s.cfg.Long != drop {
		return fmt.Errorf("%w: the images of a document end at token %d, a row has %d: allow longer rows, or show smaller images", errConfig, m.End, s.cfg.Row)
	}
	return nil
}

// finish ends a document, or removes it if it has nothing to learn. One that shows
// something is never split, but cut.
func (s *Set) finish(chat bool, shown *Media) error {
	from, to := s.starts[len(s.starts)-1], s.store.size
	if most := from + int64(s.cfg.Row) + 1; shown != nil && to > most && s.cfg.Long != drop {
		s.store.truncate(most)
		to = most
	}
	learnt, err := s.store.learnt(from, to)
	if err != nil {
		return err
	}
	if learnt == 0 || s.cfg.Long == drop && to-from-1 > int64(s.cfg.Row) {
		s.sum.Empty++
		s.store.truncate(from)
		return nil
	}
	if shown != nil {
		if s.media == nil {
			s.media = map[int64]*Media{}
		}
		s.media[from] = shown
		s.version = bits.RotateLeft32(s.version, 1) ^ shown.Sum() // in order
	}
	s.starts = append(s.starts, to)
	s.sum.Documents++
	s.sum.Tokens += to - from
	s.sum.Learnt += learnt
	if chat {
		s.sum.Conversations++
	}
	if to-from-1 > int64(s.cfg.Row) {
		s.sum.Long++
	}
	return nil
}

// share divides documents into training and held-out ones.
func (s *Set) share() error {
	n := len(s.starts) - 1
	held := int(math.Floor(s.cfg.Heldout * float64(n)))
	if s.pairs != nil && s.cfg.Heldout > 0 && n > 1 {
		held = max(held, 1) // an example has no parts
	}
	order := newShuffle(uint64(n), s.cfg.Seed, heldoutStream)
	for i := range n {
		d := span{s.starts[i], s.starts[i+1]}
		list, rest := &s.train, span{}
		switch {
		case held > 0 && order.at(uint64(i)) < uint64(held):
			list = &s.held
		case held == 0 && s.cfg.Heldout > 0 && s.media[d.from] == nil && s.pairs == nil:
			rest.to = d.to
			d.to -= int64(math.Ceil(s.cfg.Heldout * float64(d.to-d.from)))
			rest.from = d.to
		}
		if err := errors.Join(s.keep(list, d), s.keep(&s.held, rest)); err != nil {
			return err
		}
	}
	s.sum.Heldout = len(s.held)
	return nil
}

// keep adds a span to a list if it has something to learn.
func (s *Set) keep(list *[]span, d span) error {
	if s.pairs != nil {
		if d.to > d.from {
			*list = append(*list, d)
		}
		return nil
	}
	if s.cfg.Long == cut {
		d.to = min(d.to, d.from+int64(s.cfg.Row)+1)
	}
	n, err := s.store.learnt(d.from, d.to)
	if n > 0 {
		*list = append(*list, d)
	}
	return err
}

// Summary says what the set was made of.
func (s *Set) Summary() Summary { return s.sum }

// Train returns the training batches: endless, epoch after epoch, in the order
// of the seed.
func (s *Set) Train() *Source { return newSource(s, s.train, true) }

// Heldout returns the evaluation batches, always in the same order; false if
// none are held out.
func (s *Set) Heldout() (*Source, bool) {
	if len(s.held) == 0 {
		return nil, false
	}
	return newSource(s, s.held, false), true
}

// Fill gives the batch of a model the rows of what the documents of a batch show or
// are said in.
func (s *Set) Fill(dst *tape.Batch, b *Batch) error { return s.senses.Fill(dst, b.Media) }

// Encoders returns what encodes the set's images and sounds; nil = there are none.
func (s *Set) Encoders() *Senses { return s.senses }

// Close removes the temporary file and frees encoders.
func (s *Set) Close() error { return errors.Join(s.store.close(), s.senses.Close()) }
