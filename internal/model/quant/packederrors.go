package quant

import "fmt"

// An Error says what is wrong with a quantized folder: which tensor or which
// entry of the configuration, and how to fix it.
type Error struct {
	Tensor string // empty if the configuration is at fault
	Field  string // "shape", "element type", "quantization_config.bits"
	Want   string
	Got    string
	Fix    string
}

func (e *Error) Error() string {
	s := ""
	if e.Tensor != "" {
		s = fmt.Sprintf("tensor %q: ", clip(e.Tensor))
	}
	s += fmt.Sprintf("%s: want %s, got %s", e.Field, e.Want, clip(e.Got))
	if e.Fix != "" {
		s += "; " + e.Fix
	}
	return s
}

const (
	fixOther = "use the original model or a GGUF file of it"
	fixFetch = "the folder is incomplete or of mixed versions: fetch it again"
)

// clip shortens text from hostile files.
func clip(s string) string {
	const most = 160
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
