package convert

import (
	"path/filepath"
	"strings"

	"atenia/internal/model/compile"
	"atenia/internal/model/file"
	"atenia/internal/model/text"
	"atenia/internal/sample"
)

// quantizationVersion is the version of the block formats (GGML_QNT_VERSION).
const quantizationVersion = 2

// modelHeader makes the keys of a model from a folder. The architecture comes
// first, because the meaning of other keys depends on it.
func (j *job) modelHeader(m *compile.Model, x *compile.Export) error {
	set := j.meta.Set
	set("general.architecture", file.ValueOf(x.Arch))
	set("general.type", file.ValueOf("model"))
	set("general.name", file.ValueOf(modelName(j.d.Path)))
	j.setTypes()
	t, err := text.Load(j.d)
	if err != nil && !text.Partial(err) {
		return err
	}
	j.setSampling(t.Sampling)
	for _, kv := range x.Meta {
		set(kv.Key, kv.Value)
	}
	return j.setText(t, m.Config.Vocab)
}

func (j *job) setTypes() {
	j.meta.Set("general.file_type", file.ValueOf(j.o.Mix.FileType()))
	j.meta.Set("general.quantization_version", file.ValueOf(uint32(quantizationVersion)))
}

// modelName returns the name of the folder, which is usually the model's.
func modelName(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Base(path)
}

// setSampling writes a recommendation. Without one it writes no keys, so that
// readers use their own defaults.
func (j *job) setSampling(p sample.Params) {
	u := text.Usual
	if p.Temperature == u.Temperature && p.TopK == u.TopK && p.TopP == u.TopP && p.MinP == u.MinP &&
		p.Typical == u.Typical && p.RepeatPenalty == u.RepeatPenalty {
		return
	}
	j.meta.Set("general.sampling.temp", file.ValueOf(p.Temperature))
	if p.TopK != 0 {
		j.meta.Set("general.sampling.top_k", file.ValueOf(int32(p.TopK)))
	}
	for _, k := range []struct {
		key string
		v   float32
	}{
		{"general.sampling.top_p", p.TopP}, {"general.sampling.min_p", p.MinP},
		{text.KeyTypical, p.Typical}, {"general.sampling.penalty_repeat", p.RepeatPenalty},
	} {
		if k.v != 0 {
			j.meta.Set(k.key, file.ValueOf(k.v))
		}
	}
}

// copyHeader copies the keys of a GGUF file, except those about the file itself.
func (j *job) copyHeader() error {
	var err error
	if j.report.Arch, _, err = j.d.Meta.String("general.architecture"); err != nil {
		return err
	}
	for key, v := range j.d.Meta.All() {
		if !strings.HasPrefix(key, "split.") { // the parts become one file
			j.meta.Set(key, v)
		}
	}
	j.setTypes()
	return nil
}
