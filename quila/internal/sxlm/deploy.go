package sxlm

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"atenia/internal/store/durable"
)

// folders are the sub-folders of a deployment by block.
var folders = [blocks]string{"params", "states", "graph", "vqgan", "kfe", "engram", "persona"}

// readyFile is written last into a deployment; it has the checkpoint's hash.
const readyFile = "READY"

// DeployOptions say how a file is deployed.
type DeployOptions struct {
	Options
	// LegacyPaths also makes TMPDIR/sxlm a link to the folder.
	LegacyPaths bool
	// NVRAM is a folder of persistent memory for the persona; empty is none.
	NVRAM string
	// HotBytes bounds the entries that are near the device; 0 is 64 MiB.
	HotBytes int64
	// Log is called for every event; nil is nobody.
	Log func(Event)
	// Warn is called with warnings; nil is nobody.
	Warn func(string)
}

// An Event is a step of a deployment that is done.
type Event struct {
	Step string // magic, header, hash, blocks, containers, tiers, sanity, READY
	What string
}

// A Tier says what of a model lies where (§9.1).
type Tier struct {
	Name  string // L2, L3, L4, L5
	Holds string
	Bytes int64
}

// A Deployment is a model that is ready, and the folder that its blocks were
// extracted to.
type Deployment struct {
	Dir   string
	Info  Info
	Model *Model
	Tiers []Tier
}

// Close removes the folder and gives back the model's memory.
func (d *Deployment) Close() error {
	d.Model.Close()
	return os.RemoveAll(d.Dir)
}

// deploySteps are those of §21.4 in their order.
var deploySteps = []struct {
	name string
	run  func(x *deploying, ctx context.Context) (what string, err error)
}{
	{"magic", (*deploying).magic},
	{"header", (*deploying).header},         // bounds everything that follows
	{"hash", (*deploying).hash},             // before the first byte is decompressed (Req 21.4.2)
	{"blocks", (*deploying).extract},        // seven goroutines (Req 21.4.1), into a folder of another name
	{"containers", (*deploying).containers}, // indexes and shapes, and the memory is reserved
	{"tiers", (*deploying).tiers},           // values
	{"sanity", (*deploying).sanity},         // counts of the meta data, of the graph and of the libraries agree
	{"READY", (*deploying).ready},           // the folder gets its name
}

// A deploying is a deployment until it is ready.
type deploying struct {
	o     *DeployOptions
	f     *os.File
	size  int64
	dir   string // that it will have
	temp  string // that it has
	sum   [32]byte
	info  *Info
	l     *loader
	files [blocks]*os.File
	out   Deployment
	undo  []func() // after an error
	done  []func() // in any case
}

// Deploy verifies a file, extracts its blocks into sub-folders of dir and loads
// the model. An empty dir is a folder of TMPDIR named after the checkpoint. If
// anything fails there is no folder and no memory is held.
//
// The folder appears under its name when the model is ready, not before. One of
// the same checkpoint that is there already is replaced, any other is an error.
func Deploy(ctx context.Context, path, dir string, o DeployOptions) (d *Deployment, err error) {
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	x := &deploying{o: &o, f: f, size: size, dir: dir}
	defer func() {
		for _, f := range x.files {
			if f != nil {
				_ = f.Close() // it was only read since it was synced
			}
		}
		if err != nil {
			for _, undo := range slices.Backward(x.undo) {
				undo()
			}
		}
		for _, done := range x.done {
			done()
		}
	}()
	for _, s := range deploySteps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		what, err := s.run(x, ctx)
		if err != nil {
			return nil, fmt.Errorf("deploy %s: %s: %w", path, s.name, err)
		}
		if o.Log != nil {
			o.Log(Event{s.name, what})
		}
	}
	return &x.out, nil
}

func (x *deploying) magic(context.Context) (what string, err error) {
	x.info, x.sum, err = readPreamble(x.f, x.size)
	return fmt.Sprintf("%d bytes", x.size), err
}

func (x *deploying) header(context.Context) (string, error) {
	err := x.info.readHeader(x.f, x.sum, &x.o.Options)
	return fmt.Sprintf("%d blocks", len(x.info.Blocks)), err
}

func (x *deploying) hash(ctx context.Context) (string, error) {
	return hex.EncodeToString(x.info.Meta.Checkpoint[:]), x.info.hashes(ctx, x.f)
}

// extract decompresses every block into a file of its sub-folder.
func (x *deploying) extract(ctx context.Context) (string, error) {
	if x.dir == "" {
		x.dir = filepath.Join(os.TempDir(), "sxlm-"+hex.EncodeToString(x.info.Meta.Checkpoint[:8]))
	}
	temp, remove, err := durable.TempDir(filepath.Dir(x.dir), "."+filepath.Base(x.dir)+".tmp-")
	if err != nil {
		return "", err
	}
	x.temp, x.done = temp, append(x.done, func() { _ = remove() })
	for k, name := range folders {
		if err := os.Mkdir(filepath.Join(temp, name), 0o700); err != nil {
			return "", err
		}
		if x.files[k], err = os.OpenFile(blockFile(temp, k), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return "", err
		}
	}
	err = unpack(ctx, x.f, x.info, &x.o.Options, func(block int, raw io.Reader) error {
		n, err := io.Copy(x.files[block-1], raw)
		if want := int64(x.info.Blocks[block-1].Raw); err == nil && n != want {
			return fmt.Errorf("%d raw bytes, want %d: %w", n, want, io.ErrUnexpectedEOF)
		}
		return err
	})
	return temp, err
}

