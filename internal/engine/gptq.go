package engine

import (
	"fmt"
	"slices"
	"strings"

	"atenia/internal/model/file"
)

// zerosField is the field of a configuration that names a version of zero points.
const zerosField = "GPTQZeros"

// CheckZeros returns what is wrong with a version of zero points that a user asks for.
func CheckZeros(version string) error {
	if version == "" || slices.Contains(file.ZeroVersions, version) {
		return nil
	}
	return &FieldError{zerosField, version, strings.Join(file.ZeroVersions, " or ")}
}

// AskedZeros returns an error if a user asks for a version of zero points of a model that
// has none.
func AskedZeros(d *file.Description, version string) error {
	if err := d.HasZeros(version); err != nil {
		return &FieldError{zerosField, nil, err.Error()}
	}
	return nil
}

// readZeros checks what is asked about zero points, warns if it is needed, and keeps keys
// and values apart by how they are read. Packed weights are: their file knows the rows.
func (p *Plan) readZeros(d *file.Description) error {
	if err := AskedZeros(d, p.Config.GPTQZeros); err != nil {
		return err
	}
	if d.Zeros != nil {
		p.zeros = fmt.Sprintf(" gptq-zeros=%d/%d", d.Zeros.V1, d.Zeros.V2)
	}
	if line := d.UntoldZeros(); line != "" {
		p.note("%s", line)
	}
	return nil
}
