package token

import (
	"encoding/json"
	"fmt"
	"math"
)

// A Pair is a query with the texts that it is compared with, or with a label.
type Pair struct {
	Query string
	// Texts are the one that answers the query, and behind it those that do not. Of a
	// pair with a label it is the document, and empty for a text that has one alone.
	Texts []string
	// Label is a score from 0 to 1, or the number of a class.
	Label    float64
	Labelled bool
}

// All returns the query and the texts.
func (p *Pair) All() []string { return append([]string{p.Query}, p.Texts...) }

// mostNegatives bounds the texts that do not answer a query.
const mostNegatives = 1024

// pairFields are the keys of a pair. Lines with a text or with messages may have them,
// too, with whatever value.
type pairFields struct {
	Query     json.RawMessage `json:"query"`
	Positive  json.RawMessage `json:"positive"`
	Negatives json.RawMessage `json:"negatives"`
	Document  json.RawMessage `json:"document"`
	Label     json.RawMessage `json:"label"`
}

// pair reads a line with "query".
func (o *pairFields) pair() (*Pair, error) {
	bad := func(format string, args ...any) (*Pair, error) {
		return nil, fmt.Errorf("%w: "+format, append([]any{ErrCorpusFormat}, args...)...)
	}
	p := &Pair{Labelled: o.Document != nil}
	text := func(raw json.RawMessage, dst *string) bool {
		var s *string
		if json.Unmarshal(raw, &s) != nil || s == nil {
			return false
		}
		*dst = *s
		return true
	}
	other := ""
	switch {
	case (o.Positive == nil) == (o.Document == nil):
		return bad("\"query\" needs a \"positive\", the text that answers it, or a \"document\" and its \"label\"")
	case !text(o.Query, &p.Query):
		return bad("\"query\": want a text")
	case p.Labelled && o.Negatives != nil:
		return bad("\"negatives\" belong to a \"positive\", not to a \"document\"")
	case p.Labelled && !text(o.Document, &other):
		return bad("\"document\": want a text")
	case p.Labelled && !o.number(&p.Label):
		return bad("\"document\" needs a \"label\", a number")
	case !p.Labelled && !text(o.Positive, &other):
		return bad("\"positive\": want a text")
	case !p.Labelled && o.Label != nil:
		return bad("\"label\" belongs to a \"document\", not to a \"positive\"")
	}
	p.Texts = []string{other}
	if o.Negatives == nil {
		return p, nil
	}
	var list []*string
	if json.Unmarshal(o.Negatives, &list) != nil {
		return bad("\"negatives\": want a list of texts")
	}
	if len(list) > mostNegatives {
		return bad("%d \"negatives\", want at most %d", len(list), mostNegatives)
	}
	for i, s := range list {
		if s == nil {
			return bad("\"negatives\": text %d is null", i)
		}
		p.Texts = append(p.Texts, *s)
	}
	return p, nil
}

// labelled returns the pair of a text with a label, nil if it has none.
func (o *pairFields) labelled(text string) *Pair {
	p := &Pair{Query: text, Labelled: true}
	if !o.number(&p.Label) {
		return nil
	}
	return p
}

// number reads the label.
func (o *pairFields) number(dst *float64) bool {
	var x *float64
	if o.Label == nil || json.Unmarshal(o.Label, &x) != nil || x == nil || math.IsInf(*x, 0) {
		return false
	}
	*dst = *x
	return true
}
