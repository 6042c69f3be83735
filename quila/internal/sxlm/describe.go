package sxlm

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Describe prints what a file has: the meta data, the blocks, how many tensors
// and weights, and the chain of its parents as far as they lie in the folders of
// candidates. The file is read and verified whole; parents are found by their
// headers.
func Describe(w io.Writer, path string, candidates []string) error {
	f, size, err := open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	ctx := context.Background()
	info, err := Verify(ctx, f, size, Options{})
	if err != nil {
		return err
	}
	m, err := info.load(ctx, f, Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	var b strings.Builder
	describeMeta(&b, info, m)
	describeBlocks(&b, info)
	values := 0
	for i := range m.Weights.Specs {
		values += m.Weights.Specs[i].Size()
	}
	fmt.Fprintf(&b, "tensors      %d with %d weights and constants, optimizer step %d\n", m.tensors, values, m.Step)
	describeLineage(&b, info, candidates)
	_, err = io.WriteString(w, b.String())
	return err
}

func describeMeta(b *strings.Builder, info *Info, m *Model) {
	created := time.Unix(info.Meta.CreatedAt, 0).UTC().Format(time.RFC3339)
	fmt.Fprintf(b, "checkpoint   %x\ncreated      %s\nprofile      %s, parameters in %s\n", info.Meta.Checkpoint, created, m.Config.Name, m.Config.ParamDType)
	fmt.Fprintf(b, "shape        %d neurons of %d dimensions, %d edges, %d Thinkers, persona of %d\n", m.Config.N, m.Config.D, info.Meta.Edges, m.Config.Thinkers, info.Meta.Persona)
	fmt.Fprintf(b, "codebooks    %d of %d codes\nlibraries    %d with %d entries, turn %d\n", m.Config.Modalities, m.Config.V, len(m.Libraries), info.Meta.Entries, m.Epoch)
	fmt.Fprintf(b, "written by   %s\n", m.Writer)
	if m.Inference {
		fmt.Fprintf(b, "training     not possible: %v\n", errInference)
	}
	if m.Teacherless {
		fmt.Fprintf(b, "consistency  trained without a teacher\n")
	}
}

func describeBlocks(b *strings.Builder, info *Info) {
	fmt.Fprintf(b, "%-12s %12s %12s %12s %5s  %s\n", "block", "offset", "bytes", "raw", "level", "SHA-256")
	for k, d := range info.Blocks {
		fmt.Fprintf(b, "%d %-10s %12d %12d %12d %5d  %x\n", d.ID, folders[k], d.Offset, d.Size, d.Raw, d.Level, d.SHA256[:8])
	}
}

// describeLineage prints the parents of a file, the nearest first.
func describeLineage(b *strings.Builder, info *Info, candidates []string) {
	if info.Meta.Parent == "" {
		fmt.Fprintf(b, "lineage      a root\n")
		return
	}
	known := headers(candidates)
	seen := map[string]bool{hex.EncodeToString(info.Meta.Checkpoint[:]): true}
	for id := info.Meta.Parent; id != "" && !seen[id]; {
		seen[id] = true
		p, ok := known[id]
		if !ok {
			fmt.Fprintf(b, "lineage      %s, not found\n", id)
			return
		}
		fmt.Fprintf(b, "lineage      %s %s\n", id, p.path)
		id = p.parent
	}
}

// A relative is a file that may be a parent.
type relative struct{ path, parent string }

// headers reads the headers of the files in folders, by checkpoint. Files that
// are no models are none.
func headers(folders []string) map[string]relative {
	known := map[string]relative{}
	for _, dir := range folders {
		paths, _ := filepath.Glob(filepath.Join(dir, "*.sxlm")) // the pattern is well formed
		for _, path := range paths {
			if i, err := header(path); err == nil {
				known[hex.EncodeToString(i.Meta.Checkpoint[:])] = relative{path, i.Meta.Parent}
			}
		}
	}
	return known
}

func header(path string) (*Info, error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return Header(f, size, Options{})
}
