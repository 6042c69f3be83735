// Package spelling says how far a word is from another, so that an error about
// a name nobody knows can name the one that was meant.
package spelling
