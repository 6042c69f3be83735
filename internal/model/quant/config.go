package quant

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"atenia/tensor"
)

// Methods lists the names of quant_method that [Read] understands.
func Methods() []string {
	out := make([]string, 0, len(methods))
	for name := range methods {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// methods has the function that adds a method's matrices to a folder. Names are
// in lower case with hyphens.
var methods = map[string]func(*reader) error{
	"auto-round":         (*reader).autoRound,
	"awq":                (*reader).awq,
	"bitsandbytes":       (*reader).bitsandbytes,
	"compressed-tensors": (*reader).compressed,
	"fbgemm-fp8":         (*reader).float8,
	"fp8":                (*reader).float8,
	"gptq":               (*reader).gptq,
	"modelopt":           (*reader).modelOpt,
	"mxfp4":              (*reader).mxfp4,
	"mxfp8":              (*reader).float8,
}

// settings is a quantization_config with the model's element type.
type settings struct {
	m     map[string]any
	dtype tensor.DType // of the model's other weights: F32, F16 or BF16
	field string       // where m is
}

// settingsOf parses a quantization_config; m is nil if there is none.
func settingsOf(quantization []byte, dtype string) (settings, error) {
	s := settings{field: "quantization_config", dtype: plainType(dtype)}
	if len(quantization) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(quantization, &s.m); err != nil {
		return s, &Error{Field: s.field, Want: "an object", Got: err.Error(), Fix: "correct the configuration"}
	}
	return s, nil
}

// plainType returns the type that a torch name stands for; F32 represents all
// others.
func plainType(name string) tensor.DType {
	switch strings.TrimPrefix(name, "torch.") {
	case "float16", "half":
		return tensor.F16
	case "bfloat16":
		return tensor.BF16
	}
	return tensor.F32
}

// method returns the name of the method in one spelling.
func (s *settings) method() string {
	name := s.text("quant_method", "")
	if name == "" { // transformers before 4.34 wrote none
		switch {
		case s.m["load_in_4bit"] == true, s.m["load_in_8bit"] == true:
			name = "bitsandbytes"
		case s.m["config_groups"] != nil:
			name = "compressed-tensors"
		case s.m["desc_act"] != nil: // of quantize_config.json
			name = "gptq"
		}
	}
	return strings.ReplaceAll(strings.ToLower(name), "_", "-")
}

func (s *settings) text(key, def string) string {
	if v, ok := s.m[key].(string); ok {
		return v
	}
	return def
}

// whole reads an integer from lo to hi.
func (s *settings) whole(key string, def, lo, hi int) (int, error) {
	v, ok := s.m[key]
	if !ok || v == nil {
		return def, nil
	}
	f, ok := v.(float64)
	if n := int(f); ok && f >= float64(lo) && f <= float64(hi) && float64(n) == f {
		return n, nil
	}
	return 0, s.bad(key, fmt.Sprintf("a whole number from %d to %d", lo, hi), fmt.Sprint(v))
}

func (s *settings) object(key string) settings {
	m, _ := s.m[key].(map[string]any)
	return settings{m: m, dtype: s.dtype, field: s.field + "." + key}
}

// pair reads a list of two positive numbers; false if there is none.
func (s *settings) pair(key string) (out [2]int, ok bool, err error) {
	v, found := s.m[key]
	if !found || v == nil {
		return out, false, nil
	}
	list, _ := v.([]any)
	for i, x := range list {
		f, isNumber := x.(float64)
		if n := int(f); i < 2 && isNumber && f >= 1 && f <= 1<<20 && float64(n) == f {
			out[i] = n
		}
	}
	if len(list) != 2 || out[0] == 0 || out[1] == 0 {
		return out, false, s.bad(key, "two whole numbers", fmt.Sprint(v))
	}
	return out, true, nil
}

func (s *settings) bad(key, want, got string) error {
	return &Error{Field: s.field + "." + key, Want: want, Got: got, Fix: fixOther}
}

// bits reads the width of a digit.
func (s *settings) bits(key string, allowed ...int) (int, error) {
	n, err := s.whole(key, 4, 1, 32)
	if err == nil && !slices.Contains(allowed, n) {
		err = s.bad(key, fmt.Sprintf("one of %v", allowed), strconv.Itoa(n))
	}
	return n, err
}
