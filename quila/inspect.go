package quila

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"atenia/internal/store/durable"
	"atenia/quila/internal/sxlm"
)

// A Header is what the header of a verified model file says.
type Header struct {
	Path       string  `json:"path"`
	Neurons    uint32  `json:"neuron_count"`
	Thinkers   uint32  `json:"thinker_n"`
	Hidden     uint32  `json:"hidden_dim"`
	Persona    uint32  `json:"persona_dim"`
	Codebook   uint32  `json:"vqgan_codebook_size"`
	Entries    uint64  `json:"kfe_count"`
	Edges      uint64  `json:"graph_edge_count"`
	CreatedAt  int64   `json:"created_at"` // Unix time
	Checkpoint string  `json:"checkpoint_sha256"`
	Parent     string  `json:"base_model_id"`
	FileSize   uint64  `json:"file_size"`
	Blocks     []Block `json:"blocks"`
}

// A Block is one of the seven parts of a model file.
type Block struct {
	ID     uint32 `json:"block_id"`
	Offset uint64 `json:"offset"`
	Size   uint64 `json:"size_bytes"` // compressed
	Raw    uint64 `json:"raw_size"`
	Level  uint32 `json:"zstd_level"`
	SHA256 string `json:"block_sha256"`
}

// ReadHeader verifies the hashes of a model file and returns its header. Nothing
// is decompressed.
func ReadHeader(ctx context.Context, path string) (*Header, error) {
	f, err := durable.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	i, err := sxlm.Verify(ctx, f, st.Size(), sxlm.Options{})
	if err != nil {
		return nil, named(path, err)
	}
	m := &i.Meta
	h := &Header{
		path, m.Neurons, m.Thinkers, m.Hidden, m.Persona, m.Codebook, m.Entries, m.Edges, m.CreatedAt,
		hex.EncodeToString(m.Checkpoint[:]), m.Parent, i.FileSize, nil,
	}
	for _, b := range i.Blocks {
		h.Blocks = append(h.Blocks, Block{b.ID, b.Offset, b.Size, b.Raw, b.Level, hex.EncodeToString(b.SHA256[:])})
	}
	return h, nil
}

// Describe verifies a model file whole, decompresses it, and prints what it
// holds: the header, the blocks with their checksums, the tensors, and the chain
// of models it comes from, as far as they are among the candidates, which are
// files or folders.
func Describe(w io.Writer, path string, candidates []string) error {
	return named(path, sxlm.Describe(w, path, candidates))
}

// named says which file an error is about, unless it says so itself.
func named(path string, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
