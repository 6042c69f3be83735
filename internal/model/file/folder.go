package file

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"atenia/internal/spelling"
	"atenia/internal/store/durable"
)

const (
	singleName = "model.safetensors"
	indexName  = "model.safetensors.index.json"

	// MostVocabulary is the bytes that a vocabulary may have; the largest published
	// tokenizer.json has about 35 MB.
	MostVocabulary = 256 << 20
	// MostSettings is the bytes that any other companion file may have.
	MostSettings = 16 << 20
	// mostCompanions is the bytes of all of them.
	mostCompanions = 512 << 20
)

// vocabularies are the companions that grow with the vocabulary; so do *.tiktoken and
// rwkv_vocab*.txt.
var vocabularies = map[string]bool{
	"tokenizer.json": true, "vocab.json": true, "merges.txt": true, "vocab.txt": true, "tokenizer.model": true, "spiece.model": true,
	"sentencepiece.bpe.model": true, "spm.model": true, "tiktoken.model": true,
}

func isVocabulary(name string) bool {
	return vocabularies[name] || strings.HasSuffix(name, ".tiktoken") || strings.HasPrefix(name, "rwkv_vocab")
}

// mostOf returns the bytes that a companion file may have.
func mostOf(name string) int64 {
	if isVocabulary(name) {
		return MostVocabulary
	}
	return MostSettings
}

// companions lists the small files of a Hugging Face folder that some part of
// Atenia reads. All are optional here; the package that needs one reports its
// absence.
var companions = [...]string{
	"generation_config.json",
	"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
	"vocab.json", "merges.txt", "vocab.txt",
	"tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model", "tiktoken.model", // and *.tiktoken, rwkv_vocab*.txt
	"chat_template.jinja", "chat_template.json",
	"preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json",
	"modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", // sentence-transformers
	"1_Pooling/config.json", "2_Dense/config.json", "3_Dense/config.json",
	"adapter_config.json", quantizeName,
}

// openFolder reads a Hugging Face folder.
func openFolder(dir string, o options) (d *Description, err error) {
	d = &Description{Path: dir, Format: HuggingFace, copied: o.copied, Files: map[string][]byte{}}
	defer func() { d, err = d.unlessFailed(err) }()
	if err := d.readFolder(dir, o); err != nil {
		return d, err
	}
	return d, d.unpack(filepath.Join(dir, o.config), o.zeros)
}

// readFolder reads the files of a folder as they are.
func (d *Description) readFolder(dir string, o options) (err error) {
	if d.Config, err = readSmall(dir, o.config); errors.Is(err, fs.ErrNotExist) {
		return notAFolder(dir, o.config)
	} else if err != nil {
		return err
	}
	left := int64(mostCompanions)
	for _, name := range append(companions[:len(companions):len(companions)], ranked(dir)...) {
		var b []byte // of a vocabulary when it is used
		n, err := int64(0), error(nil)
		if isVocabulary(name) {
			n, err = statSmall(dir, name)
		} else {
			b, err = readSmall(dir, name)
			n = int64(len(b))
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if left -= n; left < 0 {
			return &FormatError{File: dir, Want: fmt.Sprintf("at most %d bytes beside the weights", mostCompanions), Got: "more", Fix: fixDamage}
		}
		d.Files[name] = b
	}
	switch _, err := durable.Stat(filepath.Join(dir, singleName)); {
	case err == nil:
		if err := d.addSafetensors(filepath.Join(dir, singleName), nil); err != nil {
			return err
		}
		if err := d.addModules(dir); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(dir, indexName)); err == nil {
			d.Unread = indexName
		}
		return d.finish()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	switch err := d.addIndexed(dir, o); {
	case !errors.Is(err, errNoIndex):
		return err
	case o.headerOnly:
		return nil
	}
	return noWeights(dir)
}

// ReadVocabularies reads companion files that [Open] has found and not read, because
// they are large and not every use of a model needs them: those with the given names, or
// all. It must not run beside other uses of Files.
func (d *Description) ReadVocabularies(names ...string) error {
	for name, b := range d.Files {
		if b != nil || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		b, err := readSmall(d.Path, name)
		if err != nil {
			return err
		}
		d.Files[name] = b
	}
	return nil
}

// statSmall returns the size of a companion file and what [readSmall] would find wrong
// with it without reading it.
func statSmall(dir, name string) (int64, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	st, err := durable.Stat(path)
	switch {
	case err != nil:
		return 0, err
	case !st.Mode().IsRegular():
		return 0, wrongKind(path, &durable.KindError{Path: path, Mode: st.Mode()})
	case st.Size() > mostOf(name):
		return 0, wrongKind(path, &durable.SizeError{Path: path, Bytes: st.Size(), Most: mostOf(name)})
	}
	return st.Size(), nil
}

// ranked returns the names of a folder's lists of tiktoken and RWKV.
func ranked(dir string) (names []string) {
	const most = 8 // a folder has one
	found, _ := filepath.Glob(filepath.Join(dir, "*.tiktoken"))
	words, _ := filepath.Glob(filepath.Join(dir, "rwkv_vocab*.txt"))
	found = append(found, words...)
	for _, path := range found[:min(len(found), most)] {
		names = append(names, filepath.Base(path))
	}
	return names
}

var errNoIndex = errors.New("no index")

// readSmall reads a companion file and checks its JSON syntax, except for large
// vocabularies, which the package that parses them checks.
func readSmall(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, filepath.FromSlash(name))
	b, err := durable.ReadRegular(path, mostOf(name))
	if err != nil {
		return nil, wrongKind(path, err)
	}
	if e := filepath.Ext(name); e == ".json" || e == ".jinja" {
		if b, err = spelling.Narrow(b); err != nil {
			return nil, &FormatError{File: path, Err: err}
		}
	}
	if strings.HasSuffix(name, ".json") && name != "tokenizer.json" && name != "vocab.json" {
		return b, CheckJSON(path, b)
	}
	return b, nil
}

