//go:build !(amd64 || arm64) || noasm

package pool

// pause burns a short time.
func pause(n uint32) {
	for range n * 16 {
		nop()
	}
}

//go:noinline
func nop() {}
