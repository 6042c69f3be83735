package spelling

import "strings"

// Shell returns a path, or a word without a dash at its beginning, as a shell takes it.
func Shell(word string) string {
	if strings.HasPrefix(word, "-") { // which is no flag
		word = "./" + word
	}
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
