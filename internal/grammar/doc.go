// Package grammar keeps the answer of a model to a language.
//
//	Parse, FromSchema   GBNF or JSON Schema → Grammar: rules over characters
//	Grammar             prints as GBNF
//	Vocabulary          what the tokens of a model write, as a trie
//	Automaton           a grammar over a vocabulary: states, and their masks
//	Matcher             follows one answer; [Matcher.Allowed] is the mask of the next token
//
// # How it works
//
//	schema ──ways──▶ alternatives ──merge──▶ rules
//	rules ──build──▶ net of bytes ──follow──▶ states ──walk the trie──▶ masks
//
// A schema is first split into ways, each a list of schemas without alternatives, of which
// one has to hold (ways.go); what is refused becomes ways that violate one keyword
// (unless.go). The keywords of a way are merged, and become one rule for each type
// (flat.go, object.go, array.go, number.go, string.go). Sets of strings, those of patterns,
// formats and names of members, are finite automata until then (dfa.go), since those have
// intersections and complements.
//
// A grammar becomes a recursive transition network over bytes, net.go. A state of
// the automaton is the set of all its nodes that a text can lead to, each with
// its stack of calls, automaton.go; states are made lazily, one byte at a time,
// and found again by their content. Left recursion, which such a machine cannot
// follow, is an error.
//
// A mask is the set of tokens that lead from a state to another, mask.go. Its
// costly part is a walk of the trie over the whole vocabulary; it depends on the
// innermost nodes alone for all tokens that do not leave the innermost call, so
// that part is computed once for each set of nodes and shared by all states that
// have it on top, as XGrammar does (Dong et al., arXiv:2411.15100). Only the tokens
// that return to the surroundings are then walked again.
//
// # Answers end
//
// Every node knows how many tokens it takes at least to the end of its rule
// (shortest.go), hence every state how many to the end of the text. A token is
// allowed only if the end remains within the tokens that are left, so an answer
// is complete when its tokens run out. Tokens that exist only in pieces of a
// character never lead to a dead end for the same reason.
//
// # Bounds
//
// Sources, nesting, rules, nodes, ambiguity, the work for one mask and the
// time of compiling (budget.go) are bounded (errors.go); beyond them there is a [*LimitError]. What is allowed depends on
// the grammar and the text alone, never on what else is cached.
package grammar
