package story

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// A scene has the words of one story. Patterns refer to them with a dollar
// sign:
//
//	$name $kind $trait $thing $look $place $spot $day $went $home $mend …   the word itself
//	$aTrait $aKind $aThing $aLook $aHelper                                 with a or an before it
//	$in                                                                    in the forest, by the sea
//	$he $him $his $himself                                                 the hero's pronoun
//	$first $second $third                                                  the chosen row of the plot
//	$name2 $kind2 …                                                        the same of another scene
//
// A capital after the dollar sign makes the first letter of the word a capital.
type scene struct {
	name   string
	kind   kind
	person pronoun
	trait  trait
	thing  thing
	look   string
	place  place
	plot   *plot
	row    []string
	helper string // another animal, called by its kind alone
	like   string // old, wise, …
	spot   string
	day    string
	met    bool   // the helper was introduced
	other  *scene // of $name2 and so on, where two are compared
}

// A wish is the part of a scene that a request fixes; empty fields are free.
type wish struct {
	name, kind, trait, thing, place, theme string
	funny                                  bool
}

// set makes a scene that fulfils the wish.
func set(r *rand.Rand, w wish) *scene {
	s := &scene{trait: pick(r, traits), thing: pick(r, things), place: pick(r, places), spot: pick(r, spots), day: pick(r, days)}
	s.kind = pick(r, kinds)
	for _, x := range kinds {
		if x.noun == w.kind {
			s.kind = x
		}
	}
	for _, x := range traits {
		if x.word == w.trait {
			s.trait = x
		}
	}
	for _, x := range things {
		if x.noun == w.thing {
			s.thing = x
		}
	}
	for _, x := range places {
		if x.noun == w.place {
			s.place = x
		}
	}
	s.call(r, w)
	if w.thing == "" {
		s.look = pick(r, s.thing.looks)
	}
	for s.helper == "" || s.helper == s.kind.noun {
		s.helper = pick(r, helpers)
	}
	s.like = pick(r, helperTraits)
	for s.plot == nil || w.theme != "" && !slices.Contains(s.plot.themes, w.theme) || slices.Contains(s.plot.not, s.trait.word) {
		s.plot = &plots[r.IntN(len(plots))]
		if w.trait == "" {
			s.trait = pick(r, traits)
		}
	}
	if len(s.plot.rows) > 0 {
		s.row = pick(r, s.plot.rows)
	}
	return s
}

// call gives the hero a name that suits the kind, and the pronoun of the name.
func (s *scene) call(r *rand.Rand, w wish) {
	s.person, s.name = feminine, pick(r, girls)
	if r.IntN(2) == 0 {
		s.person, s.name = masculine, pick(r, boys)
	}
	switch {
	case w.name != "":
		s.name, s.person = w.name, masculine
		if slices.Contains(girls, w.name) {
			s.person = feminine
		}
	case s.kind.person == feminine:
		s.person, s.name = feminine, pick(r, girls)
	case s.kind.person == masculine:
		s.person, s.name = masculine, pick(r, boys)
	}
}

// say replaces the variables of a pattern. "the $helper" introduces a helper
// who has not been introduced, and "$aHelper" does not introduce one twice.
func (s *scene) say(pattern string) string {
	if s.look == "" {
		pattern = lookless.Replace(pattern)
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(pattern, "$")
		if !ok {
			b.WriteString(pattern)
			return b.String()
		}
		n := strings.IndexFunc(rest, func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '2' })
		if n < 0 {
			n = len(rest)
		}
		key := rest[:n]
		pattern = rest[n:]
		upper := key[0] <= 'Z'
		key = strings.ToLower(key[:1]) + key[1:]
		if key == "helper" && !s.met {
			if cut, ok := strings.CutSuffix(before, "the "); ok {
				before, key = cut, "aHelper"
			} else if cut, ok := strings.CutSuffix(before, "The "); ok {
				before, key, upper = cut, "aHelper", true
			}
		}
		b.WriteString(before)
		text := s.value(key)
		if upper {
			text = capital(text)
		}
		b.WriteString(text)
	}
}

