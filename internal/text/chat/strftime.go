package chat

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// clock is what strftime_now reads when the context sets no time.
var clock = time.Now

// strftime formats t as C's strftime does in the C locale, with the flags of
// glibc. The time has no zone, like datetime.now(): %z and %Z are empty.
func strftime(m *Machine, t time.Time, format string) (string, error) {
	var b strings.Builder
	for format != "" {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			b.WriteString(format)
			break
		}
		b.WriteString(format[:i])
		full := format[i:]
		s := full[1:]
		flag, swap, up := byte(0), false, false
		for ; s != "" && strings.IndexByte("-_0^#", s[0]) >= 0; s = s[1:] {
			switch s[0] {
			case '^':
				up = true
			case '#':
				swap = true
			default:
				flag = s[0]
			}
		}
		width, rest, err := leadingInt(s)
		if err != nil {
			return "", err
		}
		if n := len(rest); n > 1 && alternative(rest[0], rest[1]) { // the C locale has no alternatives
			rest = rest[1:]
		}
		if rest == "" {
			b.WriteString(full)
			break
		}
		field, ok := timeField(t, rest[0])
		format = rest[1:]
		if !ok {
			b.WriteString(full[:len(full)-len(format)])
			continue
		}
		if err := m.Alloc(max(width, 0) + len(field.text) + 8); err != nil {
			return "", err
		}
		b.WriteString(field.format(flag, width, up, swap))
	}
	return b.String(), nil
}

// alternative reports the fields that the modifiers E and O go with.
func alternative(modifier, field byte) bool {
	switch modifier {
	case 'E':
		return strings.IndexByte("cCxXyY", field) >= 0
	case 'O':
		return strings.IndexByte("BbhdeHImMSuUVwWy", field) >= 0
	}
	return false
}

// A field is one value of a time: a number with its usual width, or text.
type field struct {
	num, width int
	pad        byte
	text       string
	isText     bool
}

func (f field) format(flag byte, width int, up, swap bool) string {
	s, pad := f.text, byte(' ')
	if !f.isText {
		s, pad = strconv.Itoa(f.num), f.pad
		if width < 0 {
			width = f.width
			if flag == '-' {
				width = 0
			}
		}
	}
	switch flag {
	case '_':
		pad = ' '
	case '0':
		pad = '0'
	}
	if n := width - len(s); n > 0 {
		s = strings.Repeat(string(pad), n) + s
	}
	switch {
	case up:
		return strings.ToUpper(s)
	case swap && (s == "AM" || s == "PM"):
		return strings.ToLower(s)
	case swap:
		return strings.ToUpper(s)
	}
	return s
}

func timeField(t time.Time, c byte) (field, bool) {
	num := func(n, width int) (field, bool) { return field{num: n, width: width, pad: '0'}, true }
	spaced := func(n int) (field, bool) { return field{num: n, width: 2, pad: ' '}, true }
	text := func(s string) (field, bool) { return field{text: s, isText: true}, true }
	hour12 := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	monday := (int(t.Weekday()) + 6) % 7
	switch c {
	case 'a':
		return text(t.Format("Mon"))
	case 'A':
		return text(t.Format("Monday"))
	case 'b', 'h':
		return text(t.Format("Jan"))
	case 'B':
		return text(t.Format("January"))
	case 'c':
		return text(t.Format("Mon Jan _2 15:04:05 2006"))
	case 'C':
		return num(t.Year()/100, 2)
	case 'd':
		return num(t.Day(), 2)
	case 'D', 'x':
		return text(t.Format("01/02/06"))
	case 'e':
		return spaced(t.Day())
	case 'f':
		return num(t.Nanosecond()/1000, 6)
	case 'F':
		return text(t.Format("2006-01-02"))
	case 'g':
		return num(isoYear%100, 2)
	case 'G':
		return num(isoYear, 0)
	case 'H':
		return num(t.Hour(), 2)
	case 'I':
		return num(hour12, 2)
	case 'j':
		return num(t.YearDay(), 3)
	case 'k':
		return spaced(t.Hour())
	case 'l':
		return spaced(hour12)
	case 'm':
		return num(int(t.Month()), 2)
	case 'M':
		return num(t.Minute(), 2)
	case 'n':
		return text("\n")
	case 'p':
		return text(t.Format("PM"))
	case 'P':
		return text(t.Format("pm"))
	case 'r':
		return text(t.Format("03:04:05 PM"))
	case 'R':
		return text(t.Format("15:04"))
	case 's':
		return text(fmt.Sprint(t.Unix()))
	case 'S':
		return num(t.Second(), 2)
	case 't':
		return text("\t")
	case 'T', 'X':
		return text(t.Format("15:04:05"))
	case 'u':
		return num(monday+1, 1)
	case 'U':
		return num((t.YearDay()+6-int(t.Weekday()))/7, 2)
	case 'V':
		return num(isoWeek, 2)
	case 'w':
		return num(int(t.Weekday()), 1)
	case 'W':
		return num((t.YearDay()+6-monday)/7, 2)
	case 'y':
		return num(t.Year()%100, 2)
	case 'Y':
		return num(t.Year(), 0)
	case 'z', 'Z':
		return text("")
	case '%':
		return text("%")
	}
	return field{}, false
}
