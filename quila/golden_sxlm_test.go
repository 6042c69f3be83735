package quila_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"atenia/internal/golden"
	"atenia/quila/internal/sxlm"
)

func init() { topics["sxlm"] = goldenSXLM }

// A sxlmCase is a whole model file of the reference.
type sxlmCase struct {
	Config json.RawMessage `json:"config"`
	Base64 string          `json:"base64"`
	SHA256 string          `json:"sha256"`
	Fields struct {
		Version    uint32 `json:"version"`
		HeaderLen  int    `json:"header_len"`
		Flags      uint32 `json:"flags"`
		DataStart  uint64 `json:"data_start"`
		FileSize   uint64 `json:"file_size"`
		HeaderSHA  string `json:"header_sha256"`
		HeaderHex  string `json:"header_hex"`
		Checkpoint string `json:"checkpoint_sha256"`
		Meta       map[string]any
		Blocks     []sxlmBlock
	} `json:"fields"`
	FirstValues map[string]any `json:"first_values"`
	Graph       struct {
		Edges [][2]int32 `json:"edges"`
		Pos   []uint16   `json:"pos"`
	} `json:"graph"`
	Reject []struct {
		Name   string `json:"name"`
		Offset int    `json:"offset"`
		Xor    byte   `json:"xor"`
	} `json:"reject"`
	TruncateBy []int `json:"truncate_by"`
	KFE        []struct {
		Neuron uint32   `json:"neuron"`
		IDs    []uint64 `json:"ids"`
	} `json:"kfe"`
}

type sxlmBlock struct {
	ID     uint32 `json:"block_id"`
	Offset uint64 `json:"offset"`
	Size   uint64 `json:"size_bytes"`
	Raw    uint64 `json:"raw_size"`
	Level  uint32 `json:"zstd_level"`
	SHA    string `json:"block_sha256"`
	RawSHA string `json:"raw_sha256"`
}

func goldenSXLM(t *testing.T, path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var many struct{ Cases []sxlmCase }
	golden.JSON(t, path, &many)
	if len(many.Cases) == 0 { // one file is one case
		many.Cases = make([]sxlmCase, 1)
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if err := d.Decode(&many.Cases[0]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range many.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) { goldenFile(t, &many.Cases[i]) })
	}
}

