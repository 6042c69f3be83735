package story

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Hero is the hero's properties, which must not change during a story.
type Hero struct {
	Name, Kind string
	Pronoun    string // he or she; empty where the story has none
}

// introductions are the ways a hero is introduced: kind then name, or name
// then kind where the flag says so.
var introductions = []struct {
	form      *regexp.Regexp
	nameFirst bool
}{
	{regexp.MustCompile(`\b[Aa]n? (?:[a-z]+ ){0,4}?([a-z]+) (?:named|called) ([A-Z][a-z]+)`), false},
	{regexp.MustCompile(`\b[Aa]n? (?:[a-z]+ ){0,4}?([a-z]+)(?: who [^.]*)?\. (?:His|Her) name was ([A-Z][a-z]+)`), false},
	{regexp.MustCompile(`\b([A-Z][a-z]+) was an? (?:[a-z]+ ){0,4}?([a-z]+)(?: who|\.)`), true},
}

// Check reads a story and finds its hero. The error says where name, kind or
// pronoun first become others, or what is missing:
//
//   - the name must come again after the introduction, and no other name may
//     appear that is not introduced (a friend named Ruby, Barney the lamb);
//   - "the fox" must be the hero's kind or that of an animal introduced before
//     ("an old owl"), and no second kind may be given to the hero;
//   - he and she must not change. Where others have names too, a pronoun is
//     judged only if the hero alone is spoken of in its sentence and the one before.
func Check(story string) (Hero, error) {
	var h Hero
	start, end := len(story), 0
	for _, i := range introductions {
		m := i.form.FindStringSubmatchIndex(story)
		if m == nil || m[0] >= start {
			continue
		}
		start, end = m[0], m[1]
		h.Kind, h.Name = story[m[2]:m[3]], story[m[4]:m[5]]
		if i.nameFirst {
			h.Name, h.Kind = h.Kind, h.Name
		}
	}
	if h.Name == "" {
		return h, fmt.Errorf("no hero is introduced")
	}
	if !strings.Contains(story[end:], h.Name) {
		return h, fmt.Errorf("%s is not named again", h.Name)
	}
	c := checker{hero: &h, known: []string{h.Kind}, names: []string{h.Name}}
	for _, s := range sentences(story) {
		if err := c.sentence(s); err != nil {
			return h, err
		}
	}
	return h, nil
}

// sentenceEnd separates clauses, which are checked one by one: marks at the end
// of a sentence, quotation marks and line ends.
var sentenceEnd = regexp.MustCompile(`[.!?:]["”]?\s+|["”]\s*[,]?\s*|\n+`)

func sentences(story string) []string { return sentenceEnd.Split(story, -1) }

// A checker goes through a story, sentence by sentence.
type checker struct {
	hero   *Hero
	known  []string // kinds introduced so far
	names  []string // and names
	others int      // sentences since another character was named, 0 if none was
}

var wordForm = regexp.MustCompile(`[A-Za-z']+`)

func (c *checker) sentence(s string) error {
	words := wordForm.FindAllString(s, -1)
	for i, w := range words {
		words[i] = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "'")
	}
	if c.others > 0 {
		c.others++
	}
	for i := range words {
		if err := c.name(words, i); err != nil {
			return err
		}
		if err := c.kind(words, i); err != nil {
			return err
		}
	}
	if c.others > 0 && (c.others <= 2 || !slices.Contains(words, c.hero.Name)) {
		return nil
	}
	for _, w := range words {
		p := pronouns[strings.ToLower(w)]
		if p == "" {
			continue
		}
		if c.hero.Pronoun == "" {
			c.hero.Pronoun = p
		}
		if p != c.hero.Pronoun {
			return fmt.Errorf("%s is %s, then %q: %s", c.hero.Name, c.hero.Pronoun, w, s)
		}
	}
	return nil
}

// pronouns maps every form to its subject form.
var pronouns = map[string]string{
	"he": "he", "him": "he", "his": "he", "himself": "he", "she": "she", "her": "she", "hers": "she", "herself": "she",
}

// name checks a word that could be a name. Inside a sentence every capital
// begins one; at its beginning only known names are distinguished from other
// words.
func (c *checker) name(words []string, i int) error {
	w := words[i]
	if w == c.hero.Name {
		if i+2 < len(words) && words[i+1] == "the" && isKind(words[i+2]) && words[i+2] != c.hero.Kind {
			return fmt.Errorf("%s is %s, then %s", w, article(c.hero.Kind), article(words[i+2]))
		}
		return nil
	}
	known := slices.Contains(girls, w) || slices.Contains(boys, w)
	if w == "" || w[0] < 'A' || w[0] > 'Z' || len(w) == 1 || strings.Contains(w, "'") || i == 0 && !known {
		return nil
	}
	introduced := slices.Contains(c.names, w) ||
		i > 0 && slices.Contains([]string{"named", "called", "friend", "friends", "was"}, words[i-1]) ||
		i+2 < len(words) && words[i+1] == "the"
	if !introduced {
		return fmt.Errorf("%s is called %s, or somebody comes unannounced: %s", c.hero.Name, w, strings.Join(words, " "))
	}
	if i > 0 && i+2 < len(words) && words[i+1] == "the" {
		c.known = append(c.known, words[i+2])
	}
	c.names, c.others = append(c.names, w), 1
	return nil
}

// kind checks a word that is a kind of hero or helper: "a fox" introduces one,
// "the fox" refers to one that must exist.
func (c *checker) kind(words []string, i int) error {
	w := words[i]
	if !isKind(w) || slices.Contains(c.known, w) {
		return nil
	}
	for k := i - 1; k >= max(0, i-4); k-- {
		switch strings.ToLower(words[k]) {
		case "a", "an", "every", "any", "no", "another", "one", "each", "two":
			if i+2 < len(words) && (words[i+1] == "named" || words[i+1] == "called") && words[i+2] == c.hero.Name {
				return fmt.Errorf("%s is %s, then %s", c.hero.Name, article(c.hero.Kind), article(w))
			}
			c.known = append(c.known, w)
			return nil
		case "the", "this", "that":
			if words[max(0, k-1)] != c.hero.Name && k > 0 && slices.Contains(c.names, words[k-1]) {
				c.known = append(c.known, w) // Barney the lamb
				return nil
			}
			return fmt.Errorf("%s is %s, and nobody is %s: %s", c.hero.Name, article(c.hero.Kind), article(w), strings.Join(words, " "))
		}
	}
	return nil
}

// isKind reports whether a word is a kind that a hero or helper can have.
func isKind(w string) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.noun == w }) || slices.Contains(helpers, w)
}

// Request returns a request for a story about one of all kinds of heroes and
// one of all things, by index.
func Request(i int) (request, kind, thing string) {
	k, t := kinds[i%len(kinds)].noun, things[(i+i/len(kinds))%len(things)].noun
	if i%4 == 0 {
		k, t = "fox", "lantern"
	}
	return "Tell me a story about " + article(traits[i%len(traits)].word+" "+k) + " and " + article(t) + ".", k, t
}

// Has reports whether a story is about a hero of that kind and that thing:
// words before the hero is named do not count.
func Has(story, kind, thing string) bool {
	h, _ := Check(story)
	return h.Kind == kind && slices.Contains(wordForm.FindAllString(story[strings.Index(story, h.Name):], -1), thing)
}
