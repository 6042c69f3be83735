package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A format is a kind of input that Atenia reads.
type format struct {
	name    string
	weight  int // of all cases
	memory  int64
	collect func(c *corpus, add func(...entry))
	read    func(x *scratch, s sample) error // nil: the files were accepted

	samples []sample
}

// usualMemory and templateMemory bound live memory beside twice the input.
const (
	usualMemory    = 64 << 20
	templateMemory = 256 << 20
)

// formats are all there are. Their order and weights decide which case an index
// is, so that a change of the table is a change of all cases.
var formats = []*format{
	{name: "gguf", weight: 6, collect: ggufModels, read: useModel},
	{name: "gguf-split", weight: 2, collect: splitModels, read: useModel},
	{name: "mmproj", weight: 1, collect: projectors, read: inspect},
	{name: "safetensors", weight: 6, collect: folders(safetensors), read: useModel},
	{name: "sharded", weight: 2, collect: shardedFolders, read: useModel},
	{name: "packed", weight: 4, collect: packedFolders, read: useModel},
	{name: "config", weight: 24, collect: configs, read: compileConfig},
	{name: "config-weights", weight: 2, collect: folders(jsonText), read: useModel},
	{name: "tokenizer", weight: 34, collect: tokenizers, read: useTokenizer},
	{name: "vocabulary", weight: 14, collect: vocabularies, read: useVocabulary},
	{name: "template", weight: 34, memory: templateMemory, collect: templates, read: renderTemplate},
	{name: "text-settings", weight: 12, memory: templateMemory, collect: textSettings, read: useSettings},
	{name: "adapter", weight: 4, collect: adapters, read: useAdapter},
	{name: "recipe", weight: 20, collect: files(plainText, "examples/*/config.toml"), read: readRecipe},
	{name: "plan-text", weight: 10, collect: files(plainText, "internal/plan/testdata/plans/*.plan"), read: readPlanText},
	{name: "plan-json", weight: 6, collect: planJSON, read: readPlanJSON},
	{name: "tape-listing", weight: 6, collect: listings, read: readListing},
	{name: "placement", weight: 8, collect: placements, read: readPlacement},
	{name: "snapshot", weight: 12, collect: snapshots, read: readSnapshot},
	{name: "checkpoint", weight: 1, collect: checkpoints, read: verifyCheckpoint},
	{name: "conversation", weight: 1, collect: conversations, read: continueConversation},
	{name: "sxlm", weight: 1, collect: networks, read: useNetwork},
	{name: "network-config", weight: 8, collect: networkConfigs, read: readNetworkConfig},
	{name: "graph", weight: 14, collect: graphs, read: linkGraph},
	{name: "graph-text", weight: 10, collect: graphTexts, read: linkGraphText},
	{name: "schedule", weight: 4, collect: schedules, read: readSchedule},
	{name: "manifest", weight: 8, collect: manifests, read: readManifest},
	{name: "sound", weight: 18, collect: sounds, read: readSound},
	{name: "picture", weight: 12, collect: pictures, read: readPicture},
	{name: "processor", weight: 10, collect: processors, read: readProcessor},
	{name: "learning", weight: 10, collect: learnings, read: readLearning},
	{name: "decisions", weight: 3, collect: files(jsonLines, "internal/policy/decide/testdata/log.jsonl"), read: replayDecisions},
	{name: "imatrix", weight: 10, collect: importances, read: readImportance},
	{name: "corpus", weight: 12, collect: corpora, read: readCorpus},
	{name: "questions", weight: 10, collect: questions, read: readQuestions},
	{name: "bench-result", weight: 6, collect: benchResults, read: readBench},
	{name: "command", weight: 1, collect: commands, read: runCommand},
}

// A corpus is the repository that samples come from, and a folder to make more.
type corpus struct {
	root, temp string
	err        error
}

func (c *corpus) fail(err error) {
	if c.err == nil && err != nil {
		c.err = err
	}
}

// glob returns the files that match, with their content.
func (c *corpus) glob(pattern string) (out []entry) {
	names, err := filepath.Glob(filepath.Join(c.root, filepath.FromSlash(pattern)))
	c.fail(err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		c.fail(err)
		out = append(out, entry{name: filepath.Base(name), data: b})
	}
	return out
}

