// Package spelling helps messages with words: the distance of a misspelt name
// from existing ones, for suggestions, the form of a noun after a number, and texts cut short.
package spelling
