package toml

import (
	"bytes"
	"fmt"
)

// The library takes time and memory with the square of how deep values are nested
// and of how many parts a key has. A file of settings has three levels at most.
const (
	deepest  = 8 // brackets in one another, parts of a key
	mostKeys = 1 << 14
)

// bounded returns an error if a text is not one that the library reads at once. It
// sees strings and comments as TOML does; that a text is TOML at all is found later.
func bounded(b []byte) error {
	line, depth, dots, keys := 1, 0, 0, 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; c {
		case '"', '\'':
			end := endOfString(b[i:])
			line += bytes.Count(b[i:i+end], []byte{'\n'})
			i += end - 1
		case '#':
			n := bytes.IndexByte(b[i:], '\n')
			if n < 0 {
				return nil
			}
			i += n - 1
		case '.':
			if dots++; dots >= deepest {
				return fmt.Errorf("line %d: a key of more than %d parts", line, deepest)
			}
		case '[', '{':
			dots = 0
			if depth++; depth > deepest {
				return fmt.Errorf("line %d: more than %d brackets in one another", line, deepest)
			}
		case ']', '}':
			dots, depth = 0, max(0, depth-1)
		case '=':
			dots = 0
			if keys++; keys > mostKeys {
				return fmt.Errorf("line %d: more than %d keys", line, mostKeys)
			}
		case '\n':
			dots = 0
			line++
		case ',':
			dots = 0
		}
	}
	return nil
}

// endOfString returns the length of the string that b begins with, to the end of b if
// it has none.
func endOfString(b []byte) int {
	quote := b[0]
	long := len(b) >= 3 && b[1] == quote && b[2] == quote
	for i := 1; i < len(b); i++ {
		switch {
		case b[i] == '\\' && quote == '"':
			i++
		case long && i >= 3 && b[i] == quote && i+2 < len(b) && b[i+1] == quote && b[i+2] == quote:
			i += 3
			for n := 0; n < 2 && i < len(b) && b[i] == quote; n++ {
				i++ // quotes in front of the end
			}
			return i
		case !long && (b[i] == quote || b[i] == '\n'):
			return i + 1
		}
	}
	return len(b)
}