// files collects each file that matches as a sample.
func files(k kind, patterns ...string) func(*corpus, func(...entry)) {
	return func(c *corpus, add func(...entry)) {
		for _, p := range patterns {
			for _, e := range c.glob(p) {
				e.kind = k
				add(e)
			}
		}
	}
}

const mostModel = 300 << 10

func ggufModels(c *corpus, add func(...entry)) {
	for _, p := range []string{"testdata/golden/gguf/models/*.gguf", "testdata/golden/vocabularies/*.gguf"} {
		for _, e := range c.glob(p) {
			if len(e.data) <= 600<<10 {
				add(entry{name: "model.gguf", data: e.data, kind: gguf})
			}
		}
	}
}

func splitModels(c *corpus, add func(...entry)) {
	for _, e := range c.glob("testdata/golden/gguf/models/*.gguf") {
		if len(e.data) <= 600<<10 {
			add(splitGGUF(e.data)...)
		}
	}
}

func projectors(c *corpus, add func(...entry)) {
	for _, e := range c.glob("testdata/golden/mmproj/*.gguf") {
		add(entry{name: "model.gguf", data: e.data, kind: gguf})
	}
}

// companions are the small files that a model needs to be used.
var companions = []string{"config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json", "model.safetensors.index.json", "modules.json"}

// folder returns the files of a model's folder; those of the kind are open to
// changes. It returns nil if its weights are too large.
func (c *corpus) folder(dir string, k kind) sample {
	var s sample
	for _, name := range companions {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			s = append(s, entry{name: name, data: b, kind: jsonText, keep: k != jsonText || name == "tokenizer.json"})
		}
	}
	weights, _ := filepath.Glob(filepath.Join(dir, "*.safetensors"))
	for _, w := range weights {
		b, err := os.ReadFile(w)
		c.fail(err)
		s = append(s, entry{name: filepath.Base(w), data: b, kind: safetensors, keep: k != safetensors})
	}
	if len(weights) == 0 || s.bytes() > mostModel {
		return nil
	}
	return s
}

// eachFolder calls f with the folders of reference models.
func (c *corpus) eachFolder(f func(dir string)) {
	dirs, err := filepath.Glob(filepath.Join(c.root, "testdata/golden/parity/*"))
	c.fail(err)
	for _, dir := range dirs {
		f(dir)
	}
}

func folders(k kind) func(*corpus, func(...entry)) {
	return func(c *corpus, add func(...entry)) {
		c.eachFolder(func(dir string) {
			if s := c.folder(dir, k); s != nil {
				add(s...)
			}
		})
	}
}

// shardedFolders has both open: the index and the shards.
func shardedFolders(c *corpus, add func(...entry)) {
	s := c.folder(filepath.Join(c.root, "testdata/golden/parity/llama_bf16_sharded"), safetensors)
	for i := range s {
		s[i].keep = s[i].keep && s[i].name != "model.safetensors.index.json"
	}
	if s == nil {
		c.fail(fmt.Errorf("the model in shards is larger than %d bytes", mostModel))
		return
	}
	add(s...)
}

func packedFolders(c *corpus, add func(...entry)) {
	dirs, err := filepath.Glob(filepath.Join(c.root, "internal/model/quant/testdata/*"))
	c.fail(err)
	for _, dir := range dirs {
		if s := c.folder(dir, safetensors); s != nil {
			for i := range s {
				s[i].keep = s[i].keep && s[i].name != "config.json"
			}
			add(s...)
		}
	}
}

func configs(c *corpus, add func(...entry)) {
	for _, e := range c.glob("testdata/golden/parity/*/config.json") {
		add(entry{name: e.name, data: e.data, kind: jsonText})
	}
	for _, e := range c.glob("testdata/plans/*.json") {
		var x map[string]json.RawMessage
		if json.Unmarshal(e.data, &x) == nil && len(x["config.json"]) > 0 {
			add(entry{name: "config.json", data: x["config.json"], kind: jsonText})
		}
	}
}

