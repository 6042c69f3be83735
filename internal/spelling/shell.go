package spelling

import "strings"

// Shell returns a path, or a word without a dash at its beginning, as a shell takes it.
func Shell(word string) string {
	if strings.HasPrefix(word, "-") { // which is no flag
		word = "./" + word
	}
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%,=") == "" && word[0] != '=' {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Flag returns a flag with its value, or a switch, as it is typed for a shell.
func Flag(name, value string, isSwitch bool) string {
	if isSwitch {
		return "--" + name
	}
	return "--" + name + " " + Shell(value)
}