func goldenFile(t *testing.T, c *sxlmCase) {
	ctx := context.Background()
	file, err := base64.StdEncoding.DecodeString(c.Base64)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(file); hex.EncodeToString(sum[:]) != c.SHA256 {
		t.Fatal("the case is damaged")
	}
	info, err := sxlm.Verify(ctx, bytes.NewReader(file), int64(len(file)), sxlm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	goldenFields(t, c, info, file)
	m, err := sxlm.Parse(ctx, bytes.NewReader(file), int64(len(file)), sxlm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	goldenContent(t, c, m)

	out := filepath.Join(t.TempDir(), "again.sxlm")
	written, err := sxlm.Write(ctx, out, m, sxlm.Options{Writer: m.Writer})
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sxlm.Parse(ctx, bytes.NewReader(again), int64(len(again)), sxlm.Options{}); err != nil {
		t.Errorf("the file that was written again: %v", err)
	}
	for k, d := range written.Blocks {
		if a, b := unpacked(t, again, d), unpacked(t, file, info.Blocks[k]); !bytes.Equal(a, b) {
			i := 0
			for i < min(len(a), len(b)) && a[i] == b[i] {
				i++
			}
			t.Errorf("raw block %d has %d bytes, the reference's %d; they differ at %d", k+1, len(a), len(b), i)
		}
	}
	for _, r := range c.Reject {
		bad := slices.Clone(file)
		bad[r.Offset] ^= r.Xor
		refused(t, r.Name, bad)
	}
	for _, n := range c.TruncateBy {
		refused(t, fmt.Sprintf("truncated by %d", n), file[:len(file)-n])
	}
}

func goldenFields(t *testing.T, c *sxlmCase, info *sxlm.Info, file []byte) {
	f := &c.Fields
	eq := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	eq("header_len", info.HeaderLen, f.HeaderLen)
	eq("flags", info.Flags, f.Flags)
	eq("data_start", info.DataStart, f.DataStart)
	eq("file_size", info.FileSize, f.FileSize)
	eq("checkpoint_sha256", hex.EncodeToString(info.Meta.Checkpoint[:]), f.Checkpoint)
	eq("header", hex.EncodeToString(file[64:64+info.HeaderLen]), f.HeaderHex)
	m := info.Meta
	for name, got := range map[string]any{"neuron_count": m.Neurons, "thinker_n": m.Thinkers, "hidden_dim": m.Hidden, "persona_dim": m.Persona,
		"vqgan_codebook_size": m.Codebook, "kfe_count": m.Entries, "graph_edge_count": m.Edges, "created_at": m.CreatedAt, "base_model_id": m.Parent} {
		eq(name, got, f.Meta[name])
	}
	if len(info.Blocks) != len(f.Blocks) {
		t.Fatalf("%d blocks, want %d", len(info.Blocks), len(f.Blocks))
	}
	for k, b := range info.Blocks {
		want := f.Blocks[k]
		sum := sha256.Sum256(unpacked(t, file, b))
		eq(fmt.Sprintf("block %d", k+1), sxlmBlock{b.ID, b.Offset, b.Size, b.Raw, b.Level, hex.EncodeToString(b.SHA256[:]), hex.EncodeToString(sum[:])}, want)
	}
}

func goldenContent(t *testing.T, c *sxlmCase, m *sxlm.Model) {
	for name, list := range c.FirstValues {
		if name == "codebook" {
			name = "codebook.text"
		}
		var want []float32
		for _, x := range list.([]any) {
			v, err := x.(json.Number).Float64()
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, float32(v))
		}
		if got := m.Weights.Of(name)[:len(want)]; !slices.Equal(got, want) {
			t.Errorf("%s begins with %v, want %v", name, got, want)
		}
	}
	if m.Graph.Edges() != len(c.Graph.Edges) || !slices.Equal(m.Graph.Pos, c.Graph.Pos) {
		t.Errorf("%d edges at %v, want %d at %v", m.Graph.Edges(), m.Graph.Pos, len(c.Graph.Edges), c.Graph.Pos)
	}
	for e, x := range c.Graph.Edges {
		if m.Graph.Src[e] != x[0] || m.Graph.Dst[e] != x[1] {
			t.Errorf("edge %d is %d → %d, want %v", e, m.Graph.Src[e], m.Graph.Dst[e], x)
		}
	}
	if len(m.Libraries) != len(c.KFE) {
		t.Fatalf("%d libraries, want %d", len(m.Libraries), len(c.KFE))
	}
	for i, lib := range m.Libraries {
		var ids []uint64
		for _, e := range lib.Entries {
			ids = append(ids, e.ID)
		}
		if lib.Neuron != c.KFE[i].Neuron || !slices.Equal(ids, c.KFE[i].IDs) {
			t.Errorf("library %d is %v of neuron %d, want %v", i, ids, lib.Neuron, c.KFE[i])
		}
	}
	// The configuration of the case is what the file has.
	var want map[string]any
	var got map[string]any
	if err := errors.Join(json.Unmarshal(c.Config, &want), json.Unmarshal(m.Config.JSON(), &got)); err != nil {
		t.Fatal(err)
	}
	for k, v := range want {
		if fmt.Sprint(got[k]) != fmt.Sprint(v) {
			t.Errorf("config %s is %v, want %v", k, got[k], v)
		}
	}
}

// unpacked decompresses a block without the reader that is tested.
func unpacked(t *testing.T, file []byte, d sxlm.Block) []byte {
	t.Helper()
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	raw, err := z.DecodeAll(file[d.Offset:d.Offset+d.Size], nil)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func refused(t *testing.T, what string, file []byte) {
	t.Helper()
	_, err := sxlm.Parse(context.Background(), bytes.NewReader(file), int64(len(file)), sxlm.Options{})
	if e, ok := errors.AsType[*sxlm.Error](err); !ok || !errors.Is(err, sxlm.ErrFile) {
		t.Errorf("%s: %v, want an *Error", what, err)
	} else {
		t.Logf("%s: %v", what, e)
	}
}