func tokenizers(c *corpus, add func(...entry)) {
	for _, p := range []string{"testdata/golden/tokenizers/*.json", "testdata/golden/vocabfiles/*.json", "testdata/golden/parity/mistral3/tokenizer.json", "testdata/golden/parity/llama3/tokenizer.json"} {
		for _, e := range c.glob(p) {
			t := parseJSON(e.data)
			if t == nil || t.get("model") == nil {
				continue
			}
			add(entry{name: "tokenizer.json", data: shortVocabulary(t), kind: jsonText})
			if len(e.data) < 64<<10 {
				add(entry{name: "tokenizer.json", data: e.data, kind: jsonText})
			}
		}
	}
}

// get returns the value of a key, nil if there is none.
func (t *tree) get(key string) *tree {
	for i, k := range t.keys {
		if k == `"`+key+`"` {
			return t.kids[i]
		}
	}
	return nil
}

// shortVocabulary keeps the first 300 tokens of a tokenizer, and the merges that
// they allow, so that changes are more often of what is beside them.
func shortVocabulary(t *tree) []byte {
	const most = 300
	model := t.get("model")
	vocab := model.get("vocab")
	if vocab == nil || len(vocab.kids) <= most {
		return t.append(nil)
	}
	vocab.kids = vocab.kids[:most]
	if vocab.kind == '{' {
		vocab.keys = vocab.keys[:most]
	}
	have := map[string]bool{}
	for i, v := range vocab.kids {
		k := ""
		if vocab.kind == '{' {
			k = vocab.keys[i]
		} else if len(v.kids) > 0 {
			k = v.kids[0].raw
		}
		var s string
		if json.Unmarshal([]byte(k), &s) == nil {
			have[s] = true
		}
	}
	if merges := model.get("merges"); merges != nil {
		var kept []*tree
		for _, m := range merges.kids {
			var a, b string
			if m.kind == '"' {
				var s string
				_ = json.Unmarshal([]byte(m.raw), &s)
				a, b, _ = strings.Cut(s, " ")
			} else if len(m.kids) == 2 {
				_ = json.Unmarshal([]byte(m.kids[0].raw), &a)
				_ = json.Unmarshal([]byte(m.kids[1].raw), &b)
			}
			if have[a] && have[b] && have[a+b] {
				kept = append(kept, m)
			}
		}
		merges.kids = kept
	}
	return t.append(nil)
}

func vocabularies(c *corpus, add func(...entry)) {
	files(proto, "testdata/golden/vocabfiles/bpe*.model", "testdata/golden/vocabfiles/unigram*.model")(c, add)
	files(plainText, "testdata/golden/vocabfiles/*.tiktoken", "testdata/golden/vocabfiles/tiktoken.model")(c, add)
}

func templates(c *corpus, add func(...entry)) {
	for _, e := range c.glob("testdata/golden/chat/cases.json") {
		var cases []struct {
			Template string
			Context  json.RawMessage
		}
		c.fail(json.Unmarshal(e.data, &cases))
		for _, x := range cases {
			add(entry{name: "chat_template.jinja", data: []byte(x.Template), kind: plainText}, entry{name: "context.json", data: x.Context, kind: jsonText})
		}
	}
}

func textSettings(c *corpus, add func(...entry)) {
	tokenizer := c.glob("testdata/golden/parity/llama3/tokenizer.json")[0].data
	files := func(config, settings, generation, template string) {
		s := sample{
			{name: "tokenizer.json", data: tokenizer, kind: jsonText, keep: true}, {name: "config.json", data: []byte(config), kind: jsonText},
			{name: "tokenizer_config.json", data: []byte(settings), kind: jsonText}, {name: "generation_config.json", data: []byte(generation), kind: jsonText},
			{name: "special_tokens_map.json", data: []byte(`{"bos_token":{"content":"<s>","lstrip":false},"eos_token":"</s>"}`), kind: jsonText},
			{name: "added_tokens.json", data: []byte(`{"<extra>":320}`), kind: jsonText},
		}
		if template != "" {
			s = append(s, entry{name: "chat_template.jinja", data: []byte(template), kind: plainText})
		}
		add(s...)
	}
	files(`{"eos_token_id":1}`, `{"chat_template":"{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content | trim }}\n{% endfor %}","bos_token":"<s>","eos_token":{"content":"</s>"},"added_tokens_decoder":{"0":{"content":"<pad>","special":true}}}`,
		`{"eos_token_id":[1,2],"temperature":0.5,"top_k":40,"top_p":0.9,"min_p":0.05,"repetition_penalty":1.1,"do_sample":true,"max_length":64}`, "")
	files(`{"eos_token_id":[1,2],"bos_token_id":1,"pad_token_id":0}`, `{"chat_template":[{"name":"default","template":"{{ messages[0].content }}"},{"name":"tool_use","template":"{{ tools | tojson }}"}],"tokenizer_class":"LlamaTokenizer","add_bos_token":true}`,
		`{}`, "{% for m in messages %}{% if m.role == 'user' %}U {{ m.content }}{% else %}A {{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}A{% endif %}")
}

