package token

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// A file says how text is rewritten, and each step can lengthen it: a kilobyte of
// steps could ask for terabytes at the first word. So the most that all steps
// together can make of a byte is bounded when a tokenizer is loaded. Files in use have
// 2 to 44 (TestGrowth).
const (
	mostGrowth = 64
	mostSteps  = 64 // in each of the pipeline's parts; files in use have up to 10
)

// A growth says how many bytes the steps of a part make of one byte at most.
type growth struct {
	product float64 // of the steps that each lengthen what the others made
	// Unicode's forms, cases and classes leave what others of them made, so that
	// together they lengthen a text no more than the one that lengthens it most. The
	// map of a SentencePiece model is one of them.
	unicode float64
	mapped  bool // there was a map
	steps   int
}

func (g *growth) times(x float64) { g.product *= max(x, 1) }

func (g *growth) form(x float64) { g.unicode = max(g.unicode, x) }

// normalizer counts a normalizer.
func (g *growth) normalizer(n normalizer) {
	g.steps++
	switch n := n.(type) {
	case normalizers:
		for _, m := range n {
			g.normalizer(m)
		}
	case unicodeForm:
		if n.Form == norm.NFKC || n.Form == norm.NFKD {
			g.form(11) // U+FDFA: 3 bytes become 33
		} else {
			g.form(3) // U+0390 and others: 2 bytes become 6
		}
	case lowercase:
		g.form(1.5) // U+0130 and others
	case bertText:
		if n.Chinese {
			g.times(5. / 3) // spaces on both sides
		}
		g.form(3)
	case prefixText:
		g.times(1 + float64(len(n.Text)))
	case replacement:
		g.times(float64(len(n.Content)) / float64(max(n.Least, 1)))
	case byteText:
		g.times(2)
	case *charsmap:
		if g.mapped {
			g.times(n.growth())
		}
		g.form(n.growth())
		g.mapped = true
	}
}

// cutter counts the pre-tokenizers, which rewrite text as well.
func (g *growth) cutter(ps preTokenizers) {
	for _, p := range ps {
		g.steps++
		switch p := p.(type) {
		case byteLevelSplit:
			g.times(2)
			if p.PrefixSpace {
				g.times(2)
			}
		case metaspace:
			n := float64(len(p.Mark))
			if p.Prepend != "never" {
				n++ // a word of one byte gets a mark
			}
			g.times(n)
		}
	}
}

// post counts how often a post-processor repeats a text.
func (g *growth) post(p postProcessor) {
	g.steps++
	switch p := p.(type) {
	case postProcessors:
		for _, q := range p {
			g.post(q)
		}
	case template:
		texts := func(slots []slot) float64 {
			var n [2]float64
			for _, s := range slots {
				if s.ids == nil {
					n[s.text&1]++
				}
			}
			return max(n[0], n[1])
		}
		g.times(max(texts(p.single), texts(p.pair)))
	}
}

// decoder counts a decoder.
func (g *growth) decoder(d decoder) {
	g.steps++
	switch d := d.(type) {
	case decoders:
		for _, e := range d {
			g.decoder(e)
		}
	case replaceDecoder:
		g.normalizer(d.replacement)
	case byteDecoder:
		g.form(1.5) // a byte that is no text: 2 bytes become 3
	case suffixDecoder:
		if d.suffix == "" {
			g.times(2) // a space after every character
		}
	}
}

// growths returns what encoding and decoding make of a text at most.
func (t *Tokenizer) growths() (encode, decode growth) {
	encode, decode = growth{product: 1, unicode: 1}, growth{product: 1, unicode: 1}
	if t.normalizer != nil {
		encode.normalizer(t.normalizer)
	}
	encode.cutter(t.cutter)
	if t.post != nil {
		encode.post(t.post)
	}
	if t.decoder != nil {
		decode.decoder(t.decoder)
	}
	return encode, decode
}

// bounded returns an error if a text could become too long.
func (t *Tokenizer) bounded() error {
	encode, decode := t.growths()
	for _, c := range []struct {
		path string
		g    growth
	}{{"normalizer, pre_tokenizer and post_processor", encode}, {"decoder", decode}} {
		if x := c.g.product * c.g.unicode; x > mostGrowth {
			return &FormatError{Path: c.path, Want: fmt.Sprintf("steps that make a text at most %d times as long", mostGrowth), Got: fmt.Sprintf("%.3g times", x)}
		}
		if c.g.steps > mostSteps {
			return &FormatError{Path: c.path, Want: fmt.Sprintf("at most %d steps", mostSteps), Got: fmt.Sprint(c.g.steps)}
		}
	}
	return nil
}

// growth returns how many bytes the map makes of one at most: keys of more than five
// bytes are not looked up.
func (m *charsmap) growth() float64 {
	if m.Blob == nil {
		return 1
	}
	most, at := 1., []uint32{unitOffset(m.units[0])}
	for size := 1; size <= 5 && len(at) > 0; size++ {
		var next []uint32
		for _, from := range at {
			for c := uint32(1); c < 256; c++ {
				pos := from ^ c
				if pos >= uint32(len(m.units)) {
					continue
				}
				u := m.units[pos]
				if u&(1<<31|0xff) != c {
					continue
				}
				to := pos ^ unitOffset(u)
				if u>>8&1 == 0 {
					next = append(next, to)
				} else if to < uint32(len(m.units)) {
					if i := int(m.units[to] & (1<<31 - 1)); i <= len(m.texts) {
						text, _, _ := strings.Cut(m.texts[i:], "\x00")
						most = max(most, float64(len(text))/float64(size))
					}
				}
			}
		}
		slices.Sort(next)
		at = slices.Compact(next)
	}
	return most
}
