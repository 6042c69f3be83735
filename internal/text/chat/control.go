package chat

import (
	"index/suffixarray"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Control is the control tokens of a model, of which a conversation must not make any.
// It does not change and may be used by several goroutines and templates at once.
type Control struct {
	always bool                // every template is taken to write around words: for tests, too
	marks  []rune              // characters of tokens that are none of words, in order
	ascii  [utf8.RuneSelf]bool // those of marks that are ASCII
	signs  []rune              // marks, and the letters of words
	words  *suffixarray.Index  // what tokens have between marks, in small letters
	firsts []rune              // characters that tokens begin with
	before map[string]bool     // beginnings of tokens: whether a word can follow
	behind map[string]bool     // ends of tokens that begin with a word
	most   int                 // bytes of the longest of both
}

// inWord reports whether names, keys and other words may have the character.
func inWord(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// known reports whether a control token is known by the character.
func known(r rune) bool {
	return !inWord(r) && r != utf8.RuneError && !unicode.Is(unicode.White_Space, r)
}

// maxBeginnings bounds the beginnings that are kept. With more of them, every template is
// taken to write around words.
const maxBeginnings = 1 << 20

// NewControl returns the control of tokens.
func NewControl(tokens []string) *Control {
	var words strings.Builder
	marks, signs, firsts := map[rune]bool{}, map[rune]bool{}, map[rune]bool{}
	c := &Control{before: map[string]bool{}, behind: map[string]bool{}}
	for _, t := range tokens {
		if !strings.ContainsFunc(t, known) {
			continue
		}
		c.most = max(c.most, len(t))
		for i, r := range t {
			switch word := inWord(r); {
			case i == 0 && word:
				c.behind[strings.TrimLeftFunc(t, inWord)] = true
			case i > 0 && len(c.before) < maxBeginnings:
				c.before[t[:i]] = c.before[t[:i]] || word
			}
			if i == 0 {
				firsts[r] = true
			}
			if known(r) {
				marks[r], signs[r] = true, true
			}
			if !inWord(r) {
				words.WriteByte(0)
				continue
			}
			words.WriteRune(unicode.ToLower(r))
			signs[unicode.ToLower(r)], signs[unicode.ToUpper(r)] = true, true
		}
		words.WriteByte(0)
	}
	c.always = len(c.before) == maxBeginnings
	c.marks, c.signs, c.firsts = slices.Sorted(maps.Keys(marks)), slices.Sorted(maps.Keys(signs)), slices.Sorted(maps.Keys(firsts))
	for _, r := range c.marks {
		if r < utf8.RuneSelf {
			c.ascii[r] = true
		}
	}
	c.words = suffixarray.New([]byte(words.String()))
	return c
}

// isMark reports whether a token is known by the character.
func (c *Control) isMark(r rune) bool {
	if r < utf8.RuneSelf {
		return c.ascii[r]
	}
	_, ok := slices.BinarySearch(c.marks, r)
	return ok
}

// part reports whether a word is all that a token has between two marks, or a piece of it.
func (c *Control) part(word string) bool {
	return len(c.words.Lookup([]byte(strings.ToLower(word)), 1)) > 0
}

// A wrapping is how a template may complete what somebody said to a control token.
type wrapping struct {
	of *Control
	// begins says that a text of the template ends with the beginning of a token, such as
	// "<": otherwise somebody has to say what a token begins with.
	begins bool
	// words says that a word is enough: one can follow such a beginning, or stand before
	// the end of a token that begins with a word.
	words bool
}

// wrapping finds out what the texts of a template may do.
func (t *Template) wrapping(c *Control) *wrapping {
	if was := t.wrapped.Load(); was != nil && was.of == c {
		return was
	}
	w := &wrapping{c, c.always, c.always}
	for _, s := range t.texts {
		// It may be a format.
		for piece := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '%' || r == '{' || r == '}' }) {
			rest := strings.TrimPrefix(piece, "s")
			for n := range min(len(piece), c.most) {
				word, begins := c.before[piece[len(piece)-n-1:]]
				w.begins = w.begins || begins
				w.words = w.words || word || c.behind[piece[:n+1]] || c.behind[rest[:min(n+1, len(rest))]]
			}
		}
	}
	t.wrapped.Store(w)
	return w
}

// textsOf returns the texts that a template has, other than those of the conversation.
func textsOf(body []Stmt) (texts []string) {
	seen := map[string]bool{"": true}
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			texts = append(texts, s)
		}
	}
	var visit func(any)
	visit = func(n any) {
		switch n := n.(type) {
		case *ConstExpr:
			if s, ok := Text(n.Value); ok {
				add(s)
			}
		case *OutputStmt:
			add(n.Text)
		}
		children(n, visit)
	}
	for _, s := range body {
		visit(s)
	}
	return texts
}
