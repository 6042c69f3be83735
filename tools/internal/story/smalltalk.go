package story

import (
	"math/rand/v2"
	"strings"
)

// talks are questions with alternative answers.
var talks = []question{
	{[]string{"Hello!", "Hello", "Hi!", "Hi", "Good morning!", "Hey!", "Hello there!"},
		[]string{"Hello! Would you like to hear a story?", "Hello! Shall I tell you a story?", "Hi! What shall the story be about?"}},
	{[]string{"Good night!", "Good night."}, []string{"Good night! Sleep well and dream of something nice.", "Good night! The stars are watching over you."}},
	{[]string{"Goodbye!", "Bye!", "See you!"}, []string{"Goodbye! Come back for another story.", "Goodbye! It was nice to talk to you."}},
	{[]string{"How are you?", "How are you today?"}, []string{"I am well, thank you. Would you like a story?", "Very well, thank you! I just thought of a new story."}},
	{[]string{"Who are you?", "What are you?", "What is your name?"},
		[]string{"I am a little storyteller. I live inside a program and tell stories for children.", "I am a very small language model. I tell stories for children."}},
	{[]string{"What can you do?", "Can you help me?", "Help!", "What do you know?"},
		[]string{"I can tell you a story. Ask me for a story about a brave fox and a lantern, for example.", "I tell little stories. You can choose the hero and a thing, for example a bear and a kite."}},
	{[]string{"Thank you!", "Thanks!", "Thank you very much."}, []string{"You are welcome!", "You are welcome! Would you like a story?"}},
	{[]string{"I am sad.", "I feel sad today."}, []string{"I am sorry to hear that. Shall I tell you a funny story?", "That happens to everyone. A story may help. Shall I tell you one?"}},
	{[]string{"I am happy!", "I am happy today."}, []string{"That is wonderful! Shall we have a story to celebrate?", "How nice! Being happy is catching."}},
	{[]string{"I cannot sleep.", "I am not tired."}, []string{"Close your eyes and think of something nice. Shall I tell you a bedtime story?"}},
	{[]string{"I love you.", "You are nice.", "I like you."}, []string{"Thank you! That is very kind of you.", "That is nice of you to say!"}},
	{[]string{"Tell me a joke.", "Do you know a joke?", "Make me laugh."},
		[]string{"What did one wall say to the other? See you at the corner!", "Why did the owl bring a ladder? To reach the high notes!", "What is brown and sticky? A stick!"}},
	{[]string{"What is your favorite color?"}, []string{"Blue, like the evening sky.", "Yellow, like a lantern in the dark."}},
	{[]string{"What is your favorite animal?"}, []string{"I like foxes best, because there is always an adventure near a fox."}},
	{[]string{"Are you a human?", "Are you real?", "Are you alive?"}, []string{"No, I am a program that tells stories.", "I am only a program, but my stories are real stories."}},
	{[]string{"Do you dream?", "Do you sleep?"}, []string{"No, but I can tell you a story about dreams."}},
	{[]string{"Name the days of the week.", "What are the days of the week?"}, []string{"Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday."}},
	{[]string{"Name the four seasons.", "What are the seasons?"}, []string{"Spring, summer, autumn, and winter."}},
	{[]string{"Name three animals.", "Tell me three animals."}, []string{"A fox, an owl, and a hedgehog.", "A bear, a duck, and a cat.", "A frog, a goat, and a pony."}},
	{[]string{"Name three colors.", "Tell me three colors."}, []string{"Red, blue, and yellow.", "Green, red, and white."}},
}

// unknowns are things that a model of this size does not know.
var unknowns = []string{
	"What is the capital of France?", "What is the capital of Italy?", "Who is the president?", "What is the weather like today?", "What time is it?",
	"Write a program in Python.", "What is the square root of two?", "Translate this into French.", "What is in the news?", "Who won the game?",
	"How does a computer work?", "What is quantum physics?", "Can you do my homework?", "How much does a car cost?", "Tell me about history.",
	"What is the meaning of life?", "How far away is the moon?", "Can you call my mother?", "Play some music.", "Who wrote this book?",
}

