//go:build unix && !linux

package arena

// adviseHuge does nothing: these systems choose page sizes themselves.
func adviseHuge([]byte) {}
