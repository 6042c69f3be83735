// Package spelling has the two things that messages need to know of words: how
// far a misspelt name is from one that exists, so that an error can suggest it,
// and the form that a noun has after a number.
package spelling