// lookless removes the looks of a thing. A requested thing has none: they would
// have to suit it before it is named, which a small model learns late.
var lookless = strings.NewReplacer("$aLook $thing", "$aThing", "$ALook $thing", "$AThing", "$look $thing", "$thing")

// value returns the word for a key; an unknown key stays in the text, which a
// test detects.
func (s *scene) value(key string) string {
	switch key {
	case "name":
		return s.name
	case "kind":
		return s.kind.noun
	case "aKind":
		return article(s.kind.noun)
	case "went":
		return s.kind.went
	case "home":
		return s.kind.home
	case "trait":
		return s.trait.word
	case "aTrait":
		return article(s.trait.word)
	case "thing":
		return s.thing.noun
	case "aThing":
		return article(s.thing.noun)
	case "look":
		return s.look
	case "aLook":
		return article(s.look)
	case "place":
		return s.place.noun
	case "in":
		return s.place.at + " the " + s.place.noun
	case "spot":
		return s.spot
	case "day":
		return strings.ToLower(s.day[:1]) + s.day[1:]
	case "he":
		return s.person.he
	case "him":
		return s.person.him
	case "his":
		return s.person.his
	case "himself":
		return s.person.him + "self"
	case "helper":
		return s.helper
	case "aHelper":
		if s.met {
			return "the " + s.helper
		}
		s.met = true
		return article(s.like + " " + s.helper)
	}
	return s.detail(key)
}

// detail returns what belongs to the thing or the plot. These are patterns too.
func (s *scene) detail(key string) string {
	switch key {
	case "joy":
		return s.thing.joy
	case "broke":
		return s.thing.broke
	case "mend":
		return s.thing.mend
	case "danger":
		return s.say(s.thing.danger)
	case "rescue":
		return s.say(s.thing.rescue)
	case "first", "second", "third":
		i := slices.Index([]string{"first", "second", "third"}, key)
		if i < len(s.row) {
			return s.say(s.row[i])
		}
	case "feels":
		return s.plot.feels
	case "learnt":
		return s.plot.learnt
	}
	if of, ok := strings.CutSuffix(key, "2"); ok && s.other != nil {
		return s.other.value(of)
	}
	return "$" + key
}

// tell returns the whole story. A short one omits decoration.
func (s *scene) tell(r *rand.Rand, funny bool) string {
	var t text
	t.add(s.say(pick(r, openings)))
	if r.IntN(2) == 0 {
		t.add(s.say(pick(r, s.trait.shown)))
	}
	if r.IntN(4) == 0 {
		t.add(s.place.sound)
	}
	joke := -1
	if funny {
		for joke = 2 + r.IntN(len(s.plot.beats)-3); len(s.plot.beats[joke]) == 0; joke-- {
		}
	}
	for i, b := range s.plot.beats {
		if len(b) == 0 {
			t.paragraph()
			continue
		}
		t.add(s.say(pick(r, b)))
		if i == joke {
			t.add(s.say(pick(r, jokes)))
		}
	}
	// A name that is used only once does not train the model to remember it.
	if r.IntN(2) == 0 || strings.Count(t.String(), s.name) < 3 {
		t.add(s.say("$Name felt $feels."))
	}
	if r.IntN(3) > 0 {
		ends := closings
		if s.plot.away {
			ends = partings
		}
		t.add(s.say(pick(r, ends)))
	}
	return t.String()
}

// A text is sentences in paragraphs.
type text struct {
	b     strings.Builder
	fresh bool
}

func (t *text) add(s string) {
	switch {
	case t.b.Len() == 0:
	case t.fresh:
		t.b.WriteString("\n\n")
	default:
		t.b.WriteByte(' ')
	}
	t.fresh = false
	t.b.WriteString(s)
}

func (t *text) paragraph()     { t.fresh = true }
func (t *text) String() string { return t.b.String() }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// article puts a or an before a word, by its pronunciation.
func article(s string) string {
	if strings.ContainsAny(s[:1], "aeiou") || strings.HasPrefix(s, "honest") {
		return "an " + s
	}
	return "a " + s
}