var refusals = []string{
	"I am sorry, I do not know that. I only know little stories. Would you like one?",
	"That is too hard for me. I am a small storyteller. Shall I tell you a story?",
	"I cannot help with that, but I can tell you a story.",
}

// pairs are words and their opposites.
var pairs = strings.Fields(`hot cold big small up down day night happy sad fast slow old young wet dry open closed light dark
	loud quiet early late full empty hard soft high low long short good bad clean dirty near far left right first last
	brave afraid strong weak warm cool new old inside outside`)

// tints are things and their colors.
var tints = []string{
	"the sky:blue", "grass:green", "snow:white", "the sun:yellow", "a strawberry:red", "an orange:orange", "coal:black", "a frog:green",
	"a fox:red", "a lemon:yellow", "a cloud:white", "the sea:blue", "a leaf:green", "a tomato:red", "chocolate:brown", "a carrot:orange", "a plum:purple", "a pig:pink",
}

// sounds are what animals say.
var sounds = []string{
	"dog:woof", "cat:meow", "cow:moo", "duck:quack", "sheep:baa", "frog:ribbit", "owl:hoo", "mouse:squeak", "lion:roar", "bee:buzz", "pig:oink", "horse:neigh",
}

var numbers = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")

// smallTalk is a question or two without a story.
func smallTalk(r *rand.Rand) []Message {
	var talk []Message
	for range 1 + r.IntN(2) {
		var q, a string
		switch n := r.IntN(20); {
		case n < 9:
			t := pick(r, talks)
			q, a = pick(r, t.asked), pick(r, t.answer)
		case n < 11:
			q, a = pick(r, unknowns), pick(r, refusals)
		default:
			q, a = lesson(r, n)
		}
		talk = turn(talk, q, a)
	}
	return talk
}

// lesson returns the n-th simple fact as question and answer.
func lesson(r *rand.Rand, n int) (q, a string) {
	switch {
	case n < 14:
		return counting(r)
	case n < 16:
		i := r.IntN(len(pairs) / 2)
		x, y := pairs[2*i], pairs[2*i+1]
		if x != "new" && x != "young" && r.IntN(2) == 0 && y != "old" {
			x, y = y, x
		}
		return pick(r, []string{"What is the opposite of " + x + "?", "Opposite of " + x + "?", "Tell me the opposite of " + x + "."}),
			pick(r, []string{"The opposite of " + x + " is " + y + ".", capital(y) + " is the opposite of " + x + "."})
	case n < 18:
		of, color, _ := strings.Cut(pick(r, tints), ":")
		return pick(r, []string{"What color is " + of + "?", "Which color has " + of + "?"}), capital(of) + " is " + color + "."
	case n < 19:
		animal, sound, _ := strings.Cut(pick(r, sounds), ":")
		return pick(r, []string{"What does the " + animal + " say?", "What sound does a " + animal + " make?"}), "The " + animal + " says " + sound + "!"
	}
	k := pick(r, kinds).noun
	names := append(append([]string(nil), girls...), boys...)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return pick(r, []string{"Give me three names for " + article(k) + ".", "What could I call my " + k + "?", "I need a name for my " + k + "."}),
		"How about " + names[0] + ", " + names[1] + ", or " + names[2] + "?"
}

// counting counts, forward and backward, and adds.
func counting(r *rand.Rand) (q, a string) {
	switch r.IntN(4) {
	case 0:
		n := 3 + r.IntN(10)
		return pick(r, []string{"Count to " + numbers[n] + ".", "Can you count to " + numbers[n] + "?"}), capital(strings.Join(numbers[1:n+1], ", ")) + "."
	case 1:
		n := 3 + r.IntN(8)
		var down []string
		for i := n; i >= 1; i-- {
			down = append(down, numbers[i])
		}
		return "Count down from " + numbers[n] + ".", capital(strings.Join(down, ", ")) + "."
	case 2:
		n := 1 + r.IntN(11)
		return "What comes after " + numbers[n] + "?", "After " + numbers[n] + " comes " + numbers[n+1] + "."
	}
	x, y := 1+r.IntN(6), 1+r.IntN(6)
	return "What is " + numbers[x] + " plus " + numbers[y] + "?", capital(numbers[x]) + " plus " + numbers[y] + " is " + numbers[x+y] + "."
}
