package rule

// featureDim is the width of phi(x) for x of width d.
func featureDim(d int, kind string) int {
	if kind == Poly2 {
		return d + d*(d+1)/2
	}
	return d
}
