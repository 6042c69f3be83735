package compile

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"atenia/internal/model/file"
)

// Keys for what GGUF has no key for. They are written only if the standard keys
// would be read as another model.
const (
	ownWindows  = ateniaKeys + "attention.windows"            // one integer per layer; 0 = none
	ownRopes    = ateniaKeys + "rope.layers"                  // name of each layer's table; "" = no positional encoding
	ownAct      = ateniaKeys + "feed_forward.activation"      // as Config.Act
	ownRenorm   = ateniaKeys + "expert_weights_norm"          // 1 or 0: Mixture.Renorm
	ownTempOrig = ateniaKeys + "attention.temperature_length" // Config.TempOrig
	ownConfig   = ateniaKeys + "config"                       // JSON: fields of the Config that no other key states
)

// ownRope returns a key of one rotary table: "scaling", "dim", "theta",
// "factor", "original", "scale", "short", "long", "table".
func ownRope(table, key string) string { return ateniaKeys + "rope." + table + "." + key }

type ownFloat struct {
	field, key string
	v          *float32
}

// ownFloats lists the scalars that have keys of our own.
func ownFloats(c *Config) []ownFloat {
	return []ownFloat{
		{"attn_scale", ateniaKeys + "attention.scale", &c.AttnScale},
		{"attn_cap", ateniaKeys + "attention.softcap", &c.AttnCap},
		{"temp_beta", ateniaKeys + "attention.temperature_scale", &c.TempBeta},
		{"embed_mul", ateniaKeys + "embedding_scale", &c.EmbedMul},
		{"branch_mul", ateniaKeys + "residual_scale", &c.BranchMul},
		{"logit_mul", ateniaKeys + "logit_multiplier", &c.LogitMul},
		{"logit_cap", ateniaKeys + "logit_softcap", &c.LogitCap},
	}
}

// readOwn reads the keys "atenia.…", where present.
func (h *header) readOwn(c *Config) {
	for _, x := range ownFloats(c) {
		if h.has(x.key) {
			*x.v = h.float(x.field, 0, x.key)
		}
	}
	if h.has(ownTempOrig) {
		c.TempOrig = h.int("temp_orig", 0, maxLength, ownTempOrig)
	}
	if h.has(ownAct) {
		c.Act = h.text("act", "", ownAct)
	}
	for _, name := range []string{"full", "sliding"} {
		h.readOwnRope(name, c)
	}
	if h.has(ownWindows) {
		ws, found, err := h.meta.Uints(ownWindows)
		if h.note("windows", ownWindows, found, err) && h.perLayer(ownWindows, len(ws), c) {
			for i, w := range ws {
				c.Layers[i].Window = int(min(w, math.MaxInt32))
			}
		}
	}
	if h.has(ownRopes) {
		names, found, err := h.meta.Strings(ownRopes)
		if h.note("ropes", ownRopes, found, err) && h.perLayer(ownRopes, len(names), c) {
			for i, n := range names {
				c.Layers[i].Rope = n
			}
		}
	}
}

// formatFields are the fields of a Config that follow from the format of a file or
// from its tensors, and the rotary tables, which have keys of their own.
var formatFields = []string{"Family", "Arch", "Source", "Interleaved", "WholeHeads", "TiledV", "NormPlus", "TiedHead", "QKVBias", "OutBias", "FFNBias", "Later", "Ropes", "PosSkip", "Vision"}

// readConfig reads the key with the fields that have none of their own. It comes
// after all others and overrides them.
func (h *header) readConfig(c *Config) {
	if !h.has(ownConfig) {
		return
	}
	const most = 1 << 20
	text := h.text("config", "", ownConfig)
	if len(text) > most {
		h.bad(ownConfig, fmt.Sprintf("at most %d bytes", most), len(text))
		return
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		h.bad(ownConfig, "a JSON object", err)
		return
	}
	v := reflect.ValueOf(c).Elem()
	for name, raw := range given {
		f := v.FieldByName(name)
		if !f.IsValid() || slices.Contains(formatFields, name) {
			h.bad(ownConfig, "fields of a configuration", name)
			continue
		}
		f.SetZero()
		if err := json.Unmarshal(raw, f.Addr().Interface()); err != nil {
			h.bad(ownConfig, "a value of "+name, err)
		}
	}
}

