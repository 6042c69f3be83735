package story

import "math/rand/v2"

// A memo is small talk about something just mentioned, which the model must
// remember for a moment. $name2, $kind2 and $thing2 differ from $name, $kind
// and $thing.
type memo [][2]string

// memos are short texts, in which a model learns to attend to earlier text
// sooner than in long ones.
var memos = []memo{
	{{"My name is $Name.", "Hello, $Name! What a nice name. Shall I tell you a story, $Name?"}, {"What is my name?", "Your name is $Name."}},
	{{"Hello, I am $Name.", "Hello, $Name! What shall the story be about?"}, {"Do you know my name?", "Yes, you are $Name."}},
	{{"I have $aKind named $Name.", "$Name is a lovely name for $aKind. Shall I tell you a story about $Name the $kind?"}, {"Who is $Name?", "$Name is your $kind."}},
	{{"My $kind is called $Name.", "What a good name! I would like to meet $Name the $kind."}, {"What is my $kind called?", "Your $kind is called $Name."}},
	{{"I found $aLook $thing.", "$ALook $thing! What will you do with the $thing?"}, {"What did I find?", "You found $aLook $thing."}},
	{{"I lost my $thing.", "Oh no! Where did you last see the $thing? I hope you find your $thing."}, {"What did I lose?", "You lost your $thing."}},
	{{"Say $thing three times.", "$Thing, $thing, $thing."}, {"Now say $kind three times.", "$Kind, $kind, $kind."}},
	{{"Say $name three times.", "$Name, $name, $name."}, {"Now say $name2 three times.", "$Name2, $name2, $name2."}},
	{{"$Name is $aKind, and $Name2 is $aKind2. What is $Name?", "$Name is $aKind."}, {"And $Name2?", "$Name2 is $aKind2."}},
	{{"$Name is $aKind, and $Name2 is $aKind2. Who is the $kind2?", "$Name2 is the $kind2."}, {"And who is the $kind?", "$Name is the $kind."}},
	{{"$Name has $aThing, and $Name2 has $aThing2. Who has the $thing?", "$Name has the $thing."}, {"What does $Name2 have?", "$Name2 has $aThing2."}},
	{{"The $kind has $aThing, and the $kind2 has $aThing2. What does the $kind2 have?", "The $kind2 has $aThing2."}, {"And the $kind?", "The $kind has $aThing."}},
	{{"$Name gave $aThing to $Name2. Who has the $thing now?", "$Name2 has the $thing now."}, {"Who gave it away?", "$Name gave the $thing away."}},
	{{"$Name, $Name2. Who comes first?", "$Name comes first."}, {"And who comes second?", "$Name2 comes second."}},
	{{"I like the $kind and the $thing.", "Then let us make a story about $aKind and $aThing."}, {"What do I like?", "You like the $kind and the $thing."}},
}

// recall is one of them, about things chosen at random.
func recall(r *rand.Rand) []Message {
	s, other := set(r, wish{}), set(r, wish{})
	for other.name == s.name || other.kind.noun == s.kind.noun || other.thing.noun == s.thing.noun {
		other = set(r, wish{})
	}
	s.other = other
	m := pick(r, memos)
	var talk []Message
	for _, t := range m[:1+r.IntN(len(m))] {
		talk = turn(talk, s.say(t[0]), s.say(t[1]))
	}
	return talk
}
