//go:build !linux

package cpu

func (i *Info) system() {}

// A MemoryReader reads [Memory] repeatedly. It must be used by one goroutine at
// a time.
type MemoryReader struct{}

// OpenMemory returns a reader.
func OpenMemory() *MemoryReader { return &MemoryReader{} }

// Close does nothing: there are no files here.
func (r *MemoryReader) Close() {}

// Read returns the current state. These systems have neither control groups nor
// stall information.
func (r *MemoryReader) Read() Memory {
	total, available := systemMemory()
	return Memory{Total: total, Limit: total, Available: min(total, available), Free: min(total, available)}
}
