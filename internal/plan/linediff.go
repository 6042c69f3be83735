package plan

// maxTable bounds the table of the longest common subsequence, in entries.
const maxTable = 1 << 24

// lineDiff returns the lines of x that are not in y, prefixed with "- ", and
// those of y that are not in x, with "+ ", in order, by their longest common
// subsequence. Lists that are too long to compare count as entirely different.
func lineDiff(x, y []string) []string {
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	var out []string
	if len(x)*len(y) > maxTable {
		for _, l := range x {
			out = append(out, "- "+l)
		}
		for _, l := range y {
			out = append(out, "+ "+l)
		}
		return out
	}
	w := len(y) + 1
	common := make([]uint16, (len(x)+1)*w) // common[i*w+j] is that of x[i:] and y[j:]
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				common[i*w+j] = common[(i+1)*w+j+1] + 1
				continue
			}
			common[i*w+j] = max(common[(i+1)*w+j], common[i*w+j+1])
		}
	}
	i, j := 0, 0
	for i < len(x) || j < len(y) {
		switch {
		case i < len(x) && j < len(y) && x[i] == y[j]:
			i, j = i+1, j+1
		case j == len(y) || i < len(x) && common[(i+1)*w+j] >= common[i*w+j+1]:
			out = append(out, "- "+x[i])
			i++
		default:
			out = append(out, "+ "+y[j])
			j++
		}
	}
	return out
}
