package ring

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"atenia/internal/store/blob"
	"atenia/internal/store/durable"
)

// Codecs are the modes of a [CodeConfig]. "" is auto.
var Codecs = []string{"", "auto", "off", "planehuff", "planezstd"}

// A CodeConfig is what a decision depends on.
type CodeConfig struct {
	Mode     string        // one of Modes
	Write    bool          // auto may write a file, too
	Floats   []CodedSource // what a file may hold
	Streamed func(name string) bool
	// CoresFree are cores that are idle while bytes are read, ReadBytes the bytes a
	// second that the disk reads.
	CoresFree, ReadBytes float64
	Paths                []string // where the file may be; the first that can be written is
	Model                CodedID  // of the model's files
}

// A CodeChoice is the decision about the form in which weights are streamed. The
// zero Choice reads them as the model's files have them.
type CodeChoice struct {
	Name   string // of the form: planes, planehuff or planezstd
	Use    bool   // a coded file is used, or will be
	Reason string
	Path   string // of the file, if it is there
	Fault  error  // of files that cannot be used

	write bool // if the file is not there
	all   []CodedSource
	c     *CodeConfig
}

// String says which form it is, and why.
func (c *CodeChoice) String() string {
	s := "off: "
	if c.Use {
		s = c.Name + ": "
	}
	s += c.Reason
	switch {
	case c.Fault != nil:
		s += "; " + c.Fault.Error()
	case c.Path != "":
		s += " (" + c.Path + ")"
	}
	return s
}

// ChooseCode decides in which form weights are streamed. It reads a sample of them,
// and the index of a file, if there is one.
func ChooseCode(config CodeConfig) *CodeChoice {
	c := &CodeChoice{Name: "planes", all: config.Floats, c: &config}
	switch config.Mode {
	case "off":
		c.Reason = "as asked"
		return c
	case "planehuff":
		c.Name = config.Mode
		c.all = slices.DeleteFunc(slices.Clone(c.all), func(s CodedSource) bool { return s.Codec != blob.PlaneHuff })
	case "planezstd":
		c.Name, c.all = config.Mode, slices.Clone(c.all)
		for i := range c.all {
			c.all[i].Codec = blob.PlaneZstd
		}
	}
	largest := c.largest()
	switch {
	case largest == nil:
		c.Reason = "no weights are streamed that it is for; quantised ones hardly get smaller"
		return c
	case len(config.Paths) == 0:
		c.Reason = "the weights are not those of a file"
		return c
	}
	c.find()
	if c.Name == config.Mode {
		c.Use, c.write, c.Reason = true, true, "as asked"
		return c
	}
	choice, err := c.pays(largest)
	c.Reason = choice.Reason
	switch {
	case err != nil:
		c.Fault = err
	case choice.Codec == blob.None:
	case c.Path == "" && !config.Write:
		c.Reason += "; --pack disk would write a file of coded weights"
	default:
		c.Use, c.write = true, config.Write
	}
	return c
}

// largest returns the largest weight that is streamed and may be coded.
func (c *CodeChoice) largest() (out *CodedSource) {
	for i := range c.all {
		if s := &c.all[i]; c.c.Streamed(s.Name) && (out == nil || s.Bytes > out.Bytes) {
			out = s
		}
	}
	return out
}

// pays lets a sample of a weight and its measured rate of decoding decide.
func (c *CodeChoice) pays(s *CodedSource) (blob.Choice, error) {
	f, err := durable.OpenRegular(s.File)
	if err != nil {
		return blob.Choice{}, err
	}
	defer f.Close()
	sample := make([]byte, min(s.Bytes, codedChunkBytes))
	if _, err := f.ReadAt(sample, s.Offset+(s.Bytes-int64(len(sample)))/2&^3); err != nil {
		return blob.Choice{}, fmt.Errorf("%s: %w", s.File, err)
	}
	r := blob.Rates{CoresFree: c.c.CoresFree, ReadBytes: c.c.ReadBytes}
	if r.DecodeBytes[s.Codec], err = blob.DecodeRate(s.Codec, sample); err != nil {
		return blob.Choice{}, err
	}
	return blob.Choose(sample, s.Codec, r)
}

// id is that of a file in this form.
func (c *CodeChoice) id() CodedID { return sha256.Sum256(append(c.c.Model[:], c.Name...)) }

// find opens the file, if it is there.
func (c *CodeChoice) find() *CodedFile {
	for _, path := range c.c.Paths {
		f, err := OpenCoded(path, c.id())
		if err == nil {
			c.Path, c.Fault = path, nil
			return f
		}
		if !errors.Is(err, fs.ErrNotExist) {
			c.Fault = errors.Join(c.Fault, err)
		}
	}
	return nil
}

// Open opens the file that was decided for, or writes it first. It returns nil
// if there is none. The error is that of a context that ended; a file that
// cannot be used or written is the choice's fault.
func (c *CodeChoice) Open(ctx context.Context) (f *CodedFile, err error) {
	if !c.Use {
		return nil, nil
	}
	if f = c.find(); f == nil && c.write {
		f, err = c.make(ctx)
	}
	c.Use = f != nil
	return f, err
}

// make writes the file where that is possible.
func (c *CodeChoice) make(ctx context.Context) (*CodedFile, error) {
	for _, path := range c.c.Paths {
		undo := durable.Undo(filepath.Dir(path))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = WriteCoded(ctx, path, c.id(), c.all)
		}
		if err != nil {
			undo()
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil {
			return c.find(), nil
		}
		c.Fault = errors.Join(c.Fault, err)
	}
	return nil, nil
}

// PathBeside returns the path of a coded file beside one of packed weights.
func PathBeside(packed string) string { return strings.TrimSuffix(packed, ".packed") + ".coded" }
