//go:build !linux

package cpu

func (i *Info) system() {}

// A MemoryReader reads [Memory] again and again. It is for one goroutine at a
// time.
type MemoryReader struct{}

// OpenMemory returns a reader.
func OpenMemory() *MemoryReader { return &MemoryReader{} }

// Close does nothing: there are no files here.
func (r *MemoryReader) Close() {}

// Read returns the state of this moment. These systems have neither control
// groups nor a measure of stalls.
func (r *MemoryReader) Read() Memory {
	total, available := systemMemory()
	return Memory{Total: total, Limit: total, Available: min(total, available)}
}
