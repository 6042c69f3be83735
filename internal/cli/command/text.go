package command

import (
	"atenia/internal/spelling"
	"errors"
	"fmt"
	"io"
	"os"
)

// Size prints bytes as a person reads them.
func Size[N int64 | uint64](n N) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, u
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}

// ReadMost reads all of r and refuses more than the given number of bytes; of a
// file that has more it reads none. A byte order mark, with which some editors begin a
// text, is left out.
func ReadMost(r io.Reader, most int64) ([]byte, error) {
	if f, ok := r.(*os.File); ok {
		fi, err := f.Stat()
		if err == nil && fi.Mode().IsRegular() {
			if at, err := f.Seek(0, io.SeekCurrent); err == nil && fi.Size()-at > most {
				return nil, errors.New("too long")
			}
		}
	}
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if int64(len(b)) > most {
		return nil, errors.New("too long")
	}
	return spelling.WithoutMark(b), err
}
