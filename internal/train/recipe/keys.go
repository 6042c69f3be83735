package recipe

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"

	"atenia/internal/model/file"
	"atenia/internal/spelling"
)

// A key is one setting.
type key struct {
	Name string // "optimizer.rate"
	Help string // ends with the default in parentheses
}

// keys returns all settings in the order of the package comment.
func keys() (keys []key) {
	all := reflect.TypeFor[Recipe]()
	for table := range all.Fields() {
		for f := range table.Type.Fields() {
			keys = append(keys, key{table.Tag.Get("toml") + "." + f.Tag.Get("toml"), f.Tag.Get("help")})
		}
	}
	return keys
}

// Help returns the help text of all settings, by table.
func Help() string {
	var b strings.Builder
	last := ""
	for _, k := range keys() {
		table, name, _ := strings.Cut(k.Name, ".")
		if table != last {
			fmt.Fprintf(&b, "\n[%s]\n", table)
			last = table
		}
		fmt.Fprintf(&b, "  %-13s %s\n", name, k.Help)
	}
	return b.String()
}

// names returns all keys and tables.
func names() (all []string) {
	last := ""
	for _, k := range keys() {
		if table, _, _ := strings.Cut(k.Name, "."); table != last {
			all = append(all, table)
			last = table
		}
		all = append(all, k.Name)
	}
	return all
}

// nearest returns the known name with the smallest edit distance, the first of
// several. Of a long name only the start counts.
func nearest(name string, known []string) (best string) {
	const most = 100
	least := 1 << 30
	for _, k := range known {
		n := spelling.Distance(name[:min(len(name), most)], k)
		// A known name in the wrong table, or in none, is near.
		if name[strings.LastIndexByte(name, '.')+1:] == k[strings.LastIndexByte(k, '.')+1:] {
			n = min(n, 1)
		}
		if n < least {
			best, least = k, n
		}
	}
	return best
}

// free are the settings that may change when a run is resumed: how long it is, how fast
// it learns, what it looks at and keeps, and where and with what it is computed.
var free = map[string]bool{
	"optimizer.rate": true, "optimizer.clip": true,
	"schedule.curve": true, "schedule.warmup": true, "schedule.decay": true, "schedule.floor": true,
	"train.steps": true, "train.eval_every": true, "train.eval_batches": true, "train.patience": true, "train.min_gain": true,
	"train.save_every": true, "train.keep": true, "train.bad_steps": true, "train.threads": true, "train.out": true, "train.budget": true, "train.recompute": true,
	"tokenizer.template": true, "lora.merge": true,
}

// Fixed returns the settings that must not change when a run is resumed, by their keys,
// as they are used: what is not given is its default. Files count by their names, without
// folders, which may be moved, and by a sample of what is in them, see [file.Sample]; the
// model of model.from by what its weights are, see [file.Fingerprint].
func (r *Recipe) Fixed() (map[string]string, error) {
	from := "none"
	if r.Model.From != "" {
		print, err := file.Fingerprint(r.Model.From)
		if err != nil {
			return nil, err
		}
		from = "a model with fingerprint " + print
	}
	out := map[string]string{}
	used := r.used()
	v := reflect.ValueOf(&used).Elem()
	for table, tv := range v.Fields() {
		for f, fv := range tv.Fields() {
			key := table.Tag.Get("toml") + "." + f.Tag.Get("toml")
			if free[key] {
				continue
			}
			if fv.Kind() == reflect.Pointer && !fv.IsNil() {
				fv = fv.Elem()
			}
			switch key {
			case "model.from":
				out[key] = from
			case "tokenizer.file":
				out[key] = content(fv.String())
			case "data.files":
				names := make([]string, fv.Len())
				for i := range names {
					names[i] = content(fv.Index(i).String())
				}
				out[key] = fmt.Sprint(names)
			default:
				out[key] = fmt.Sprint(fv)
			}
		}
	}
	return out, nil
}

// content returns the name of a file, without its folder, and what tells it from others
// of that name.
func content(path string) string {
	if path == "" {
		return ""
	}
	name := filepath.Base(path)
	print, err := file.Sample(path)
	if err != nil {
		return name // whoever needs it says what is wrong with it
	}
	return name + " with fingerprint " + print
}