func adapters(c *corpus, add func(...entry)) {
	var s sample
	for _, name := range []string{"config.json", "model.safetensors"} {
		b, err := os.ReadFile(filepath.Join(c.root, "testdata/golden/train/llama_untied", name))
		c.fail(err)
		s = append(s, entry{name: "base/" + name, data: b, keep: true})
	}
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		b, err := os.ReadFile(filepath.Join(c.root, "testdata/golden/train/llama_untied/lora", name))
		c.fail(err)
		k := jsonText
		if strings.HasSuffix(name, ".safetensors") {
			k = safetensors
		}
		s = append(s, entry{name: name, data: b, kind: k})
	}
	add(s...)
}

func networks(c *corpus, add func(...entry)) {
	for _, e := range c.glob("testdata/golden/quila/sxlm.json") {
		var x struct{ Base64 string }
		c.fail(json.Unmarshal(e.data, &x))
		b, err := base64.StdEncoding.DecodeString(x.Base64)
		c.fail(err)
		add(entry{name: "model.sxlm", data: b, kind: sxlm})
	}
}

// goldenCases returns the cases of a file of reference cases of flows.
func (c *corpus) goldenCases(file string) (out []map[string]json.RawMessage) {
	var x struct{ Cases []map[string]json.RawMessage }
	for _, e := range c.glob("testdata/golden/flow/" + file) {
		c.fail(json.Unmarshal(e.data, &x))
	}
	return x.Cases
}

func graphs(c *corpus, add func(...entry)) {
	for _, x := range c.goldenCases("graph.json") {
		if len(x["plan"]) > 0 {
			add(entry{name: "graph.json", data: x["plan"], kind: jsonText})
		}
	}
	for _, x := range c.goldenCases("node.json") {
		if len(x["node"]) > 0 {
			var n struct{ Name string }
			c.fail(json.Unmarshal(x["node"], &n))
			add(entry{name: "graph.json", data: fmt.Appendf(nil, `{"nodes":[{"name":"an input","type":"Input"},%s],"edges":[{"source":"an input","target":%q}]}`, x["node"], n.Name), kind: jsonText})
		}
	}
}

func manifests(_ *corpus, add func(...entry)) {
	add(entry{name: "manifest.json", kind: jsonText, data: []byte(`{"abi": [2, 1], "vendor": "v", "version": "3", "later": {"x": 1}, "isolate": true, "nodes": [
 {"type": "OnePole", "inputs": ["in"], "outputs": 2, "params": ["a", "thermo.heat"], "caps": ["v2", "f64", "of a later version"], "jacobian": "toeplitz"},
 {"type": "Gen", "inputs": 0, "outputs": ["out"], "declared_delay": 7, "oversample_ratio": 4, "jacobian": 99}]}`)})
	add(entry{name: "manifest.json", kind: jsonText, data: []byte(`{"abi": [2, 0], "nodes": [{"type": "Gain", "inputs": ["in"], "outputs": 1, "caps": ["v2", "backward"]}]}`)})
}

func pictures(c *corpus, add func(...entry)) {
	for _, e := range c.glob("internal/sight/testdata/*.png") {
		if len(e.data) < 3000 {
			add(entry{name: "picture", data: e.data, kind: png})
		}
	}
	morePictures(c, add)
}

