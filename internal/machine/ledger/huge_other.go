//go:build unix && !linux

package ledger

// adviseHuge does nothing: these systems choose page sizes themselves.
func adviseHuge([]byte) {}
