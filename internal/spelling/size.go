package spelling

import (
	"fmt"
	"math"
	"strconv"
)

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// Size formats bytes in binary units: "4 GiB", "1.5 MiB", "37 B".
func Size(n int64) string { return size(n, math.Round) }

// SizeUp is Size of what is enough: the size is no less.
func SizeUp(n int64) string { return size(n, math.Ceil) }

func size(n int64, round func(float64) float64) string {
	for _, u := range sizeUnits {
		if n >= u.bytes || -n >= u.bytes {
			v := round(100*float64(n)/float64(u.bytes)) / 100
			return strconv.FormatFloat(v, 'f', -1, 64) + " " + u.name
		}
	}
	return fmt.Sprintf("%d B", n)
}