// blockFile is where the content of a block lies.
func blockFile(dir string, k int) string {
	return filepath.Join(dir, folders[k], fmt.Sprintf("block%d", k+1))
}

func (x *deploying) containers(context.Context) (string, error) {
	x.l = &loader{info: x.info, opt: &x.o.Options}
	for k, f := range x.files {
		x.l.raw[k] = raw{k + 1, f, int64(x.info.Blocks[k].Raw)}
	}
	x.undo = append(x.undo, func() {
		if x.l.m != nil {
			x.l.m.Close()
		}
	})
	err := x.l.containers()
	return fmt.Sprintf("%d tensors", len(x.l.rows)), err
}

// tiers loads the model and says what lies where. Without a device the first
// two tiers are quotas of the host's memory.
func (x *deploying) tiers(ctx context.Context) (string, error) {
	if err := x.l.contents(ctx); err != nil {
		return "", err
	}
	m, d := x.l.m, &x.out
	hot, cold := m.zones(cmp.Or(x.o.HotBytes, 64<<20))
	raw := func(block int) int64 { return int64(x.info.Blocks[block-1].Raw) }
	d.Tiers = []Tier{
		{"L2", "parameters", raw(1)}, {"L2", "neuron states", raw(2)}, {"L2", "graph and edges", raw(3)}, {"L2", "library, hot zone", hot},
		{"L3", "library", cold}, {"L4", "codebooks, VQ networks, tree", raw(4)}, {"L4", "Engram", raw(6)}, {"L5", "library, cold storage", raw(5)},
	}
	return fmt.Sprintf("%d bytes in memory", m.Bytes()), x.persona(m)
}

// zones splits the entries of all libraries by utility: the best ones as far as
// they fit into so many bytes, and the others.
func (m *Model) zones(most int64) (hot, cold int64) {
	const head = 64 // numbers of an entry
	size := int64(4*m.Config.D + head)
	n := 0
	for i := range m.Libraries {
		n += len(m.Libraries[i].Entries)
	}
	fits := min(int64(n), most/size)
	return fits * size, (int64(n) - fits) * size
}

// persona writes the persona to persistent memory, or warns that it is lost
// with the process.
func (x *deploying) persona(m *Model) error {
	if x.o.NVRAM == "" {
		if x.o.Warn != nil {
			x.o.Warn("no persistent memory for the persona: it stays in RAM, without persistence")
		}
		return nil
	}
	name := filepath.Join(x.o.NVRAM, "persona-"+hex.EncodeToString(x.info.Meta.Checkpoint[:8]))
	err := durable.ReplaceIn(x.o.FS, name, func(w io.Writer) error {
		_, err := w.Write(floatBytes(m.Persona))
		return err
	})
	if err == nil {
		x.undo = append(x.undo, func() { _ = os.Remove(name) })
	}
	return err
}

func (x *deploying) sanity(context.Context) (string, error) {
	err := x.l.agree()
	return fmt.Sprintf("%d neurons, %d edges, %d entries", x.l.m.Config.N, x.l.m.Graph.Edges(), x.l.entries), err
}

// ready gives the folder its name.
func (x *deploying) ready(context.Context) (string, error) {
	sum := hex.EncodeToString(x.info.Meta.Checkpoint[:])
	if err := os.WriteFile(filepath.Join(x.temp, readyFile), []byte(sum+"\n"), 0o600); err != nil {
		return "", err
	}
	if err := x.clear(sum); err != nil {
		return "", err
	}
	if x.o.LegacyPaths {
		if err := x.link(); err != nil {
			return "", err
		}
	}
	if err := os.Rename(x.temp, x.dir); err != nil {
		return "", err
	}
	x.out.Dir, x.out.Info, x.out.Model = x.dir, *x.info, x.l.m
	return x.dir, nil
}

// clear removes a deployment of the same checkpoint; anything else stays and is
// an error.
func (x *deploying) clear(sum string) error {
	st, err := os.Lstat(x.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b, err := os.ReadFile(filepath.Join(x.dir, readyFile))
	if !st.IsDir() || err != nil || string(b) != sum+"\n" {
		return fmt.Errorf("%s is there and no deployment of %s: %w", x.dir, sum, fs.ErrExist)
	}
	return os.RemoveAll(x.dir)
}

// link makes the path of the specification refer to the folder. A link there is
// replaced, a file or folder is an error.
func (x *deploying) link() error {
	name := filepath.Join(os.TempDir(), "sxlm")
	if st, err := os.Lstat(name); err == nil && st.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%s is there and no link: %w", name, fs.ErrExist)
	}
	dir, err := filepath.Abs(x.dir)
	if err != nil {
		return err
	}
	temp := x.temp + ".link"
	if err := os.Symlink(dir, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, name); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	x.undo = append(x.undo, func() { _ = os.Remove(name) })
	return nil
}
