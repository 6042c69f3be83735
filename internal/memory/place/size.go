package place

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// sizeUnits lists the units of sizes.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3},
	{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1},
}

// A SizeError is a text that is not a size in bytes. It matches [ErrInput].
type SizeError struct {
	Text     string
	TooLarge bool // it is a size, of more than any machine has
}

func (e *SizeError) Error() string {
	if e.TooLarge {
		return fmt.Sprintf("%q is too large a size: want at most %d bytes", e.Text, int64(maxBytes))
	}
	return fmt.Sprintf("%q is not a size: want bytes, or a number with KiB, MiB, GiB, TiB, kB, MB, GB or TB", e.Text)
}

// Is reports whether target is [ErrInput].
func (e *SizeError) Is(target error) bool { return target == ErrInput }

// ParseSize reads "4GiB", "1.5 GiB", "512MiB", "2GB" or plain bytes; K, M, G and
// T alone are binary. Fractions of a byte are dropped.
func ParseSize(s string) (int64, error) {
	text := strings.TrimSpace(s)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n <= maxBytes {
		return n, nil
	} else if text != "" && strings.Trim(text, "0123456789") == "" {
		return 0, &SizeError{s, true}
	}
	for _, u := range sizeUnits {
		if len(text) <= len(u.name) || !strings.EqualFold(text[len(text)-len(u.name):], u.name) {
			continue
		}
		number := strings.TrimSpace(text[:len(text)-len(u.name)])
		if strings.Trim(number, "0123456789.") != "" {
			break
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			break
		}
		if v *= float64(u.bytes); !(v <= maxBytes) {
			return 0, &SizeError{s, true}
		}
		return int64(v), nil
	}
	return 0, &SizeError{Text: s}
}
