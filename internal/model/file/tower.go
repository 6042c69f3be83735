package file

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// towerPrefix begins the names of GGUF files with the image tower of a model.
const towerPrefix = "mmproj-"

// TowerName returns the name of the file with the image tower of a GGUF file.
func TowerName(path string) string {
	return filepath.Join(filepath.Dir(path), towerPrefix+filepath.Base(path))
}

// Tower makes Open read the image tower of a GGUF model from a file. Without this
// option it is read from a file whose name is that of the model after "mmproj-",
// if there is one.
func Tower(path string) Option { return func(o *options) { o.tower = path } }

// withTower adds the tensors of a tower's file, and the keys that describe it.
// The description owns both files.
func (d *Description) withTower(path string) (*Description, error) {
	if path == "" {
		beside := TowerName(d.Path)
		if !IsFile(beside) || strings.HasPrefix(filepath.Base(d.Path), towerPrefix) {
			return d, nil
		}
		path = beside
	}
	err := d.addTower(path)
	return d.unlessFailed(err)
}

func (d *Description) addTower(path string) error {
	p, err := d.mapFile(path)
	if err != nil {
		return err
	}
	g, err := parseGGUF(path, p.data)
	if err != nil {
		return errors.Join(err, p.close())
	}
	if arch, _, _ := g.meta.String("general.architecture"); arch != "clip" {
		e := &FormatError{File: path, Field: "general.architecture", Want: "clip, an image tower", Got: fmt.Sprintf("%q", arch)}
		return errors.Join(e, p.close())
	}
	p.Data = int64(g.data)
	d.Parts = append(d.Parts, *p)
	d.Tensors = append(d.Tensors, g.tensors...)
	for key, v := range g.meta.All() {
		if strings.HasPrefix(key, "clip.") || strings.HasPrefix(key, "atenia.") {
			d.Meta.Set(key, v)
		}
	}
	return d.finish()
}
