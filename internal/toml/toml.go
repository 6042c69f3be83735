package toml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// Most bounds a file of settings in bytes: it is written by hand.
const Most = 1 << 20

// Decode decodes a file of settings into a struct or map, and returns the keys that
// it has no place for, in order of the file: "table.key". Errors say the line.
func Decode(b []byte, into any) (unknown [][]string, err error) {
	_, unknown, err = DecodeDefined(b, into)
	return unknown, err
}

// DecodeDefined is [Decode] and tells also which keys the file has.
func DecodeDefined(b []byte, into any) (defined func(key ...string) bool, unknown [][]string, err error) {
	if len(b) > Most {
		return nil, nil, fmt.Errorf("more than %d bytes", Most)
	}
	if err := bounded(b); err != nil {
		return nil, nil, err
	}
	md, err := toml.Decode(string(b), into)
	if e, ok := errors.AsType[toml.ParseError](err); ok {
		return nil, nil, fmt.Errorf("line %d: %s", e.Position.Line, e.Message)
	}
	if err != nil {
		// The library names itself in front of what it says of values.
		return nil, nil, errors.New(strings.TrimPrefix(err.Error(), "toml: "))
	}
	for _, k := range md.Undecoded() {
		unknown = append(unknown, k)
	}
	return md.IsDefined, unknown, nil
}
