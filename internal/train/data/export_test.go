package data

// Epoch returns how many times all rows have been seen.
func (r *Source) Epoch() int { return int(r.epoch) }
