// Package spelling helps messages with words: the distance of a misspelt name
// from existing ones, for suggestions, and the form of a noun after a number.
package spelling