// wrongKind says of a file that is no regular one, or too large, what is expected.
func wrongKind(path string, err error) error {
	if e, ok := errors.AsType[*durable.KindError](err); ok {
		return &FormatError{File: path, Want: "a regular file", Got: e.Mode.Type().String()}
	}
	if e, ok := errors.AsType[*durable.SizeError](err); ok {
		return &FormatError{File: path, Want: fmt.Sprintf("at most %d bytes", e.Most), Got: fmt.Sprint(e.Bytes), Fix: fixDamage}
	}
	return err
}

// notAFolder returns the error for a folder without a configuration.
func notAFolder(dir, config string) error {
	e := &FormatError{File: dir, Want: fmt.Sprintf("%s and *.safetensors, as a Hugging Face folder has", config), Got: "a folder without " + config, Err: fs.ErrNotExist}
	if m, _ := filepath.Glob(filepath.Join(dir, "*.gguf")); len(m) > 0 {
		e.Fix = "name a file in it: " + m[0]
	}
	return e
}

// noWeights returns the error for a folder without weights, with what it has
// instead.
func noWeights(dir string) error {
	e := &FormatError{File: dir, Field: "weights", Want: singleName + " or " + indexName, Got: "neither", Err: fs.ErrNotExist}
	if m, _ := filepath.Glob(filepath.Join(dir, "*.safetensors")); len(m) > 0 {
		e.Got = filepath.Base(m[0]) + " and no index"
		e.Fix = "fetch " + indexName + ", or rename a single weight file to " + singleName
	} else if m, _ := filepath.Glob(filepath.Join(dir, "pytorch_model*.bin")); len(m) > 0 {
		e.Got = filepath.Base(m[0])
		e.Fix = "convert the weights to safetensors"
	}
	return e
}

// OpenSafetensors reads one .safetensors file without a configuration.
func OpenSafetensors(path string) (d *Description, err error) {
	d = &Description{Path: path, Format: Safetensors}
	defer func() { d, err = d.unlessFailed(err) }()
	if err := d.addSafetensors(path, nil); err != nil {
		return d, err
	}
	return d, d.finish()
}

// addSafetensors appends the tensors of a file for which keep returns true; nil
// keeps all.
func (d *Description) addSafetensors(path string, keep func(*Tensor) bool) error {
	p, err := d.mapFile(path)
	if err != nil {
		return err
	}
	ts, meta, data, err := parseSafetensors(path, p.data)
	if err != nil {
		return errors.Join(err, p.close())
	}
	if len(d.Parts) == 0 {
		d.Meta = meta
	}
	p.Data = int64(data)
	d.Parts = append(d.Parts, *p)
	if keep != nil {
		ts = slices.DeleteFunc(ts, func(t Tensor) bool { return !keep(&t) })
	}
	d.Tensors = append(d.Tensors, ts...)
	return nil
}

// denseModules are the folders of projections that sentence-transformers keeps
// beside a model.
var denseModules = [...]string{"2_Dense", "3_Dense"}

