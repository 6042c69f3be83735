//go:build !unix

package pack

import (
	"io"

	"atenia/internal/machine/ledger"
	"atenia/internal/store/durable"
)

// mapFile reads a file where there are no mappings.
func mapFile(path string) (b []byte, unmap func() error, err error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	block, err := ledger.NewHugeBlock(ledger.Process, ledger.Packed, int(st.Size()))
	if err != nil {
		return nil, nil, err
	}
	if _, err := io.ReadFull(f, block.Bytes); err != nil {
		block.Release()
		return nil, nil, err
	}
	return block.Bytes, func() error { block.Release(); return nil }, nil
}
