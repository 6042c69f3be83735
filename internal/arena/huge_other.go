//go:build unix && !linux

package arena

// adviseHuge has nobody to ask: these systems choose page sizes themselves.
func adviseHuge([]byte) {}