// addModules appends the tensors of modules in folders of their own, with the
// folder before their names: "2_Dense/linear.weight".
func (d *Description) addModules(dir string) error {
	for _, module := range denseModules {
		n := len(d.Tensors)
		err := d.addSafetensors(filepath.Join(dir, module, singleName), nil)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for i := range d.Tensors[n:] {
			d.Tensors[n+i].Name = module + "/" + d.Tensors[n+i].Name
		}
	}
	return nil
}

// An assignment is one line of an index: a tensor and the file that holds it.
type assignment struct{ tensor, file string }

// addIndexed reads the index and every file it names, in the order of their
// names.
func (d *Description) addIndexed(dir string, o options) error {
	path := filepath.Join(dir, indexName)
	b, err := readSmall(dir, indexName)
	if errors.Is(err, fs.ErrNotExist) {
		return errNoIndex
	}
	if err != nil {
		return err
	}
	weights, files, err := parseIndex(path, b)
	if err != nil {
		return err
	}
	absent := map[string]bool{}
	for _, file := range files {
		full := filepath.Join(dir, filepath.FromSlash(file))
		err := d.addSafetensors(full, func(t *Tensor) bool {
			// A tensor that the index assigns to another file is a leftover and skipped;
			// one that the index does not list is kept, and binding decides.
			i, ok := findWeight(weights, t.Name)
			return !ok || weights[i].file == file
		})
		if errors.Is(err, fs.ErrNotExist) {
			err = &FormatError{File: full, Want: "a weight file that " + indexName + " names", Got: "no such file", Fix: "fetch it into the same folder", Err: fs.ErrNotExist}
		}
		if err != nil && o.headerOnly {
			if _, gone := durable.Stat(full); gone != nil {
				absent[file], d.Absent = true, cmp.Or(d.Absent, err)
				continue
			}
		}
		if err != nil {
			return err
		}
	}
	if err := d.addModules(dir); err != nil {
		return err
	}
	if err := d.finish(); err != nil {
		return err
	}
	for _, w := range weights {
		if _, ok := d.Tensor(w.tensor); !ok && !absent[w.file] {
			return &FormatError{File: filepath.Join(dir, filepath.FromSlash(w.file)), Tensor: w.tensor, Want: "the tensor, as " + indexName + " says", Got: "a file without it", Fix: "fetch the file and the index again: they are of different versions"}
		}
	}
	return nil
}

func findWeight(ws []assignment, tensor string) (int, bool) {
	return slices.BinarySearchFunc(ws, tensor, func(w assignment, name string) int { return strings.Compare(w.tensor, name) })
}

// parseIndex reads an index: the assignments sorted by tensor, and the files
// sorted by name.
func parseIndex(path string, b []byte) (weights []assignment, files []string, err error) {
	s := &scanner{file: path, b: b, text: true}
	budget, found := 2*len(b)+slack, false
	interned := map[string]string{}
	err = s.object(func(key string, at int) error {
		if key != "weight_map" {
			return s.skip(0)
		}
		if found {
			return s.errorAt(at, "index", "one weight_map", "another")
		}
		found = true
		return s.object(func(name string, at int) error {
			file, err := s.str()
			if err != nil {
				return err
			}
			if !filepath.IsLocal(filepath.FromSlash(file)) {
				return s.errorAt(at, "weight_map", "files in the folder of the index", quote(file))
			}
			if budget -= 2*int(unsafe.Sizeof(assignment{})) + len(name) + 16; budget < 0 {
				return s.errorAt(at, "weight_map", "an index that takes less memory than twice its size", "more entries")
			}
			if _, ok := interned[file]; !ok {
				budget -= 4*len(file) + 64
				interned[file] = file
				files = append(files, file)
			}
			weights = append(weights, assignment{name, interned[file]})
			return nil
		})
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return nil, nil, err
	}
	if len(weights) == 0 {
		return nil, nil, &FormatError{File: path, Field: "weight_map", Want: "an object from tensors to files", Got: "none or an empty one", Fix: fixDamage}
	}
	slices.Sort(files)
	slices.SortFunc(weights, func(x, y assignment) int {
		return cmp.Or(strings.Compare(x.tensor, y.tensor), strings.Compare(x.file, y.file))
	})
	for i := 1; i < len(weights); i++ {
		if weights[i].tensor == weights[i-1].tensor {
			return nil, nil, &FormatError{File: path, Tensor: weights[i].tensor, Field: "weight_map", Want: "every tensor once", Got: "it again", Fix: fixDamage}
		}
	}
	return weights, files, nil
}