func processors(_ *corpus, add func(...entry)) {
	for _, s := range []string{
		`{"size":{"shortest_edge":3136,"longest_edge":12845056},"image_mean":[0.5,0.5,0.5],"image_std":[0.5,0.5,0.5],"resample":3,"patch_size":14,"merge_size":2,"temporal_patch_size":2,"rescale_factor":0.00392156862745098}`,
		`{"tile_size":512,"max_tiles":10,"max_image_tokens":256,"min_tiles":2,"do_resize":true,"use_thumbnail":true}`,
		`{"min_pixels":3136,"max_pixels":12845056,"size":{"height":224,"width":224},"do_normalize":true}`,
		`{"size":{"height":56,"width":56},"do_pan_and_scan":true,"pan_and_scan_min_crop_size":8,"pan_and_scan_max_num_crops":4,"pan_and_scan_min_ratio_to_activate":1.2}`,
		`{"image_processor":{"min_pixels":3136},"video_processor":{"size":{"shortest_edge":4096,"longest_edge":25165824},"fps":2,"min_frames":4,"max_frames":768,"num_frames":null,"do_sample_frames":true,"cap_pixels_per_frame":true,"max_video_tokens":2048}}`,
	} {
		add(entry{name: "preprocessor_config.json", data: []byte(s), kind: jsonText})
	}
}

func learnings(c *corpus, add func(...entry)) {
	for _, e := range c.glob("testdata/golden/hybrid/trainer_file.json") {
		var cases []struct{ Input struct{ File string } }
		c.fail(json.Unmarshal(e.data, &cases))
		for _, x := range cases {
			b, err := base64.StdEncoding.DecodeString(x.Input.File)
			c.fail(err)
			add(entry{name: "learning.v1", data: b, kind: plainText})
		}
	}
}

func corpora(_ *corpus, add func(...entry)) {
	add(entry{name: "data.jsonl", kind: jsonLines, data: []byte("{\"text\":\"Once upon a time\"}\n{\"messages\":[{\"role\":\"system\",\"content\":\"Be brief\"},{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}],\"tools\":[{\"type\":\"function\"}]}\n")})
	add(entry{name: "data.jsonl", kind: jsonLines, data: []byte("{\"prompt\":\"p\",\"completion\":\"c\"}\n{\"audio\":\"a.wav\",\"text\":\"t\",\"language\":\"de\"}\n{\"text\":\"\\u00e9\\ud83d\\ude00\"}\n")})
	add(entry{name: "data.jsonl", kind: jsonLines, data: []byte("{\"query\":\"a\",\"positive\":\"b\",\"negatives\":[\"c\",\"d\"]}\n{\"query\":\"a\",\"document\":\"b\",\"label\":1}\n{\"text\":\"a\",\"label\":0.5}\n")})
}

func questions(_ *corpus, add func(...entry)) {
	add(entry{name: "questions.jsonl", kind: jsonLines, data: []byte(`{"question": "Ice is", "choices": ["cold", "hot"], "answer": 0}
{"context": "Ice is", "choices": {"text": ["cold", "hot"], "label": ["A", "B"]}, "answer": "A"}
{"ctx": "x", "endings": ["a","b","c","d"], "label": 2}
`)})
}

func benchResults(_ *corpus, add func(...entry)) {
	add(entry{name: "bench.json", kind: jsonText, data: []byte(`[{"n_prompt":4,"avg_ts":100,"samples_ts":[100,200]},{"n_gen":2,"avg_ts":1,"n_depth":7}]`)})
	add(entry{name: "bench.txt", kind: plainText, data: []byte("|  PP |  TG |  B | N_KV | T_PP s | S_PP t/s | T_TG s | S_TG t/s |\n|----|----|----|----|----|----|----|----|\n|    4 |     0 |    1 |    256 |    0.404 |   317.08 |    0.914 |   140.07 |\n")})
}

// commands are command lines, one argument a line.
func commands(_ *corpus, add func(...entry)) {
	for _, s := range []string{
		"plan\n--ram\n4GiB\n", "plan\n--json\n--explain\n", "tokenize\n--text\nHello\n--json\n", "inspect\n--json\n", "inspect\n",
		"explain\n--gpu-available=true\n--vram-band=1\n--ram-band=2\n", "flow\nnodes\nGain\n", "quila\nplan\n--profile\n13b\n--devices\n4x80\n",
		"run\nHello\n-n\n1\n--temp\n0\n--seed\n7\n--top-k\n3\n", "logits\n--tokens\n1,2,3\n--json\n", "plan\n--budget\nram=2GiB,vram=0\n--pin\nattn=ram\n",
	} {
		add(entry{name: "arguments", data: []byte(s), kind: plainText})
	}
}
