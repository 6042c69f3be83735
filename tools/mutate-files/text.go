package main

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

var words = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*|[0-9]+(?:\.[0-9]+)?|"[^"\n]*"|\s+|.`)

// pieces are what texts of a program or a configuration consist of.
var pieces = strings.Fields(`{{ }} {% %} {%- -%} {# #} ( ) [ ] { } , . .. : ; = == + - * / // ** % ~ | & < > -> @ # $ ! ? " ' \ _
	for in if else endif endfor set macro endmacro call filter namespace range loop raise_exception tojson length join
	-1 0 1 1e309 99999999999999999999 0x7fffffff nan inf true false null None 1979-05-27T07:32:00Z [[ ]] """ '''`)

// mutateText changes words or lines.
func mutateText(r random, data, donor []byte) []byte {
	b := bytes.Clone(data)
	if len(b) == 0 {
		return []byte(pieces[r.IntN(len(pieces))])
	}
	if r.chance(3) {
		return mutateRows(r, b, donor)
	}
	// A window suffices: whole plans have 100,000 words.
	lo := r.IntN(len(b))
	hi := min(len(b), lo+512)
	list := words.FindAll(b[lo:hi], -1)
	if len(list) == 0 {
		return mutateBytes(r, data, donor)
	}
	i := r.IntN(len(list))
	switch old := list[i]; r.IntN(9) {
	case 0:
		list[i] = []byte(pieces[r.IntN(len(pieces))])
	case 1:
		list[i] = nil
	case 2:
		list[i] = list[r.IntN(len(list))]
	case 3:
		list[i] = bytes.Repeat(old, min(1<<r.IntN(16), 1+(1<<18)/len(old)))
	case 4: // brackets and operators in great number
		list[i] = []byte(strings.Repeat(one(r, "[", "{", "(", "-", "not ", "a.", "{a=", "[[", "{{", "{%if 1%}", "1+", "a|", "'"), 1<<r.IntN(15)))
	case 5:
		j := r.IntN(len(list))
		list[i], list[j] = list[j], old
	case 6:
		list[i] = append(bytes.Clone(old), pieces[r.IntN(len(pieces))]...)
	default: // the next number
		for k := range list {
			at := (i + k) % len(list)
			if n, err := strconv.ParseInt(string(list[at]), 10, 64); err == nil {
				list[at] = []byte(one(r, strconv.FormatInt(int64(r.number(uint64(n))), 10), oddNumbers[r.IntN(len(oddNumbers))]))
				break
			}
		}
	}
	return bytes.Join([][]byte{b[:lo], bytes.Join(list, nil), b[hi:]}, nil)
}

// mutateRows changes whole lines.
func mutateRows(r random, b, donor []byte) []byte {
	rows := bytes.SplitAfter(b, []byte("\n"))
	i, j := r.IntN(len(rows)), r.IntN(len(rows))
	switch r.IntN(5) {
	case 0:
		rows[i], rows[j] = rows[j], rows[i]
	case 1:
		rows[i] = nil
	case 2:
		rows[i] = bytes.Repeat(rows[i], min(1<<r.IntN(13), 1+(1<<18)/(1+len(rows[i]))))
	case 3:
		others := bytes.SplitAfter(donor, []byte("\n"))
		rows[i] = append(bytes.Clone(rows[i]), others[r.IntN(len(others))]...)
	case 4:
		rows = rows[:i]
	}
	return bytes.Join(rows, nil)
}
