package story

import (
	"math/rand/v2"
	"strings"
)

// asks are ways to ask for a story; %s is "a funny story about a fox".
var asks = []string{
	"Tell me %s.", "Tell me %s.", "Tell me %s.", "Please tell me %s.", "Write %s.", "Write %s.", "Please write %s.",
	"Can you tell me %s?", "I would like %s, please.", "I want %s.", "Could you make up %s?", "%s, please.", "Make up %s.", "%s",
}

// leads may precede a requested story. They repeat the request, which helps the
// model to follow it.
var leads = []string{
	"Here is a story about $aTrait $kind and $aThing.", "Gladly! This is a story about $aTrait $kind and $aThing.",
	"Here comes a story about $aTrait $kind and $aThing.", "Of course! Here is a story about $aTrait $kind and $aThing.",
}

// anything asks for any story.
var anything = []string{
	"Tell me a story.", "Tell me a story", "A story, please.", "Can you tell me a story?", "Please tell me a story.",
	"Write a story.", "I would like a story.", "Surprise me with a story.", "I am bored.", "Tell me something nice.", "Do you know a story?",
}

// ask returns a request and its wish.
func ask(r *rand.Rand) (string, wish) {
	var w wish
	about, noun, tail := "", "story", ""
	switch n := r.IntN(20); {
	case n < 14:
		about = askHero(r, &w)
	case n < 16:
		w.thing = pick(r, things).noun
		about = article(w.thing)
	case n < 18:
		p := &plots[r.IntN(len(plots))]
		w.theme = pick(r, p.themes)
		about = w.theme
		if p.name == "bedtime" {
			about, noun = "", "bedtime story"
		}
	}
	if r.IntN(6) == 0 || about == "" && noun == "story" {
		p := pick(r, places)
		w.place = p.noun
		tail = pick(r, []string{" set ", " that happens "}) + p.at + " the " + p.noun
	}
	if about != "" {
		about = " about " + about
	}
	after := ""
	if w.funny = r.IntN(7) == 0; w.funny {
		if r.IntN(2) == 0 {
			noun = "funny " + noun
		} else {
			after = pick(r, []string{" Make it funny.", " Make it funny, please.", " It should be funny."})
		}
	} else if r.IntN(8) == 0 {
		noun = pick(r, []string{"little ", "nice ", "short ", "new "}) + noun
	}
	form := pick(r, asks)
	if after != "" && strings.HasSuffix(form, "%s") {
		form += "."
	}
	return capital(strings.Replace(form, "%s", article(noun)+about+tail, 1)) + after, w
}

// askHero wishes for a hero, mostly together with a thing.
func askHero(r *rand.Rand, w *wish) string {
	k := pick(r, kinds)
	w.kind = k.noun
	about := k.noun
	if r.IntN(3) > 0 {
		w.trait = pick(r, traits).word
		about = w.trait + " " + about
	}
	about = article(about)
	if r.IntN(5) == 0 {
		names := girls
		if k.person == masculine || k.person != feminine && r.IntN(2) == 0 {
			names = boys
		}
		w.name = pick(r, names)
		about += pick(r, []string{" named ", " called "}) + w.name
	}
	if r.IntN(5) > 0 {
		w.thing = pick(r, things).noun
		about += pick(r, []string{" and ", " and ", " and ", " with "}) + article(w.thing)
	}
	return about
}

// A question about a story, and its answer.
type question struct {
	asked  []string
	answer []string
}

// questions apply to every story.
var questions = []question{
	{[]string{"Who is the story about?", "Who is the hero?", "Who is the hero of the story?"},
		[]string{"The story is about $Name, $aTrait $kind.", "The hero is $Name, $aTrait $kind."}},
	{[]string{"What is the name of the $kind?", "What was the $kind called?"}, []string{"The $kind was called $Name.", "The name of the $kind is $Name."}},
	{[]string{"What kind of animal is $Name?", "What is $Name?", "Who is $Name?"}, []string{"$Name is $aKind.", "$Name is $aTrait $kind."}},
	{[]string{"Where does $Name live?", "Where does the story happen?", "Where was that?"}, []string{"$Name lives $in.", "It all happened $in."}},
	{[]string{"How did $Name feel?", "How did $Name feel at the end?"}, []string{"$Name felt $feels.", "At the end, the $kind felt $feels."}},
	{[]string{"What can we learn from it?", "What is the moral of the story?", "What does the story teach us?"},
		[]string{"We learn that $learnt.", "The story teaches us that $learnt."}},
	{[]string{"What happened to the $thing?", "What about the $thing?", "And the $thing?"}, []string{"$Fate"}},
	{[]string{"What is the title?", "What is the story called?", "Give the story a title."}, []string{"$Title"}},
	{[]string{"What happened, in short?", "Tell it in one sentence.", "Can you sum it up?"}, []string{"$Told"}},
	{[]string{"What did the $thing look like?"}, []string{"It was $aLook $thing.", "The $thing was $look."}},
}

// after thanks for a story.
var thanks = []question{
	{[]string{"Thank you!", "Thanks!", "Thank you, that was nice.", "I like it.", "What a lovely story!", "Great story!"},
		[]string{"You are welcome! Would you like another story?", "I am glad you like it. Shall I tell another one?", "You are welcome! Come back for another story any time.", "Thank you for listening!"}},
}

// storyChat returns a chat that asks for a story, and perhaps about it.
func storyChat(r *rand.Rand) []Message {
	request, w := pick(r, anything), wish{}
	if r.IntN(10) > 0 {
		request, w = ask(r)
	}
	s := set(r, w)
	told := s.tell(r, w.funny)
	if w.thing != "" && w.kind != "" || r.IntN(6) == 0 {
		told = s.say(pick(r, leads)) + "\n\n" + told
	}
	talk := turn(nil, request, told)
	count := []int{0, 0, 1, 1, 2, 2}[r.IntN(6)]
	for _, i := range r.Perm(len(questions))[:count] {
		q := questions[i]
		if s.look == "" && strings.Contains(q.asked[0], "look like") {
			continue
		}
		asked := pick(r, q.asked)
		if s.kind.person.he != "" && strings.Contains(asked, "animal") {
			asked = "Who is $Name?"
		}
		answer := pick(r, q.answer)
		switch answer {
		case "$Title":
			answer = pick(r, s.plot.titles)
		case "$Told":
			answer = s.plot.told
		case "$Fate":
			answer = s.plot.fate
		}
		talk = turn(talk, s.say(asked), s.say(answer))
	}
	if r.IntN(8) == 0 {
		talk = turn(talk, pick(r, thanks[0].asked), pick(r, thanks[0].answer))
	}
	return talk
}

// turn adds a question and its answer.
func turn(talk []Message, user, assistant string) []Message {
	return append(talk, Message{"user", user}, Message{"assistant", assistant})
}
