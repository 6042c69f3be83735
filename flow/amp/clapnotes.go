package amp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A CLAPNote is a note of the score that a plan gives a plug-in.
type CLAPNote struct {
	Frame    int64   // of its beginning, counted from the start of the stream
	Key      int     // 0 to 127; 60 is the middle C
	Velocity float64 // 0 to 1
	Frames   int64   // until its end
	Channel  int     // 0 to 15
}

const maxNotes = 1 << 16

// ParseCLAPNotes reads a score: notes with a comma or a line break between, each of
// frame, key, velocity, length in frames, and an optional channel.
//
//	0 60 0.8 24000, 24000 64 0.8 24000
func ParseCLAPNotes(text string) ([]CLAPNote, error) {
	var list []CLAPNote
	for i, line := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) != 4 && len(words) != 5 {
			return nil, fmt.Errorf("note %d: frame, key, velocity, frames and an optional channel wanted", i+1)
		}
		n := CLAPNote{}
		var err error
		whole := func(s string, most int64) int64 {
			v, err2 := strconv.ParseInt(s, 10, 64)
			if err2 != nil || v < 0 || v > most {
				err = fmt.Errorf("note %d: %q is no integer of 0 to %d", i+1, short(s), most)
			}
			return v
		}
		n.Frame, n.Key, n.Frames = whole(words[0], 1<<48), int(whole(words[1], 127)), whole(words[3], 1<<48)
		if len(words) == 5 {
			n.Channel = int(whole(words[4], 15))
		}
		v, err2 := strconv.ParseFloat(words[2], 64)
		if err2 != nil || !(v >= 0 && v <= 1) {
			err = fmt.Errorf("note %d: velocity %q is not in 0 to 1", i+1, short(words[2]))
		}
		if n.Velocity = v; err != nil {
			return nil, err
		}
		if list = append(list, n); len(list) > maxNotes {
			return nil, fmt.Errorf("more than %d notes", maxNotes)
		}
	}
	return list, nil
}

// A stroke is the beginning or the end of a note.
type stroke struct {
	frame int64
	on    bool
	id    int32
	note  *CLAPNote
}

// strokes orders the beginnings and ends of notes by frame, ends first.
func strokes(list []CLAPNote) []stroke {
	var all []stroke
	for i := range list {
		n := &list[i]
		all = append(all, stroke{n.Frame, true, int32(i), n}, stroke{n.Frame + max(n.Frames, 1), false, int32(i), n})
	}
	slices.SortStableFunc(all, func(a, b stroke) int {
		switch {
		case a.frame != b.frame:
			return int(min(max(a.frame-b.frame, -1), 1))
		case a.on == b.on:
			return 0
		case a.on:
			return 1
		}
		return -1
	})
	return all
}
