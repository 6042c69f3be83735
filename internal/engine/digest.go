package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"path/filepath"

	"atenia/internal/model/embedded"
)

// Digests returns the SHA-256 of each file that results follow from, in hexadecimal, by its
// name: of the weights, of a folder's configuration, and of an adapter that is merged with them.
// The files are read whole. configFile is the configuration's in a folder; "" = the usual one.
func (p *Plan) Digests(ctx context.Context, configFile string) (map[string]string, error) {
	if p.path == "" || p.path == embedded.Name {
		sum := sha256.Sum256(embedded.Story())
		return map[string]string{embedded.Name: hex.EncodeToString(sum[:])}, nil
	}
	paths := map[string]string{}
	for _, path := range p.footprint.paths {
		paths[filepath.Base(path)] = path
	}
	folder, name := Folder(p.path)
	if fi, err := os.Stat(folder); err == nil && fi.IsDir() {
		name = cmp.Or(name, configFile, "config.json")
		paths[name] = filepath.Join(folder, name)
	}
	out, err := digests(ctx, "", paths)
	if err == nil && p.Config.Lora != "" {
		var more map[string]string
		more, err = DigestAdapter(ctx, p.Config.Lora)
		maps.Copy(out, more)
	}
	return out, err
}

// DigestAdapter is [Plan.Digests] of the folder of an adapter.
func DigestAdapter(ctx context.Context, dir string) (map[string]string, error) {
	paths := map[string]string{}
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		paths[name] = filepath.Join(dir, name)
	}
	return digests(ctx, "adapter/", paths)
}

func digests(ctx context.Context, before string, paths map[string]string) (map[string]string, error) {
	out := map[string]string{}
	for name, path := range paths {
		sum, err := digest(ctx, path)
		if err != nil {
			return nil, err
		}
		out[before+name] = sum
	}
	return out, nil
}

func digest(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	for {
		_, err := io.CopyN(h, f, 64<<20)
		switch {
		case err == io.EOF:
			return hex.EncodeToString(h.Sum(nil)), nil
		case err != nil:
			return "", err
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		}
	}
}