// configKey returns the key for the fields that differ in back, the model as the
// header so far would be read; none if there are no such fields.
func (c *Config) configKey(back *Config) []KV {
	given := map[string]any{}
	mine, theirs := reflect.ValueOf(c).Elem(), reflect.ValueOf(back).Elem()
	for i := range mine.NumField() {
		name := mine.Type().Field(i).Name
		if a := mine.Field(i).Interface(); !slices.Contains(formatFields, name) && !reflect.DeepEqual(a, theirs.Field(i).Interface()) {
			given[name] = a
		}
	}
	if len(given) == 0 {
		return nil
	}
	text, err := json.Marshal(given) // keys are sorted
	if err != nil {
		return nil // what is not finite is refused as it is read back
	}
	return []KV{{ownConfig, file.ValueOf(string(text))}}
}

func (h *header) perLayer(key string, n int, c *Config) bool {
	if n != len(c.Layers) {
		h.bad(key, fmt.Sprintf("%d layers", len(c.Layers)), n)
	}
	return n == len(c.Layers)
}

func (h *header) readOwnRope(name string, c *Config) {
	field := "rope." + name + "."
	if h.has(ownRope(name, "scaling")) {
		t := RotaryTable{Name: name, Scale: 1}
		if r := c.rope(name); r != nil {
			t.Dim, t.Theta = r.Dim, r.Theta
		}
		t.Scaling = h.text(field+"scaling", "", ownRope(name, "scaling"))
		t.Dim = h.int(field+"dim", t.Dim, maxWidth, ownRope(name, "dim"))
		t.Theta = h.float(field+"theta", float64(t.Theta), ownRope(name, "theta"))
		t.Factor = h.float(field+"factor", 0, ownRope(name, "factor"))
		t.Original = h.int(field+"original", 0, maxLength, ownRope(name, "original"))
		t.Short = h.floats(field+"short", ownRope(name, "short"))
		t.Long = h.floats(field+"long", ownRope(name, "long"))
		t.Table = h.floats(field+"table", ownRope(name, "table"))
		c.addRope(t)
	}
	if r := c.rope(name); r != nil && h.has(ownRope(name, "scale")) {
		r.Scale = h.float(field+"scale", 1, ownRope(name, "scale"))
	}
}

// ownRopeKeys returns the keys that readOwnRope reads: the frequencies
// themselves unless they depend on the length of a request.
func ownRopeKeys(r *RotaryTable) []KV {
	key := func(k string, v file.Value) KV { return KV{ownRope(r.Name, k), v} }
	kvs := []KV{
		key("dim", file.ValueOf(uint32(r.Dim))),
		key("theta", file.ValueOf(r.Theta)),
		key("scale", file.ValueOf(r.Scale)),
	}
	switch r.Scaling {
	case Dynamic:
		kvs = append(kvs, key("scaling", file.ValueOf(r.Scaling)), key("factor", file.ValueOf(r.Factor)), key("original", file.ValueOf(uint32(r.Original))))
	case Long:
		kvs = append(kvs, key("scaling", file.ValueOf(r.Scaling)), key("original", file.ValueOf(uint32(r.Original))),
			key("short", file.ArrayOf(r.Short)), key("long", file.ArrayOf(r.Long)))
	default:
		inv, _ := r.Frequencies()
		kvs = append(kvs, key("scaling", file.ValueOf(Listed)), key("table", file.ArrayOf(inv)))
	}
	return kvs
}

// A KV is one entry of a GGUF header.
type KV struct {
	Key   string
	Value file.Value
}
