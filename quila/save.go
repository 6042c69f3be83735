package quila

import (
	"errors"

	"atenia/quila/internal/network"
)

// saveModel writes a network as an .sxlm file.
func saveModel(path string, n *network.Network[float32]) error {
	return errors.New("quila: model files are not written yet")
}
