package file

import (
	"fmt"

	"atenia/internal/model/quant"
	"atenia/internal/spelling"
)

// ZeroVersions are the versions that [GPTQZeros] takes.
var ZeroVersions = []string{quant.ZerosV1, quant.ZerosV2}

// HasZeros returns an error if version names one of zero points and d has no GPTQ digits.
func (d *Description) HasZeros(version string) error {
	if version == "" || d.Zeros != nil {
		return nil
	}
	is := "not quantized"
	switch {
	case d.Packed != "":
		is = "quantized by " + d.Packed
	case d.Format == GGUF:
		is = "GGUF"
	}
	return fmt.Errorf("%s is %s, and zero points of version %s are those of folders that GPTQ quantized: leave out --gptq-zeros", d.Path, is, version)
}

// UntoldZeros returns a line for the user if nothing but the configuration says how the
// zero points of GPTQ digits are read, else "".
func (d *Description) UntoldZeros() string {
	z := d.Zeros
	if z == nil || z.Untold == 0 {
		return ""
	}
	as, other := quant.ZerosV1, quant.ZerosV2
	if z.V1 == 0 {
		as, other = other, as
	}
	return fmt.Sprintf("the digits of %s do not tell the version of their GPTQ zero points, which are read as %s: if answers make no sense, try --gptq-zeros %s",
		spelling.Count(z.Untold, "matrix"), as, other)
}
