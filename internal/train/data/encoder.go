package data

import (
	"errors"

	"atenia/internal/model/compile"
	"atenia/internal/model/file"
)

// openEncoder returns what the model in a folder makes of texts, and the most tokens of
// one; nil for a model that generates text. It loads no weights.
func openEncoder(dir string) (e *compile.Encoder, most int, err error) {
	d, err := file.Open(dir, file.HeaderOnly())
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	m, err := compile.Compile(d, compile.Options{})
	if err != nil || m.Config.Encoder == nil {
		return nil, 0, err
	}
	return m.Config.Encoder, m.Config.Encoder.Limit(m.Config.Context), nil
}
