// Package story makes the text that the embedded model is trained on, and
// measures whether a model has learnt it.
//
// A document is a plain story (six in ten), or a chat: mostly a request for a
// story with the story as its answer and questions about it, sometimes small
// talk. It depends on a seed and its index alone, so that a corpus has no end
// and needs no file.
//
//	scene   name, pronoun, kind, trait, thing, place, a helper     scene.go, from the tables of words.go
//	plot    beats, each told in one of some ways                   deeds.go, friendships.go, homely.go
//	story   opening, beats, what was felt, closing                 scene.go, patterns shared by all in plots.go
//	chat    request, story, questions; small talk                  request.go, smalltalk.go
//	memo    what was just said, remembered                         memory.go
//	check   does a story keep its hero; is it what was asked for   measure.go
//
// The stories are written for what a small model finds hard. It must copy the
// hero's name and kind, and the thing, from their first mention, so every story
// repeats all three; it must not confuse them with others, so helpers have no
// names and no pronouns of their own; and names, kinds and things are few and
// common, so that each is a single token.
package story
