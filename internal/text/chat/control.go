package chat

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Control is the control tokens of a model, of which a conversation must not make any.
// It does not change and may be used by several goroutines and templates at once.
type Control struct {
	signs []rune               // what tokens consist of, in either case, in order
	ascii [utf8.RuneSelf]int32 // where those that are ASCII are among signs, from 1; 0 for the others
	marks []rune               // those that are none of words, in order
	lead  [256]bool            // first bytes of marks
}

// inWord reports whether names, keys and other words may have the character.
func inWord(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// known reports whether a control token is known by the character.
func known(r rune) bool {
	return traceable(r) && !inWord(r) && !unicode.Is(unicode.White_Space, r)
}

// traceable reports whether a character can be told from those that stand for others.
func traceable(r rune) bool { return r != utf8.RuneError && r < privateFirst }

// NewControl returns the control of tokens.
func NewControl(tokens []string) *Control {
	signs, marks := map[rune]bool{}, map[rune]bool{}
	c := &Control{}
	for _, t := range tokens {
		if !strings.ContainsFunc(t, known) {
			continue // found wherever it is written
		}
		for _, r := range t {
			if known(r) {
				marks[r] = true
				c.lead[string(r)[0]] = true
			}
			if traceable(r) {
				signs[r], signs[unicode.ToLower(r)], signs[unicode.ToUpper(r)], signs[unicode.ToTitle(r)] = true, true, true, true
			}
		}
	}
	c.signs, c.marks = slices.Sorted(maps.Keys(signs)), slices.Sorted(maps.Keys(marks))
	for i, r := range c.signs {
		if r < utf8.RuneSelf {
			c.ascii[r] = int32(i) + 1
		}
	}
	return c
}

// isMark reports whether a token is known by the character.
func (c *Control) isMark(r rune) bool {
	_, ok := slices.BinarySearch(c.marks, r)
	return ok
}

// sign returns where a character is among signs.
func (c *Control) sign(r rune) (int, bool) {
	if r < utf8.RuneSelf {
		return int(c.ascii[r]) - 1, c.ascii[r] > 0
	}
	return slices.BinarySearch(c.signs, r)
}

// textsOf returns the texts that a template has, but for those that are only compared, and
// names of items. It tells their nodes which they are.
func textsOf(body []stmt) []string {
	var texts []string
	var visit func(any)
	compound := func(n any) {
		if _, ok := n.(*constExpr); !ok {
			visit(n)
		}
	}
	visit = func(n any) {
		switch n := n.(type) {
		case *constExpr:
			if s, ok := n.Value.(string); ok && s != "" {
				texts = append(texts, s)
				n.Own = len(texts)
			}
		case *outputStmt:
			if n.Text != "" {
				texts = append(texts, n.Text)
				n.Own = len(texts)
			}
		case *compareExpr, *testExpr:
			children(n, compound)
			return
		case *itemExpr:
			visit(n.X)
			compound(n.Key)
			return
		}
		children(n, visit)
	}
	each(body, visit)
	return texts
}
