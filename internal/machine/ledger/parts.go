package ledger

// A Part is bytes of one memory that have one use.
type Part struct {
	Memory string `json:"memory"` // such as "ram"
	Use    string `json:"use"`    // such as "weights"
	Bytes  int64  `json:"bytes"`
}

// Parts returns what is held of an account, by use, as parts of a memory.
func (a *Account) Parts(memory string) (out []Part) {
	for u := range uses {
		if n := a.Of(u); n > 0 {
			out = append(out, Part{memory, u.String(), n})
		}
	}
	return out
}
